// SPDX-License-Identifier: BSD-2-Clause
//
// JSON texts straight to a stream, for formats with many of them; and escapes of characters that steer
// terminals.
#ifndef SEEP_OUTPUT_JSON_TEXT_H
#define SEEP_OUTPUT_JSON_TEXT_H

#include <stdio.h>

#include "core/attr.h"

// Quoted and escaped; bytes that are not UTF-8 become U+FFFD. "</" is written so that it ends no script.
void seep_put_json_text(FILE *out, const char *text);

// Takes valid JSON from malloc(). Returns the same with deceiving characters (seep_is_deceiving) as \uNNNN,
// because people look at JSON on terminals, too. NULL: out of memory, or `text` was NULL.
SEEP_MUST_CHECK char *seep_json_harmless(char *text);

#endif
