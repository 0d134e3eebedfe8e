// SPDX-License-Identifier: BSD-2-Clause
//
// What a series of figures does: nothing, grow without bound, grow to a plateau, rise and fall. For few
// points (7 to 64), at uneven times, noisy, and not independent of one another.
//
// Growth is said where all of this holds, of the whole series or of its latest three quarters or half
// (programs take memory when they start):
//  - the trend is there: by ranks (Mann-Kendall), and by how much of the variance a line takes, with fewer
//    degrees of freedom where the residuals say that neighbours are alike (n (1 - r) / (1 + r); Source:
//    Bayley and Hammersley, "The effective number of independent observations in an autocorrelated time
//    series", 1946);
//  - neither one step nor a rise that stops describes it better than a line;
//  - it still rises in the latest part, and it rose several times.
// The slope is that of Theil and Sen, with the bounds of Sen (1968).
// Proof: bench/growth.c, on generated histories; tests/unit/test_trend.c, on fixed ones.
#ifndef SEEP_GROWTH_TREND_H
#define SEEP_GROWTH_TREND_H

#include <stddef.h>

#define SEEP_TREND_LEAST 7u  // points: of fewer even a straight line may be chance
#define SEEP_TREND_MOST  64u // points

enum seep_trend_verdict {
    SEEP_TREND_UNKNOWN, // too few points
    SEEP_TREND_STEADY,
    SEEP_TREND_GROWING,  // and nothing says that it will stop
    SEEP_TREND_PLATEAU,  // grew, and stopped
    SEEP_TREND_SAWTOOTH, // rises and falls again
    SEEP_TREND_SHRINKING,
    SEEP_TREND_NONE, // comes and goes: neither of those, and not steady
    SEEP_TREND_NR
};

struct seep_trend {
    enum seep_trend_verdict verdict;
    double slope;     // per unit of time: of the part that grows where growing, else of the whole
    double slope_low; // 95 % of it lie between these
    double slope_high;
    double confidence; // 0 to 1: how unlikely it is that what rises (or falls) so far is chance
};

// `times` ascend. More than SEEP_TREND_MOST points are unknown: the caller takes every so many. O(nr * nr).
void seep_trend_judge(const double *times, const double *values, size_t nr, struct seep_trend *ret_trend);
const char *seep_trend_name(enum seep_trend_verdict verdict); // "unknown", "steady", "growing", ...

#endif
