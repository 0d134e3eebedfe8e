// SPDX-License-Identifier: BSD-2-Clause
//
// Roots, blocks and chains of pointers in words: "global cache+0x10 in libfoo.so -> block of 4096 B from
// table_new (hash.c:88) +0x18". Needs nothing of the process any more.
#ifndef SEEP_SCAN_CHAINS_H
#define SEEP_SCAN_CHAINS_H

#include "model/stacks.h"
#include "scan/graph.h"
#include "scan/roots.h"
#include "symbol/symbols.h"

#define SEEP_CHAIN_TEXT_BYTES 4096

struct seep_chains {
    const struct seep_profile *profile;
    const struct seep_graph *graph;
    const struct seep_root_ranges *ranges;
    struct seep_symbols *symbols;
    struct seep_stacks *stacks;
    uint32_t *nodes;                  // of the profile to nodes of stacks
    char text[SEEP_CHAIN_TEXT_BYTES]; // what was put since the last clearing
    size_t used;
};

// Borrows all it is given; the graph must be that of the profile, classified.
SEEP_MUST_CHECK struct seep_error *seep_chains_create(const struct seep_profile *profile,
                                                      const struct seep_graph *graph,
                                                      const struct seep_root_ranges *ranges,
                                                      struct seep_symbols *symbols,
                                                      struct seep_chains **ret_chains);
void seep_chains_destroy(struct seep_chains *chains); // takes NULL

void seep_chains_clear(struct seep_chains *chains);
// Texts that are too long are cut.
void seep_chains_put(struct seep_chains *chains, const char *format, ...) SEEP_PRINTF(2, 3);

// "global cache+0x10 in libfoo.so"; without `place` what the root is a part of: "global cache in libfoo.so".
SEEP_MUST_CHECK struct seep_error *seep_chains_put_root(struct seep_chains *chains,
                                                        const struct seep_root_edge *root, bool place);
// "block of 48 B from f (a.c:3)".
SEEP_MUST_CHECK struct seep_error *seep_chains_put_block(struct seep_chains *chains, uint32_t block);
// "Circle", where the block is a C++ object with a known vtable; else nothing.
SEEP_MUST_CHECK struct seep_error *seep_chains_put_class(struct seep_chains *chains, uint32_t block);
void seep_chains_put_offset(struct seep_chains *chains, uint32_t off);
// The shortest chain to `block`, without it: the outermost holder first. Nothing where nobody holds it.
SEEP_MUST_CHECK struct seep_error *seep_chains_put_holders(struct seep_chains *chains, uint32_t block);

#endif
