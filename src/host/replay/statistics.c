// SPDX-License-Identifier: BSD-2-Clause
// Medians and intervals, see statistics.h.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "replay/statistics.h"

enum { ROUNDS_MOST = 200 }; // of more the first

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

// ---- the interval of a ratio
//
// Source of the method: Hodges and Lehmann, Estimates of Location Based on Rank Tests (1963); the interval
// that goes with Wilcoxon's signed-rank test.

// How often the sum of ranks of one sign is at most `most` where either sign is as likely.
static double chance_up_to(size_t nr, size_t most, double *ways) {
    size_t all = nr * (nr + 1) / 2;
    for (size_t k = 0; k <= all; k++)
        ways[k] = k == 0;
    for (size_t rank = 1; rank <= nr; rank++)
        for (size_t k = all + 1; k-- > 0;)
            ways[k] = (ways[k] + (k >= rank ? ways[k - rank] : 0)) / 2;
    double chance = 0;
    for (size_t k = 0; k <= most; k++)
        chance += ways[k];
    return chance;
}

// How many of the means are left out at each end, so that the interval between them misses the median in at
// most that many of 100 cases. SIZE_MAX: there are too few rounds.
static size_t left_out(size_t nr, double percent, double *ways) {
    size_t out = SIZE_MAX, all = nr * (nr + 1) / 2;
    for (size_t most = 0; most < all / 2 && chance_up_to(nr, most, ways) * 2 <= percent / 100; most++)
        out = most;
    return out;
}

// Of fewer rounds than that: half of Student's interval, by degrees of freedom.
static double half_of_few(const double *logs, size_t nr, const double *quantiles) {
    double mean = 0, squares = 0;
    for (size_t i = 0; i < nr; i++)
        mean += logs[i] / (double)nr;
    for (size_t i = 0; i < nr; i++)
        squares += (logs[i] - mean) * (logs[i] - mean);
    return nr > 1 ? quantiles[nr - 2] * sqrt(squares / (double)(nr - 1) / (double)nr) : 0;
}

// The interval of the median of `values`.
static struct seep_interval interval_of(const double *values, size_t nr) {
    static const double of_95[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447}; // 97.5 %
    static const double of_99[] = {63.657, 9.925, 5.841, 4.604, 4.032, 3.707}; // 99.5 %
    struct seep_interval interval = {NAN, NAN, NAN, false};
    size_t nr_means = nr * (nr + 1) / 2, at = 0;
    double *means = malloc((2 * nr_means + 1) * sizeof(*means));
    if (!means || !nr) {
        free(means);
        return interval;
    }
    double *ways = means + nr_means;
    for (size_t i = 0; i < nr; i++)
        for (size_t k = i; k < nr; k++)
            means[at++] = (values[i] + values[k]) / 2;
    qsort(means, nr_means, sizeof(*means), by_value);
    double middle = nr_means % 2 ? means[nr_means / 2] : (means[nr_means / 2 - 1] + means[nr_means / 2]) / 2;
    size_t wide = left_out(nr, 5, ways), wider = left_out(nr, 1, ways);
    double half = wide == SIZE_MAX ? half_of_few(values, nr, of_95) : 0;
    double half_wider = wider == SIZE_MAX ? half_of_few(values, nr, of_99) : 0;
    interval.middle = middle;
    interval.low = wide == SIZE_MAX ? middle - half : means[wide];
    interval.high = wide == SIZE_MAX ? middle + half : means[nr_means - 1 - wide];
    interval.differs = wider == SIZE_MAX ? nr > 1 && fabs(middle) > half_wider
                                         : means[wider] > 0 || means[nr_means - 1 - wider] < 0;
    free(means);
    return interval;
}

struct seep_interval seep_ratio_interval(const double *numerators, const double *denominators, size_t nr) {
    const double least = 1e-9; // a round of noise may have less than nothing
    double logs[ROUNDS_MOST];
    nr = SEEP_MIN(nr, (size_t)ROUNDS_MOST);
    for (size_t i = 0; i < nr; i++)
        logs[i] = log(SEEP_MAX(numerators[i], least) / SEEP_MAX(denominators[i], least));
    struct seep_interval interval = interval_of(logs, nr);
    interval.middle = exp(interval.middle);
    interval.low = exp(interval.low);
    interval.high = exp(interval.high);
    return interval;
}

bool seep_is_noise(const double *times, size_t nr) {
    struct seep_interval interval = interval_of(times, SEEP_MIN(nr, (size_t)ROUNDS_MOST));
    return !(interval.low > 0);
}
