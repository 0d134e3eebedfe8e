// SPDX-License-Identifier: BSD-2-Clause
//
// JSON texts straight to a stream, for formats with many of them; and what no JSON of ours has in its texts.
#ifndef SEEP_OUTPUT_JSON_TEXT_H
#define SEEP_OUTPUT_JSON_TEXT_H

#include <stdio.h>

#include "core/attr.h"

// Quoted and escaped; bytes that are not UTF-8 become U+FFFD. "</" is written so that it ends no script.
void seep_put_json_text(FILE *out, const char *text);

// Takes JSON that is valid, from malloc(). Returns the same with deceiving characters (format.h) as \uNNNN,
// because JSON goes to terminals, too. NULL: out of memory, or `text` was NULL.
SEEP_MUST_CHECK char *seep_json_harmless(char *text);

#endif
