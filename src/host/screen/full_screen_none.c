// SPDX-License-Identifier: BSD-2-Clause
// In place of full_screen.c where there is no ncursesw.
#include "screen/full_screen.h"
#include "screen/screen.h"

const bool seep_full_screen_is_built = false;

bool seep_full_screen_is_possible(const char **ret_why) {
    *ret_why = "seep was built without ncursesw";
    return false;
}

struct seep_error *seep_full_screen_begin(void) {
    return seep_error_create(SEEP_E_UNSUPPORTED, "seep was built without ncursesw");
}

void seep_full_screen_end(void) {
}

void seep_full_screen_size(int *ret_columns, int *ret_rows) {
    *ret_columns = *ret_rows = 0;
}

void seep_full_screen_show(const struct seep_canvas *canvas) {
}

int seep_full_screen_key(bool *ret_click, int *ret_x, int *ret_y) {
    *ret_click = false;
    return SEEP_KEY_NONE;
}
