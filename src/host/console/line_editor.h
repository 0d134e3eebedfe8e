// SPDX-License-Identifier: BSD-2-Clause
//
// A line that is typed: with history and completion where seep was built with libedit.
#ifndef SEEP_CONSOLE_LINE_EDITOR_H
#define SEEP_CONSOLE_LINE_EDITOR_H

#include <stdio.h>

#include "core/attr.h"

extern const bool seep_line_editor_is_built;

struct seep_line_editor;
// `words`: what lines begin with, one word or several, for completion; ends with NULL. NULL: it cannot be
// had, and lines are read as they come.
struct seep_line_editor *seep_line_editor_create(const char *prompt, const char *const *words);
void seep_line_editor_destroy(struct seep_line_editor *editor); // takes NULL
// The next line, valid until the next call; NULL at the end of the input. Ctrl-C gives an empty line.
const char *seep_line_editor_read(struct seep_line_editor *editor);

#endif
