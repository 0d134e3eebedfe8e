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

double seep_sample_error_percent(uint64_t nr_samples) {
    return nr_samples ? 100.0 / sqrt((double)nr_samples) : 100.0;
}
