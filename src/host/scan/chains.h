// SPDX-License-Identifier: BSD-2-Clause
//
// Chains of pointers out of a classified graph, see profile/chain.h. Needs nothing of the process any more.
#ifndef SEEP_SCAN_CHAINS_H
#define SEEP_SCAN_CHAINS_H

#include "scan/graph.h"
#include "scan/kept_stacks.h"
#include "scan/roots.h"

// What chains ask of a block often.
struct seep_known_block {
    uint64_t vtable;
    uint64_t arrival;
    uint32_t vtable_module;
    bool is_known;
};

// What links are made of; all borrowed. The graph must be that of the profile.
struct seep_chains {
    const struct seep_profile *profile;
    const struct seep_graph *graph;
    const struct seep_root_ranges *ranges; // with modules of the profile, see seep_chains_add_modules
    struct seep_kept_stacks *kept;         // NULL: functions and variables of stacks are not told
    struct seep_arena *arena;              // for what links have; lives as long as they do
    struct seep_symbols *variables;        // hasty ones, of scans before too; NULL: none
    struct seep_known_block *known;        // of each block, as far as it was asked; NULL: none is kept
};

// Appends what modules of the roots the profile does not have, and makes the ranges name those of the
// profile. Once, before any chain.
SEEP_MUST_CHECK struct seep_error *seep_chains_add_modules(struct seep_profile *profile,
                                                           struct seep_root_ranges *ranges);

// `whole`: what the root is a part of is meant, not the place in it.
struct seep_link seep_chains_root(const struct seep_chains *chains, const struct seep_root_edge *root,
                                  bool whole);
// A pointer `off` bytes into the block, or the block itself.
struct seep_link seep_chains_block(const struct seep_chains *chains, uint32_t block, uint32_t off,
                                   bool whole);

// The shortest chain to `block`, without it: the outermost holder first; NULL where nothing holds it. With
// `itself` the block stands before it, as one that several hold. In the profile's arena.
SEEP_MUST_CHECK struct seep_error *seep_chains_make(const struct seep_chains *chains, uint32_t block,
                                                    bool itself, struct seep_arena *arena,
                                                    const struct seep_chain **ret_chain);
// Whether the last pointer of that chain leads to the start of the block.
bool seep_chains_lead_to_start(const struct seep_chains *chains, uint32_t block);

#endif
