// SPDX-License-Identifier: BSD-2-Clause
//
// The live screen on a terminal (ncursesw): what is drawn, keys, the mouse, the size. Where seep was built
// without ncursesw, or the terminal can do nothing, it says so.
#ifndef SEEP_SCREEN_FULL_SCREEN_H
#define SEEP_SCREEN_FULL_SCREEN_H

#include "base/error.h"
#include "screen/canvas.h"

extern const bool seep_full_screen_is_built;

// Whether standard input and output are a terminal on which text can be placed. *ret_why: why not.
bool seep_full_screen_is_possible(const char **ret_why);

// The terminal is as it was before again after _end.
SEEP_MUST_CHECK struct seep_error *seep_full_screen_begin(void);
void seep_full_screen_end(void);
void seep_full_screen_size(int *ret_columns, int *ret_rows);
// Only what changed is sent.
void seep_full_screen_show(const struct seep_canvas *canvas);
// The next key, SEEP_KEY_NONE where there is none. *ret_click: it is a click at *ret_x, *ret_y; `key` is then
// SEEP_KEY_NONE, or SEEP_KEY_UP and SEEP_KEY_DOWN of the wheel.
int seep_full_screen_key(bool *ret_click, int *ret_x, int *ret_y);

#endif
