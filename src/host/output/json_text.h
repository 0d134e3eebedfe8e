// SPDX-License-Identifier: BSD-2-Clause
//
// JSON texts straight to a stream, for formats with many of them.
#ifndef SEEP_OUTPUT_JSON_TEXT_H
#define SEEP_OUTPUT_JSON_TEXT_H

#include <stdio.h>

// Quoted and escaped; bytes that are not UTF-8 become U+FFFD. "</" is written so that it ends no script.
void seep_put_json_text(FILE *out, const char *text);

#endif
