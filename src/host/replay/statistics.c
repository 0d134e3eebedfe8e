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

// Of a few rounds the bootstrap's interval is too narrow, so the wider one of it and Student's is taken.
// Quantiles of Student's distribution at 97.5 %, by degrees of freedom.
static double student(size_t freedom) {
    static const double quantiles[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                                       2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086};
    if (freedom <= SEEP_ARRAY_SIZE(quantiles))
        return quantiles[freedom - 1];
    return 1.96 + 2.5 / (double)freedom;
}

static double sum_of_squares(const double *logs, size_t nr, double mean) {
    double sum = 0;
    for (size_t i = 0; i < nr; i++)
        sum += (logs[i] - mean) * (logs[i] - mean);
    return sum;
}

static void resample(const double *logs, size_t nr, double *means) {
    uint64_t state = UINT64_C(0x9e3779b97f4a7c15);
    for (size_t k = 0; k < RESAMPLES; k++) {
        double sum = 0;
        for (size_t i = 0; i < nr; i++) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            sum += logs[state % nr];
        }
        means[k] = sum / (double)nr;
    }
    qsort(means, RESAMPLES, sizeof(*means), by_value);
}

// Source of the method: B. Efron and R. Tibshirani, An Introduction to the Bootstrap, chapter 13
// (percentiles).
struct seep_interval seep_ratio_interval(const double *numerators, const double *denominators, size_t nr) {
    struct seep_interval interval = {NAN, NAN, NAN};
    double *means = malloc((RESAMPLES + nr) * sizeof(*means)), sum = 0;
    if (!means || !nr) {
        free(means);
        return interval;
    }
    double *logs = means + RESAMPLES;
    for (size_t i = 0; i < nr; i++)
        sum += logs[i] = log(numerators[i] / denominators[i]);
    double mean = sum / (double)nr, half = 0;
    if (nr > 1)
        half = student(nr - 1) * sqrt(sum_of_squares(logs, nr, mean) / (double)(nr - 1) / (double)nr);
    resample(logs, nr, means);
    interval.middle = exp(mean);
    interval.low = exp(SEEP_MIN(means[RESAMPLES / 40], mean - half));
    interval.high = exp(SEEP_MAX(means[RESAMPLES - 1 - RESAMPLES / 40], mean + half));
    free(means);
    return interval;
}
