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

// How much `a` is above `b`.
static inline uint64_t seep_above(uint64_t a, uint64_t b) {
    return a > b ? a - b : 0;
}

// A sum of what may be below 0 stops at both ends.
static inline void seep_add_signed(int64_t *sum, int64_t value) {
    if (__builtin_add_overflow(*sum, value, sum))
        *sum = value < 0 ? INT64_MIN : INT64_MAX;
}

// How much it is above or below 0.
static inline uint64_t seep_magnitude(int64_t value) {
    return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

// Times of a file: the difference and the sum of any two.
static inline int64_t seep_time_less(int64_t a, int64_t b) {
    int64_t difference;
    return __builtin_sub_overflow(a, b, &difference) ? a < 0 ? INT64_MIN : INT64_MAX : difference;
}
static inline int64_t seep_time_plus(int64_t a, int64_t b) {
    seep_add_signed(&a, b);
    return a;
}

#endif
