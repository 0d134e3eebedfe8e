// SPDX-License-Identifier: BSD-2-Clause
//
// Who holds the blocks of a site, in words: the shortest chain of pointers from a root to its largest
// block of the site's kind. Needs nothing of the process any more.
#ifndef SEEP_SCAN_HOLDERS_H
#define SEEP_SCAN_HOLDERS_H

#include "scan/graph.h"
#include "scan/roots.h"
#include "symbol/symbols.h"

// Symbols are looked up for the chains of the sites that hold most; the others are left without.
#define SEEP_HELD_SITES_MAX 500u

// Fills held_by of sites, in the profile's arena. The graph must be that of the profile, classified.
SEEP_MUST_CHECK struct seep_error *seep_holders_describe(struct seep_profile *profile,
                                                         const struct seep_graph *graph,
                                                         const struct seep_root_ranges *ranges,
                                                         struct seep_symbols *symbols);

#endif
