// SPDX-License-Identifier: BSD-2-Clause
//
// Fields of CSV (Source: RFC 4180, with \n for line ends), and stacks: rows of sites name their stack by
// number, and behind them comes a row for each stack that they share, with its number, that of its caller,
// and its frame. For the .c files of this room.
#ifndef SEEP_OUTPUT_CSV_H
#define SEEP_OUTPUT_CSV_H

#include <stdio.h>

#include "view/stack_table.h"

// NULL: an empty field. Control characters are escaped as in the text report: a line is one row.
SEEP_MUST_CHECK struct seep_error *seep_csv_put_field(FILE *out, const char *text);
// function,file,line,module of frames[0].
SEEP_MUST_CHECK struct seep_error *seep_csv_put_place(FILE *out, const struct seep_view_frame *frames,
                                                      size_t nr);

// The place of each frame of a table as it is written, made once: many stacks share a frame.
struct seep_csv_places {
    const struct seep_stack_table *table;
    char *text;
    size_t *starts; // in text, by frame
};
#define SEEP_CSV_PLACES_INIT                                                                                 \
    { NULL, NULL, NULL }
SEEP_MUST_CHECK struct seep_error *seep_csv_places_make(struct seep_csv_places *places,
                                                        const struct seep_stack_table *table);
void seep_csv_places_deinit(struct seep_csv_places *places);

#define SEEP_CSV_STACK "stack,caller,function,file,line,module"
// The end of the row of a site, by that heading; the caller is empty.
void seep_csv_put_stack(FILE *out, const struct seep_csv_places *places, uint32_t node);
// The rows of all stacks, each with `begin` before the columns of that heading.
void seep_csv_put_stacks(FILE *out, const char *begin, const struct seep_csv_places *places);

#endif
