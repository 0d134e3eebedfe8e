// SPDX-License-Identifier: BSD-2-Clause
//
// A format that seep import reads: a line of it at a time. A new one is a `struct seep_import_format` in
// import_NAME.c, its name in SEEP_IMPORT_FORMATS, and a row in tests/cli/test_recordings.py.
#ifndef SEEP_FILE_IMPORT_FORMAT_H
#define SEEP_FILE_IMPORT_FORMAT_H

#include "file/import_build.h"

struct seep_import_reading {
    struct seep_importing importing;
    const struct seep_import_options *options;
    void *state; // what the format keeps from line to line
};

struct seep_import_format {
    const char *name;
    bool takes_maps;
    size_t state_bytes; // zero at first
    // NULL: nothing to do before the first line.
    struct seep_error *(*begin)(struct seep_import_reading *reading);
    // `text` is the line without its end, and the format's to change.
    struct seep_error *(*line)(struct seep_import_reading *reading, char *text, uint64_t line);
    // What the state points to. NULL: it points to nothing.
    void (*end)(void *state);
};

#define SEEP_IMPORT_FORMATS(FORMAT) FORMAT(heaptrack) FORMAT(mmleak) FORMAT(mtrace) FORMAT(mprof) FORMAT(log)

#define SEEP_IMPORT_FORMAT_DECLARE(name) extern const struct seep_import_format seep_import_##name;
SEEP_IMPORT_FORMATS(SEEP_IMPORT_FORMAT_DECLARE)
#undef SEEP_IMPORT_FORMAT_DECLARE

// The error of a line that the format does not have, where it cannot be left out.
SEEP_MUST_CHECK struct seep_error *seep_import_damaged(const struct seep_import_reading *reading,
                                                       uint64_t line);
// Lines have no time: each is a microsecond.
void seep_import_pass_time(struct seep_import_reading *reading, uint64_t line);

// A number behind blanks, and *at goes behind it. false: there is none. "(nil)" is a hexadecimal 0.
SEEP_MUST_CHECK bool seep_import_take_hex(char **at, uint64_t *ret_value);
SEEP_MUST_CHECK bool seep_import_take_number(char **at, uint64_t *ret_value);

#endif
