// SPDX-License-Identifier: BSD-2-Clause
// Spans of ages, see ages.h.
#include "base/sum.h"
#include "analysis/ages.h"

#define MS     INT64_C(1000000)
#define SECOND (1000 * MS)

static const struct {
    int64_t below_ns;
    const char *words;
} limits[SEEP_AGE_SPANS] = {
    {10 * MS, "below 10 ms"},         {100 * MS, "10 to 100 ms"},        {SECOND, "100 ms to 1 s"},
    {10 * SECOND, "1 to 10 s"},       {60 * SECOND, "10 s to 1 min"},    {600 * SECOND, "1 to 10 min"},
    {3600 * SECOND, "10 min to 1 h"}, {24 * 3600 * SECOND, "1 to 24 h"}, {INT64_MAX, "above 24 h"},
};

int64_t seep_age_below_ns(size_t span) {
    return limits[span].below_ns;
}

const char *seep_age_words(size_t span) {
    return limits[span].words;
}

static size_t span_of(int64_t age_ns) {
    size_t i = 0;
    while (i + 1 < SEEP_AGE_SPANS && age_ns >= limits[i].below_ns)
        i++;
    return i;
}

void seep_ages_add_block(struct seep_ages *ages, uint64_t size, int64_t age_ns) {
    if (age_ns < 0)
        return;
    struct seep_age_span *span = &ages->spans[span_of(age_ns)];
    ages->known = true;
    span->blocks++;
    seep_add_up(&span->bytes, size);
}

void seep_ages_add(struct seep_ages *ages, const struct seep_profile *profile) {
    for (size_t i = 0; i < profile->nr_blocks; i++)
        seep_ages_add_block(ages, profile->blocks[i].size, profile->blocks[i].age_ns);
}
