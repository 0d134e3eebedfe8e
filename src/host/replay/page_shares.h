// SPDX-License-Identifier: BSD-2-Clause
//
// The part of a block's pages that a program wrote, estimated for a block that did not live long enough to be
// looked at while it was recorded. The estimate is the part of looked-at blocks of the same site; else of the
// same size; else of sizes from the same power of two to the next. For example, a compiler's blocks of 64 KiB
// for a function's analyses live for a millisecond, and a page or two of each is written.
//
// Only blocks up to SEEP_RESIDENCE_FILLED_BYTES count, because these are filled long before the tool looks. A
// larger block may be looked at while it is filled, so that such a look says little of others.
#ifndef SEEP_REPLAY_PAGE_SHARES_H
#define SEEP_REPLAY_PAGE_SHARES_H

#include "base/map.h"

struct seep_page_shares {
    struct seep_map shares_of; // a site, a size or a power of two -> 1 + index in shares
    struct seep_page_share *shares;
    size_t nr_shares;
    size_t capacity;
};

#define SEEP_PAGE_SHARES_INIT                                                                                \
    { .shares_of = SEEP_MAP_INIT }
void seep_page_shares_deinit(struct seep_page_shares *shares);

// A block that was looked at. `part`: of the pages that it lies in, 0 to 1. false: out of memory.
SEEP_MUST_CHECK bool seep_page_shares_learn(struct seep_page_shares *shares, uint32_t site, uint64_t size,
                                            double part);

// The estimate for a block of this site and size: 1, if no block like it was looked at.
double seep_page_shares_guess(const struct seep_page_shares *shares, uint32_t site, uint64_t size);

#endif
