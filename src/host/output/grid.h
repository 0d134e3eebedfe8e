// SPDX-License-Identifier: BSD-2-Clause
//
// An answer as a table of values, printed for people or as JSON: each column says what its values are, so the
// two have the same figures.
#ifndef SEEP_OUTPUT_GRID_H
#define SEEP_OUTPUT_GRID_H

#include <stdio.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/note.h"

enum seep_grid_kind {
    SEEP_GRID_COUNT,   // 1,234
    SEEP_GRID_RARE,    // as COUNT, of what is nearly always 0: people are not shown the 0 of a single row
    SEEP_GRID_PLAIN,   // 1234, of what is no amount
    SEEP_GRID_CHANGE,  // +1,234
    SEEP_GRID_PERCENT, // 12%
    SEEP_GRID_ADDRESS, // 0x7f...; in JSON a text
    SEEP_GRID_NS,      // of time; in JSON seconds
    SEEP_GRID_TEXT,
};

struct seep_grid_column {
    const char *name; // of the value in JSON: "live_bytes"
    const char *head; // for people
    enum seep_grid_kind kind;
};

#define SEEP_GRID_COLUMNS 16u

// A number, or a text if that is not NULL. Not known: it is left empty.
struct seep_grid_cell {
    bool known;
    int64_t number;
    const char *text;
};

struct seep_grid {
    struct seep_arena arena;
    const struct seep_grid_column *columns; // borrowed, ends with a NULL name
    unsigned nr_columns;
    struct seep_grid_cell *cells; // malloc'ed
    size_t nr_cells;
    size_t capacity;
    bool one;                      // one row, its values below one another for people, an object in JSON
    const char *empty;             // for people, where there are no rows; NULL: nothing
    uint64_t nr_more;              // rows that there are beyond these
    const struct seep_note *notes; // borrowed: what a reader must know beside the rows
    size_t nr_notes;
};

// `columns` are borrowed; an empty name ends them.
void seep_grid_init(struct seep_grid *grid, const struct seep_grid_column *columns);
void seep_grid_deinit(struct seep_grid *grid);
// The next value, from the first column of a row on. Texts are copied; NULL is not known.
SEEP_MUST_CHECK struct seep_error *seep_grid_number(struct seep_grid *grid, int64_t value);
SEEP_MUST_CHECK struct seep_error *seep_grid_number_if(struct seep_grid *grid, bool known, int64_t value);
SEEP_MUST_CHECK struct seep_error *seep_grid_text(struct seep_grid *grid, const char *text);
// An id, as of a process, for a column of texts.
SEEP_MUST_CHECK struct seep_error *seep_grid_id(struct seep_grid *grid, uint64_t id);

void seep_grid_put_text(FILE *out, const struct seep_grid *grid);
// One line: {"command": name, "rows": [...], "more": n}, or the values of the row beside "command"; with
// notes, "notes": [...] too.
SEEP_MUST_CHECK struct seep_error *seep_grid_put_json(FILE *out, const struct seep_grid *grid,
                                                      const char *name);
// {"command": name, "error": message, "hint": ...}
void seep_grid_put_error(FILE *out, const char *name, const struct seep_error *error);

#endif
