// SPDX-License-Identifier: BSD-2-Clause
//
// Texts that may be NULL.
#ifndef SEEP_BASE_TEXT_SAME_H
#define SEEP_BASE_TEXT_SAME_H

#include <stdbool.h>
#include <string.h>

// NULL is the same as NULL only.
static inline bool seep_text_same(const char *a, const char *b) {
    return a == b || (a && b && strcmp(a, b) == 0);
}

#endif
