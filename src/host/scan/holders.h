// SPDX-License-Identifier: BSD-2-Clause
//
// Who holds the blocks of a site, in words: the shortest chain of pointers from a root to its largest
// block of the site's kind; and who holds most: the variables, threads and shared blocks that retain the
// most bytes. Needs nothing of the process any more.
#ifndef SEEP_SCAN_HOLDERS_H
#define SEEP_SCAN_HOLDERS_H

#include "scan/dominators.h"
#include "scan/roots.h"
#include "symbol/symbols.h"

// Symbols are looked up for the chains of the sites that hold most; the others are left without.
#define SEEP_HELD_SITES_MAX  500u
#define SEEP_TOP_HOLDERS_MAX 100u

// Roots in groups: by variable, by thread (stack and registers), by its thread-local storage, by mapping.
struct seep_holders {
    uint32_t *of_root; // by index in the graph's roots
    uint32_t *first;   // by holder: the first of its roots
    uint32_t nr;
    struct seep_dominators *dominators;
};

SEEP_MUST_CHECK struct seep_error *seep_holders_create(const struct seep_graph *graph,
                                                       const struct seep_root_ranges *ranges,
                                                       struct seep_symbols *symbols,
                                                       struct seep_holders **ret_holders);
void seep_holders_destroy(struct seep_holders *holders); // takes NULL

// Fills held_by and retained_bytes of sites, and leaks.holders, in the profile's arena. The graph must be
// that of the profile, classified.
SEEP_MUST_CHECK struct seep_error *seep_holders_describe(struct seep_profile *profile,
                                                         const struct seep_graph *graph,
                                                         const struct seep_root_ranges *ranges,
                                                         struct seep_symbols *symbols);

#endif
