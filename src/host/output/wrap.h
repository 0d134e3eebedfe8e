// SPDX-License-Identifier: BSD-2-Clause
//
// Reports on a terminal keep to its width: a line that is wider goes on below the last of its columns that
// leaves room, else four columns further in than it began. Where the columns of a table do not fit, the first
// columns stay beside one another, and the others go below them, row by row. A word that is wider stays
// whole, and so do the commands behind "next:", which are there to be copied.
#ifndef SEEP_OUTPUT_WRAP_H
#define SEEP_OUTPUT_WRAP_H

#include "output/format.h"

struct seep_wrap {
    FILE *out; // borrowed
    unsigned width;
    FILE *memory; // NULL: nothing is wrapped
    char *text;
    size_t nr_bytes;
};

// What to write to until the end: `out` itself where it is no terminal, or there is no memory.
FILE *seep_wrap_begin(struct seep_wrap *wrap, FILE *out, const struct seep_style *style);
// Takes what went wrong before, or NULL, and returns it, or that there was no memory for what was written.
SEEP_MUST_CHECK struct seep_error *seep_wrap_end(struct seep_wrap *wrap, struct seep_error *error);
// The same for what fails in no other way: the missing of memory is said where the text would be.
void seep_wrap_done(struct seep_wrap *wrap);

#endif
