// SPDX-License-Identifier: BSD-2-Clause
//
// Sums of figures that come from outside.
#ifndef SEEP_BASE_SUM_H
#define SEEP_BASE_SUM_H

#include <stdint.h>

// Figures of a file may be absurd: a sum stops at the largest number instead of starting again at 0.
static inline void seep_add_up(uint64_t *sum, uint64_t value) {
    if (__builtin_add_overflow(*sum, value, sum))
        *sum = UINT64_MAX;
}

#endif
