// SPDX-License-Identifier: BSD-2-Clause
// What the files that read an image into a profile share; private to profile_image.c and image_*.c.
#ifndef SEEP_SOURCE_IMAGE_IMAGE_READER_H
#define SEEP_SOURCE_IMAGE_IMAGE_READER_H

#include "source/image/image_copy.h"
#include "profile/profile.h"

struct seep_image_reader {
    const struct seep_image_copy *copy;
    struct seep_profile *profile;
    const char *strings; // of the image, each with its NUL
    uint64_t strings_bytes;
    uint64_t nr_damaged; // references that lead nowhere
    uint64_t nr_missing; // elements counted, but not there
};

// A run of pool pages that something refers to.
struct seep_pool_claim {
    uint64_t page;
    uint32_t owner; // directory index of a leaf; thread of a chunk or chunk directory
    uint32_t index; // of a chunk: which
};

struct seep_pool_claims {
    struct seep_pool_claim *items;
    size_t nr_items;
    size_t capacity;
};

// false: out of memory.
SEEP_MUST_CHECK bool seep_pool_claim_add(struct seep_pool_claims *claims, uint64_t page, uint32_t owner,
                                         uint32_t index);
// Sorts by page and drops claims that overlap one before them or lie outside the pool: so that the
// work is bounded by the data, whatever the image says. Counts them in nr_damaged.
void seep_pool_claims_settle(struct seep_image_reader *reader, struct seep_pool_claims *claims,
                             uint64_t nr_pages);

// false, and counted as damaged: not the id of a site.
SEEP_MUST_CHECK bool seep_image_is_site(struct seep_image_reader *reader, uint32_t site);

// Sums the counters of all threads into sites, threads and thread_sites.
SEEP_MUST_CHECK struct seep_error *seep_image_read_counters(struct seep_image_reader *reader);

// Mappings of the program, and blocks freed in a wrong way.
SEEP_MUST_CHECK struct seep_error *seep_image_read_mappings(struct seep_image_reader *reader);

// What the program told through seep.h, and marks.
SEEP_MUST_CHECK struct seep_error *seep_image_read_annotations(struct seep_image_reader *reader);

// What the sites had at the peak: the copy that the library made, or where the peak is not over, what they
// have. Context: the profile is derived, and its totals have the peak.
SEEP_MUST_CHECK struct seep_error *seep_image_read_peak(struct seep_image_reader *reader);

// The string at `off` of the strings area, which lives as long as the profile; `otherwise` when there is
// none. *ret_end, if not NULL, is the offset behind its NUL.
const char *seep_image_string(struct seep_image_reader *reader, uint64_t off, const char *otherwise,
                              uint64_t *ret_end);

// The live blocks of the heap map and of the odd table, by address.
SEEP_MUST_CHECK struct seep_error *seep_image_read_blocks(struct seep_image_reader *reader);

#endif
