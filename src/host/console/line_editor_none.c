// SPDX-License-Identifier: BSD-2-Clause
// In place of line_editor.c where there is no libedit.
#include "console/line_editor.h"

const bool seep_line_editor_is_built = false;

struct seep_line_editor *seep_line_editor_create(const char *prompt, const char *const *words) {
    return NULL;
}

void seep_line_editor_destroy(struct seep_line_editor *editor) {
}

const char *seep_line_editor_read(struct seep_line_editor *editor) {
    return NULL;
}
