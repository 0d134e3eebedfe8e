// SPDX-License-Identifier: BSD-2-Clause
//
// What the files that draw the live screen share: see screen.h.
#ifndef SEEP_SCREEN_SCREEN_PARTS_H
#define SEEP_SCREEN_SCREEN_PARTS_H

#include "base/numbers.h"
#include "screen/screen.h"

// Writes pieces of a line, one behind the other.
struct seep_screen_pen {
    struct seep_canvas *canvas;
    int x, y;
};

// ---- screen_pieces.c ----

// A number in at most six columns: 999, 1.5K, 12M; `base` is 1000 or 1024. `sign`: with a + if it is more
// than 0.
struct seep_number seep_screen_small_number(double value, double base, bool sign);
struct seep_number seep_screen_short_bytes(double bytes);
struct seep_number seep_screen_short_change(double bytes);
// With commas where that fits `room` columns.
struct seep_number seep_screen_short_count(double count, int room);
// "12s", "3m05s", "2h10m", "4d01h".
struct seep_number seep_screen_short_time(int64_t ns);
// Writes a piece. One that does not fit is left out, but for the first, which is cut.
SEEP_PRINTF(3, 4)
void seep_screen_write_piece(struct seep_screen_pen *pen, unsigned attributes, const char *format, ...);
// Where bars begin: at the least value, so that a slow rise is seen; but what hardly changes looks flat.
double seep_screen_foot_of(const double *values, size_t nr);
// Draws live bytes of the latest looks as bars, or allocations per second; nothing where there is no room.
void seep_screen_bars(struct seep_screen_pen *pen, const struct seep_live *live, bool of_live);

// ---- screen_table.c ----

// Columns of the table: `shown` arrays have SEEP_SCREEN_COLUMNS elements.
#define SEEP_SCREEN_COLUMNS 8

// Chooses the columns that there is room for; returns how wide they are.
int seep_screen_choose_columns(const struct seep_screen *screen, int nr_columns, bool *ret_shown);
void seep_screen_draw_heads(const struct seep_screen *screen, struct seep_canvas *canvas, int y,
                            const bool *shown, const char *where);
void seep_screen_draw_row(const struct seep_screen *screen, struct seep_canvas *canvas, int y,
                          const bool *shown, const struct seep_live_row *row, bool chosen);
void seep_screen_draw_leak(struct seep_canvas *canvas, int y, const struct seep_live_row *row, bool chosen);
void seep_screen_draw_branch(const struct seep_screen *screen, struct seep_canvas *canvas, int y,
                             size_t index, bool chosen);

// ---- screen_help.c ----

// The list of keys.
void seep_screen_draw_help(struct seep_screen *screen, struct seep_canvas *canvas);
// Moves the list, if it is longer than the screen. false: the key is none that moves it.
bool seep_screen_help_key(struct seep_screen *screen, int key);

// ---- screen_refresh.c ----

// Makes the table anew if it is stale, or has too few rows for `room` rows on the screen. The table reaches
// beyond the chosen row, as far as scrolling can show.
void seep_screen_refresh(struct seep_screen *screen, size_t room);
// Makes the details of the chosen row, unless they are there. Errors go into the message of the screen.
void seep_screen_make_detail(struct seep_screen *screen);

// ---- screen_detail.c ----

// Draws the details of the chosen row on `nr` lines from `y` on.
void seep_screen_draw_detail(const struct seep_screen *screen, struct seep_canvas *canvas, int y, int nr);

#endif
