// SPDX-License-Identifier: BSD-2-Clause
//
// Files of other tools as a recording: events, and the profile that they make. What the file says is not
// believed: a free of a block that it does not allocate is counted and left out, and so is a line of another
// kind; a block handed out twice is freed first.
#ifndef SEEP_FILE_IMPORT_H
#define SEEP_FILE_IMPORT_H

#include "base/error.h"

struct seep_import_options {
    const char *maps; // a copy of /proc/PID/maps, for formats that have run-time addresses; NULL: none
};

enum { SEEP_IMPORTED_LINES = 3 };
// Lines of one kind: how many, and where the first of them are.
struct seep_imported_lines {
    uint64_t nr;
    uint64_t first[SEEP_IMPORTED_LINES];
};

struct seep_imported {
    uint64_t nr_events;
    uint64_t nr_skipped;                      // lines of the format that say nothing of the heap
    struct seep_imported_lines unknown_frees; // frees of blocks that the file does not allocate
    struct seep_imported_lines handed_again;  // blocks that are handed out while the file has them live
    struct seep_imported_lines foreign;       // lines that the format does not have
    uint64_t cut_line;                        // the last line, left out because it has no end; 0: it has one
};

// "lines 4, 9 and others".
struct seep_imported_lines_text {
    char text[96];
};
struct seep_imported_lines_text seep_imported_lines_text(const struct seep_imported_lines *lines);

extern const char *const seep_import_formats[]; // ends with NULL

// Reads `path` and writes a trace to `output`. `format` is one of seep_import_formats.
SEEP_MUST_CHECK struct seep_error *seep_import(const char *path, const char *format,
                                               const struct seep_import_options *options, const char *output,
                                               struct seep_imported *ret_imported);

#endif
