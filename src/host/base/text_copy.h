// SPDX-License-Identifier: BSD-2-Clause
//
// A copy of a part of a text. strndup() is for texts that are ended: with strict_string_checks
// AddressSanitizer looks for the end of what it copies from.
#ifndef SEEP_BASE_TEXT_COPY_H
#define SEEP_BASE_TEXT_COPY_H

#include <stdlib.h>
#include <string.h>

// malloc'ed and ended by a zero byte; `text` need not be. NULL: out of memory.
static inline char *seep_text_copy(const char *text, size_t nr_bytes) {
    char *copy = malloc(nr_bytes + 1);
    if (!copy)
        return NULL;
    memcpy(copy, text, nr_bytes);
    copy[nr_bytes] = '\0';
    return copy;
}

#endif
