// SPDX-License-Identifier: BSD-2-Clause
//
// Medians, and the ratio of paired measurements with its interval.
#ifndef SEEP_REPLAY_STATISTICS_H
#define SEEP_REPLAY_STATISTICS_H

#include "core/attr.h"

struct seep_interval {
    double middle, low, high; // 95 %
};

// NaN: of no values, or out of memory.
double seep_median(const double *values, size_t nr);

// The 95 % bootstrap interval of the geometric mean of paired ratios; always the same for the same numbers.
struct seep_interval seep_ratio_interval(const double *numerators, const double *denominators, size_t nr);

static inline bool seep_interval_differs(const struct seep_interval *interval) {
    return interval->low > 1 || interval->high < 1;
}

#endif
