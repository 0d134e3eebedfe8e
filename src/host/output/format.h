// SPDX-License-Identifier: BSD-2-Clause
//
// Text as reports have it: names with their places, numbers, shares. Foreign text goes through
// base/shown_text.h.
#ifndef SEEP_OUTPUT_FORMAT_H
#define SEEP_OUTPUT_FORMAT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "base/numbers.h"
#include "base/shown_text.h"

// " (file:line)" and " [module]" of a frame, escaped. A file that is NULL is not written, nor is line 0.
void seep_put_source(FILE *out, const char *file, uint32_t line);
void seep_put_module(FILE *out, const char *module);
// Columns that escaped text takes, one per character.
size_t seep_text_width(const char *text);

// A program's name as part of the name of a file: without its folder, and with _ for each byte that
// seep_put_escaped() would escape. malloc'ed. NULL: out of memory.
SEEP_MUST_CHECK char *seep_name_for_file(const char *program);

// Decimal digits, as fprintf() writes them, for formats with millions.
#define SEEP_NUMBER_DIGITS 20u // of the largest
void seep_put_number(FILE *out, uint64_t value);
// The same without a NUL into `text`, which has SEEP_NUMBER_DIGITS bytes: how many of them.
size_t seep_number_text(uint64_t value, char *text);
void seep_put_signed(FILE *out, int64_t value);

// Flushes. An error where not everything that was written to `out` arrived: "cannot write <what>:
// <why>".
SEEP_MUST_CHECK struct seep_error *seep_stream_check(FILE *out, const char *what);

// Gives standard error a buffer while a report is written (`on`): without a buffer each number and each word
// would be a system call. Flushes when the buffer is taken away. Other streams stay as they are.
void seep_stream_gather(FILE *out, bool on);
// Gives standard error a buffer of lines until a report has been written: each line is one system call.
void seep_stream_by_lines(FILE *out);

// How to write on `out`.
struct seep_style {
    bool colour;    // a terminal, NO_COLOR is not set, TERM is not "dumb"
    unsigned width; // columns of the terminal; 0: not a terminal, no limit
};
struct seep_style seep_style_of(FILE *out);

// Escaped text that begins at column `indent`, broken at its blanks where the terminal ends; further lines
// begin there too. As it is where `out` is no terminal. A word that is wider than a line stays whole.
void seep_put_wrapped(FILE *out, const struct seep_style *style, unsigned indent, const char *text);

// Start and end of emphasis; "" without colour.
const char *seep_style_bold(const struct seep_style *style);
const char *seep_style_dim(const struct seep_style *style);
const char *seep_style_warn(const struct seep_style *style);
const char *seep_style_off(const struct seep_style *style);

#endif
