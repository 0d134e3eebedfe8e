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

// Whether the times of rounds, from which the replayer's own were subtracted, may all be what rounds differ
// by: their interval of 95 % (the median of the means of all pairs) reaches 0.
bool seep_is_noise(const double *times, size_t nr);

// The median of the means of all pairs of ratios, and its interval: a round that other work disturbed has
// little weight. An interval of 95 % misses 1 in one of twenty comparisons of a thing with itself, so the
// interval of 99 % decides whether two differ; it needs eight rounds. The same numbers give the same result.
struct seep_interval seep_ratio_interval(const double *numerators, const double *denominators, size_t nr);

#endif
