// SPDX-License-Identifier: BSD-2-Clause
//
// How far figures of a sampled run can be wrong: live ones by the samples that are live, which are fewer than
// all of them.
#ifndef SEEP_VIEW_SAMPLING_ERROR_H
#define SEEP_VIEW_SAMPLING_ERROR_H

#include "profile/profile.h"

struct seep_live_error {
    uint64_t nr_samples; // live blocks that were recorded
    double percent;      // one standard deviation of the live bytes, in percent of them; 0: none is live
};

// Of profiles with health.sample_bytes; of the others all live blocks are known, and they add no error.
struct seep_live_error seep_live_error_of(const struct seep_profile *const *profiles, size_t nr_profiles);

// Of the peak of a profile with health.sample_bytes: one standard deviation in percent. 0: what was live then
// is not known. A site's blocks count as of one size.
double seep_peak_error_percent(const struct seep_profile *profile);

// One standard deviation of an estimate from so many samples, in percent of it: blocks much smaller than
// the sampling interval are Poisson, larger ones better than that.
double seep_sample_error_percent(uint64_t nr_samples);

#endif
