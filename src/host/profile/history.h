// SPDX-License-Identifier: BSD-2-Clause
//
// What a process did with its heap over time, as its recording tells it: data only.
// session/recording_history.h makes it, outputs show it. Ids are those of the profile.
#ifndef SEEP_PROFILE_HISTORY_H
#define SEEP_PROFILE_HISTORY_H

#include "profile/profile.h"

// A part of the run: what was done in it, and what was live at its end.
struct seep_history_bin {
    int64_t until_ns;
    uint64_t allocations;
    uint64_t allocated_bytes;
    uint64_t frees;
    uint64_t freed_bytes;
    int64_t live_blocks;
    int64_t live_bytes;
    int64_t most_bytes; // the highest that live_bytes was in it, of events; of snapshots that at its end
    uint64_t pages;     // of 4 KiB with a live byte, and
    uint64_t regions;   // of 2 MiB; 0 where pages were not asked for
};

// Of a site of which blocks were allocated or freed in a bin; of snapshots one that has others at its end.
struct seep_history_change {
    uint32_t bin;
    uint32_t site;
    int64_t live_blocks;
    int64_t live_bytes;
    int64_t most_bytes; // the highest that live_bytes was in the bin, as of the whole
};

// How long blocks lived: class i is below seep_history_life_ns(i), the last one has no limit.
#define SEEP_HISTORY_LIVES 10
static inline int64_t seep_history_life_ns(unsigned life) {
    int64_t ns = 1000;
    for (unsigned i = 0; i < life; i++)
        ns *= 10;
    return ns;
}

struct seep_history_site {
    uint64_t freed; // blocks of the site that were freed, of which the lives are known
    uint64_t lives[SEEP_HISTORY_LIVES];
    int64_t life_least_ns;
    int64_t life_most_ns;
    double life_sum_ns;
    uint64_t temporary;
    uint64_t elsewhere; // freed by another thread than the one that allocated them
    uint64_t elsewhere_bytes;
};

// Blocks that began at `first` and were resized at `site`.
struct seep_history_resize {
    uint32_t first;
    uint32_t site;
    uint64_t resizes;
    uint64_t moved; // to another address, which copies
    uint64_t copied_bytes;
    uint32_t most_in_a_row; // resizes of one block
    uint64_t most_bytes;
};

// Blocks that one thread allocated and another freed: by slot.
struct seep_history_handover {
    uint32_t from;
    uint32_t to;
    uint64_t blocks;
    uint64_t bytes;
};

// A site whose blocks hold regions of 2 MiB that are nearly empty: a tenth at most is live.
struct seep_history_pin {
    uint32_t site;
    uint64_t regions; // in which it has a block
    uint64_t alone;   // of these, in which no other site has one
    uint64_t blocks;
    uint64_t bytes;
};

// All arrays are malloc'ed.
struct seep_history {
    bool recorded; // by events; else by snapshots, which know only what was live
    int64_t bin_ns;
    struct seep_history_bin *bins;
    size_t nr_bins;
    struct seep_history_change *changes; // by bin
    size_t nr_changes;
    struct seep_history_site *sites; // by id
    uint32_t nr_sites;
    struct seep_history_resize *resizes; // most copied bytes first
    size_t nr_resizes;
    struct seep_history_handover *handovers; // most blocks first
    size_t nr_handovers;
    // With pages: of the end of the bin at which most memory lay idle between live blocks.
    size_t pages_bin;
    uint64_t nearly_empty; // regions of 2 MiB
    struct seep_history_pin *pins;
    size_t nr_pins;
};

void seep_history_deinit(struct seep_history *history);

#endif
