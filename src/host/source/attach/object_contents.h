// SPDX-License-Identifier: BSD-2-Clause
//
// What tracing needs of a file that is mapped as code. The file of another user is read by a worker without
// rights (confine/worker.h), and what that says is checked.
// Proof: tests/unit/test_object_contents.c, tests/fuzz/fuzz_untrusted.c.
#ifndef SEEP_SOURCE_ATTACH_OBJECT_CONTENTS_H
#define SEEP_SOURCE_ATTACH_OBJECT_CONTENTS_H

#include "base/records.h"
#include "source/attach/allocator_file.h"
#include "source/attach/unwind_table.h"

struct seep_object_contents {
    struct seep_elf_file elf; // its segments, header and size; its descriptor is the caller's
    uint8_t build_id[44];
    uint32_t build_id_bytes;
    struct seep_unwind_table table; // without rows where it was not wanted
    struct seep_allocator_file allocator;
};

void seep_object_contents_deinit(struct seep_object_contents *contents);

// Who reads the files of other users; it has no worker before the first of them.
struct seep_worker;
struct seep_object_reader {
    struct seep_worker *worker;
    unsigned nr_ended; // workers
};
void seep_object_reader_deinit(struct seep_object_reader *reader);

struct seep_object_question {
    int fd; // of a regular file
    const char *name;
    const char *prefix; // of its allocator's functions; NULL: none
    bool wants_table;
    struct seep_budget *budget; // NULL: no bounds
};

// *ret_trouble is NULL where it was read; else static text: it is not such a file, or its reader died.
SEEP_MUST_CHECK struct seep_error *seep_object_read(struct seep_object_reader *reader,
                                                    const struct seep_object_question *question,
                                                    struct seep_object_contents *ret_contents,
                                                    const char **ret_trouble);

// As a worker says it, and as it is taken from one that may lie; without fd and name of the file.
void seep_object_put(struct seep_put *put, const struct seep_object_contents *contents);
// false: it is invalid, or there is no memory; then there is nothing to deinit. `file_bytes`: the size of the
// file.
SEEP_MUST_CHECK bool seep_object_take(struct seep_take *take, uint64_t file_bytes,
                                      struct seep_object_contents *ret_contents);

#define SEEP_OBJECT_NO_ELF "not an ELF file of this machine"

#endif
