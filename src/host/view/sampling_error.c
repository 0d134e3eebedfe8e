// SPDX-License-Identifier: BSD-2-Clause
// The error of figures that are estimates, see sampling_error.h.
#include <math.h>

#include "view/sampling_error.h"

// A block of size s is recorded with probability p = 1 - exp(-s / sample_bytes) and counts s/p then, so each
// one that was recorded adds s^2 (1 - p) / p^2 to the variance. Source: Horvitz and Thompson, 1952.
struct seep_live_error seep_live_error_of(const struct seep_profile *const *profiles, size_t nr_profiles) {
    struct seep_live_error error = {.nr_samples = 0};
    double sum = 0, variance = 0;
    for (size_t p = 0; p < nr_profiles; p++) {
        const struct seep_profile *profile = profiles[p];
        double interval = (double)profile->health.sample_bytes;
        if (!profile->health.sample_bytes) {
            sum += (double)profile->totals.live_bytes;
            continue;
        }
        error.nr_samples += profile->nr_blocks;
        for (size_t i = 0; i < profile->nr_blocks; i++) {
            double size = (double)SEEP_MAX(profile->blocks[i].size, UINT64_C(1));
            double probability = -expm1(-size / interval);
            sum += size / probability;
            variance += size * size * (1 - probability) / (probability * probability);
        }
    }
    error.percent = sum > 0 ? 100 * sqrt(variance) / sum : 0;
    return error;
}

// Of n blocks of size s, n p are recorded: their sum has the variance n s^2 (1 - p) / p.
double seep_peak_error_percent(const struct seep_profile *profile) {
    double sum = 0, variance = 0, interval = (double)profile->health.sample_bytes;
    for (uint32_t i = 0; profile->at_peak.counted && i < profile->nr_sites; i++) {
        const struct seep_counters *counters = &profile->sites[i].counters;
        if (!counters->at_peak_blocks || !counters->at_peak_bytes)
            continue;
        double bytes = (double)counters->at_peak_bytes, size = bytes / (double)counters->at_peak_blocks;
        double probability = -expm1(-size / SEEP_MAX(interval, 1.0));
        sum += bytes;
        variance += bytes * size * (1 - probability) / probability;
    }
    return sum > 0 ? 100 * sqrt(variance) / sum : 0;
}

double seep_sample_error_percent(uint64_t nr_samples) {
    return nr_samples ? 100.0 / sqrt((double)nr_samples) : 100.0;
}
