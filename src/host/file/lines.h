// SPDX-License-Identifier: BSD-2-Clause
//
// The lines of a text file, plain or packed by gzip or zstd, one after the other; no more than a line is in
// memory.
#ifndef SEEP_FILE_LINES_H
#define SEEP_FILE_LINES_H

#include "base/error.h"

struct seep_lines;

// "-" is standard input.
SEEP_MUST_CHECK struct seep_error *seep_lines_open(const char *path, struct seep_lines **ret_lines);
void seep_lines_close(struct seep_lines *lines); // takes NULL

// The next line, without its end, NUL-terminated; NULL: there is none. A NUL byte within ends it. Lines
// longer than SEEP_LINE_MAX are cut. Valid until the next call.
#define SEEP_LINE_MAX ((size_t)1 << 20)
SEEP_MUST_CHECK struct seep_error *seep_lines_next(struct seep_lines *lines, char **ret_line);
uint64_t seep_lines_number(const struct seep_lines *lines); // of that line, from 1 on
// Whether that line has no end: it is the last one, and the file may have been cut within it.
bool seep_lines_is_cut(const struct seep_lines *lines);

#endif
