// SPDX-License-Identifier: BSD-2-Clause
//
// The part of a block that a program wrote, estimated where the block was not looked at while it was
// recorded, because it did not live long enough. It is that of blocks of the same site that were looked at;
// else of the same size; else of sizes from the same power of two to the next. A compiler's blocks of 64 KiB
// for a function's analyses, for example, live for a millisecond, and a page or two of each is written.
//
// Blocks up to SEEP_RESIDENCE_FILLED_BYTES only, which are filled long before the tool looks. A look finds
// larger ones while they are filled, so that what it sees says little of others.
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

// A block that was looked at. false: out of memory.
SEEP_MUST_CHECK bool seep_page_shares_learn(struct seep_page_shares *shares, uint32_t site, uint64_t size,
                                            uint64_t resident_bytes);

// The bytes of a block of this site and size: all, where none like it was looked at.
uint64_t seep_page_shares_guess(const struct seep_page_shares *shares, uint32_t site, uint64_t size);

#endif
