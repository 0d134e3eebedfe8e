// SPDX-License-Identifier: BSD-2-Clause
//
// Medians, and the ratio of paired measurements with its interval.
#ifndef SEEP_REPLAY_STATISTICS_H
#define SEEP_REPLAY_STATISTICS_H

#include "core/attr.h"

struct seep_interval {
    double middle, low, high; // 95 %
    bool differs;             // 1 is not even within the interval of 99 %
};

// NaN: of no values, or out of memory.
double seep_median(const double *values, size_t nr);

// The median of the means of two of the paired ratios each, and its interval: a round that other work
// disturbed has little to say in it. An interval of 95 % lacks 1 in one of twenty comparisons of a thing with
// itself, so that two differ is said by the one of 99 %, which needs eight rounds. Always the same for the
// same numbers.
struct seep_interval seep_ratio_interval(const double *numerators, const double *denominators, size_t nr);

#endif
