// SPDX-License-Identifier: BSD-2-Clause
//
// Foreign text as people read it, and as a shell reads it in a command that they copy. Everything that came
// from outside (names, paths, arguments) goes to a terminal only through the escaping functions here: no
// control character, no escape sequence, no direction override gets through.
#ifndef SEEP_BASE_SHOWN_TEXT_H
#define SEEP_BASE_SHOWN_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

// Writes UTF-8 text. Bytes that are not UTF-8 become \xNN, control characters \n, \t, \xNN, and
// characters that reorder or hide text (bidirectional controls, line separators) \u{NNNN}.
// A backslash stays: the result is for eyes, not for reading back.
void seep_put_escaped(FILE *out, const char *text);
// The same as a new string; NULL: out of memory.
SEEP_MUST_CHECK char *seep_escape(const char *text);
// One word of a shell command that people copy: escaped, and quoted where it needs to be.
void seep_put_shell_word(FILE *out, const char *text);
// The same of a file or a process as a new string, with ./ before a dash, which would begin an option. NULL:
// out of memory.
SEEP_MUST_CHECK char *seep_shell_operand(const char *name);
// Adds a hint: a command that people copy, of which `operand` is one word.
SEEP_MUST_CHECK struct seep_error *seep_shell_hint(struct seep_error *error, const char *before,
                                                   const char *operand, const char *after);

// The next character of UTF-8 text: its bytes, and its code point in *ret_code. 0: not UTF-8 (the
// text ends at its NUL: do not call there).
unsigned seep_utf8_next(const char *text, uint32_t *ret_code);

// Whether a character changes how the text around it is shown, or shows nothing itself. C0 controls do not
// count.
bool seep_is_deceiving(uint32_t code);

// The bytes of the next character of UTF-8 text if seep_put_escaped() writes it as it is, else 0. Not to be
// called at the NUL.
unsigned seep_shown_next(const char *text);

#endif
