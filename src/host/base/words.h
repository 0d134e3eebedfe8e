// SPDX-License-Identifier: BSD-2-Clause
//
// Endings of English words beside a number.
#ifndef SEEP_BASE_WORDS_H
#define SEEP_BASE_WORDS_H

#include <stdint.h>

// "block%s"
static inline const char *seep_plural(uint64_t nr) {
    return nr == 1 ? "" : "s";
}

// "process%s"
static inline const char *seep_plural_es(uint64_t nr) {
    return nr == 1 ? "" : "es";
}

#endif
