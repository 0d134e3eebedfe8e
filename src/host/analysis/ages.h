// SPDX-License-Identifier: BSD-2-Clause
// When the live blocks were born: how many in each span of ages.
#ifndef SEEP_ANALYSIS_AGES_H
#define SEEP_ANALYSIS_AGES_H

#include "profile/profile.h"

#define SEEP_AGE_SPANS 9u

struct seep_ages {
    bool known; // some block has its age
    struct seep_age_span {
        uint64_t blocks;
        uint64_t bytes;
    } spans[SEEP_AGE_SPANS];
};

// Adds a block, where its age is known (below 0: it is not); begin with zeros.
void seep_ages_add_block(struct seep_ages *ages, uint64_t size, int64_t age_ns);
// Adds those of a process.
void seep_ages_add(struct seep_ages *ages, const struct seep_profile *profile);

// The age that those of a span are below; INT64_MAX for the last. And the span in words.
int64_t seep_age_below_ns(size_t span);
const char *seep_age_words(size_t span);

#endif
