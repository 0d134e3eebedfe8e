// SPDX-License-Identifier: BSD-2-Clause
// Medians and intervals, see statistics.h.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "replay/statistics.h"

enum { RESAMPLES = 2000 };

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double seep_median(const double *values, size_t nr) {
    double *sorted = malloc(nr * sizeof(*sorted));
    if (!sorted || !nr) {
        free(sorted);
        return NAN;
    }
    memcpy(sorted, values, nr * sizeof(*sorted));
    qsort(sorted, nr, sizeof(*sorted), by_value);
    double middle = nr % 2 ? sorted[nr / 2] : (sorted[nr / 2 - 1] + sorted[nr / 2]) / 2;
    free(sorted);
    return middle;
}

// Source of the method: B. Efron and R. Tibshirani, An Introduction to the Bootstrap, chapter 13
// (percentiles).
struct seep_interval seep_ratio_interval(const double *numerators, const double *denominators, size_t nr) {
    struct seep_interval interval = {NAN, NAN, NAN};
    double *means = malloc(RESAMPLES * sizeof(*means)), sum = 0;
    uint64_t state = UINT64_C(0x9e3779b97f4a7c15);
    if (!means || !nr) {
        free(means);
        return interval;
    }
    for (size_t i = 0; i < nr; i++)
        sum += log(numerators[i] / denominators[i]);
    for (size_t k = 0; k < RESAMPLES; k++) {
        double of_this = 0;
        for (size_t i = 0; i < nr; i++) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            size_t pick = (size_t)(state % nr);
            of_this += log(numerators[pick] / denominators[pick]);
        }
        means[k] = of_this / (double)nr;
    }
    qsort(means, RESAMPLES, sizeof(*means), by_value);
    interval.middle = exp(sum / (double)nr);
    interval.low = exp(means[RESAMPLES / 40]);
    interval.high = exp(means[RESAMPLES - 1 - RESAMPLES / 40]);
    free(means);
    return interval;
}
