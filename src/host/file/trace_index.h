// SPDX-License-Identifier: BSD-2-Clause
//
// The index of a trace: which processes are in it, and where. So one process of thousands is read
// without the others (docs/trace-format.md, INDEX).
#ifndef SEEP_FILE_TRACE_INDEX_H
#define SEEP_FILE_TRACE_INDEX_H

#include "base/arena.h"
#include "base/error.h"
#include "file/trace.h"

struct seep_index_entry {
    uint32_t pid;
    const char *exe;       // never NULL
    const char *first_arg; // NULL: no arguments are kept
    uint64_t off;          // of its group in the file, and how long that is
    uint64_t bytes;
};

struct seep_index {
    struct seep_arena arena;
    struct seep_index_entry *entries; // in the order of the file
    size_t nr;
};

void seep_index_deinit(struct seep_index *index);

// The groups follow one another, entries[0].off says where the first begins. Texts need not be of the
// arena. SEEP_E_MEMORY.
SEEP_MUST_CHECK struct seep_error *seep_index_put(struct seep_put *put, const struct seep_index *index);

// NULL, or what is wrong; *ret_no_memory is set where it is only that. What is read is consistent in
// itself: groups lie one behind the other below `end_off`.
const char *seep_index_take(struct seep_take *take, uint64_t end_off, struct seep_index *ret_index,
                            bool *ret_no_memory);

#endif
