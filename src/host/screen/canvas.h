// SPDX-License-Identifier: BSD-2-Clause
//
// A screen as a grid of cells that needs no terminal: it is drawn here, and from here it goes to a terminal,
// to plain text, to a test. What is outside is cut, so it may be of any size.
//
// Invariant: a cell has a character that takes one or two columns, and never one that a terminal obeys: text
// is escaped when it is put. In ASCII the grid has ASCII only.
#ifndef SEEP_SCREEN_CANVAS_H
#define SEEP_SCREEN_CANVAS_H

#include <stdio.h>

#include "core/attr.h"

#define SEEP_ATTR_BOLD    (1u << 0)
#define SEEP_ATTR_DIM     (1u << 1)
#define SEEP_ATTR_REVERSE (1u << 2)
#define SEEP_ATTR_WARN    (1u << 3)
#define SEEP_ATTR_GOOD    (1u << 4)
#define SEEP_ATTR_LINE    (1u << 5) // the underlined header

struct seep_cell {
    uint32_t code; // 0: covered by the wide character before it
    uint8_t attributes;
};

// What a click means where it falls.
struct seep_zone {
    int x, y, nr_columns;
    int action;
};
#define SEEP_ZONES_MAX 128u

// A grid of cells, row by row, and the zones that a mouse can hit. Owns its cells.
struct seep_canvas {
    int nr_columns;
    int nr_rows;
    bool ascii;
    struct seep_cell *cells;
    size_t capacity;
    struct seep_zone zones[SEEP_ZONES_MAX];
    unsigned nr_zones;
};

#define SEEP_CANVAS_MOST 1000 // columns and rows; what is larger is not drawn

// Empties it. false: out of memory, and it has no cells.
SEEP_MUST_CHECK bool seep_canvas_begin(struct seep_canvas *canvas, int nr_columns, int nr_rows, bool ascii);
void seep_canvas_deinit(struct seep_canvas *canvas);

unsigned seep_utf8_put(char *out, uint32_t code); // 1 to 4 bytes of a character: how many

// At most `room` columns of the text (-1: to the edge); of what does not fit the end is "…". Returns how many
// columns it took.
int seep_canvas_put(struct seep_canvas *canvas, int x, int y, int room, unsigned attributes,
                    const char *text);
// To the right end of a field.
void seep_canvas_put_right(struct seep_canvas *canvas, int x, int y, int room, unsigned attributes,
                           const char *text);
SEEP_PRINTF(6, 7)
int seep_canvas_printf(struct seep_canvas *canvas, int x, int y, int room, unsigned attributes,
                       const char *format, ...);
// A bar of each value, the newest to the right, from `least` to the largest.
void seep_canvas_put_bars(struct seep_canvas *canvas, int x, int y, int room, unsigned attributes,
                          const double *values, size_t nr, double least);
void seep_canvas_fill(struct seep_canvas *canvas, int y, unsigned attributes); // adds them to the row
void seep_canvas_rule(struct seep_canvas *canvas, int x, int y, int room);     // a horizontal line

// A click on these columns of line `y` means `action`. Zones beyond SEEP_ZONES_MAX are left out.
void seep_canvas_zone(struct seep_canvas *canvas, int x, int y, int nr_columns, int action);
int seep_canvas_action(const struct seep_canvas *canvas, int x, int y); // -1: none

// A row as UTF-8 without the blanks at its end; malloc'ed, NULL: out of memory.
SEEP_MUST_CHECK char *seep_canvas_line(const struct seep_canvas *canvas, int y);

#endif
