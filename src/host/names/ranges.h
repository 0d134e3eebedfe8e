// SPDX-License-Identifier: BSD-2-Clause
//
// Address ranges that may overlap and nest, each with a value. Fill, seal, then ask.
//
// Invariant once sealed: sorted by (low, rank), and `reach` of an item is the highest `high` of it
// and of all items before it, so a search that walks downward knows when nothing can cover any more.
#ifndef SEEP_NAMES_RANGES_H
#define SEEP_NAMES_RANGES_H

#include "core/attr.h"

struct seep_range {
    uint64_t low;
    uint64_t high; // exclusive
    uint64_t reach;
    uint64_t value;
    uint32_t rank; // of equal lows the one with the highest rank is found first
};

// A growing array of them. Owned: _deinit frees it.
struct seep_ranges {
    struct seep_range *items;
    size_t nr;
    size_t capacity;
};

// Without ranges and without memory.
#define SEEP_RANGES_INIT                                                                                     \
    { NULL, 0, 0 }
void seep_ranges_deinit(struct seep_ranges *ranges);

// Empty ranges are dropped. false: out of memory.
SEEP_MUST_CHECK bool seep_ranges_add(struct seep_ranges *ranges, uint64_t low, uint64_t high, uint64_t value,
                                     uint32_t rank);
void seep_ranges_seal(struct seep_ranges *ranges);

// The number of items with low <= address: where a walk downward begins.
size_t seep_ranges_upto(const struct seep_ranges *ranges, uint64_t address);

// The next item below index *at that covers `address`, the one that starts last first; NULL: no more.
const struct seep_range *seep_ranges_next(const struct seep_ranges *ranges, uint64_t address, size_t *at);

#endif
