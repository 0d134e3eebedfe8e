// SPDX-License-Identifier: BSD-2-Clause
//
// What would go if one thing went: retained sizes by dominators. A block is dominated by another block,
// or by a root, if every chain of pointers from the roots to it goes through that one.
//
// Vertices are the blocks, then the holders: roots in groups, as one variable, or the stack and
// registers of one thread. Above them is the top: it leads to all holders and to the blocks that are
// lost, so that a lost block retains what is indirectly lost with it. Pointers of every kind count, but
// those from lost blocks to blocks that are not lost, and those from passing to lasting ones: stacks and
// registers (the passing holders), and the blocks that only they lead to, hold nothing that a lasting holder
// leads to as well. Source: L. Georgiadis, "Linear-Time Algorithms for Dominators and Related Problems",
// 2005, the semi-NCA algorithm. Proof: tests/unit/test_dominators.c, against the definition.
#ifndef SEEP_SCAN_DOMINATORS_H
#define SEEP_SCAN_DOMINATORS_H

#include "scan/graph.h"

struct seep_dominated {
    uint64_t bytes; // of the blocks that it dominates, its own too
    uint32_t blocks;
    uint32_t idom; // its immediate dominator, nr_vertices for the top, SEEP_NO_BLOCK: nothing leads to it
};

struct seep_dominators {
    uint32_t nr_blocks;
    uint32_t nr_vertices;         // blocks and holders
    struct seep_dominated *items; // by vertex
};

// `holders`: of each root of the graph, below nr_holders. `passing`: by holder, whether it is what a thread
// works with at the moment. The graph is classified.
// Memory while it works: 32 bytes a block, and at most 12 an edge; 16 a block for the result.
SEEP_MUST_CHECK struct seep_error *seep_dominators_create(const struct seep_graph *graph,
                                                          const uint32_t *holders, const bool *passing,
                                                          uint32_t nr_holders,
                                                          struct seep_dominators **ret_dominators);
// By site: what all its blocks retain together, nothing twice. `blocks` are those of the graph.
SEEP_MUST_CHECK struct seep_error *seep_dominators_by_site(const struct seep_dominators *dominators,
                                                           const struct seep_block *blocks, uint32_t nr_sites,
                                                           uint64_t *ret_bytes);
void seep_dominators_destroy(struct seep_dominators *dominators); // takes NULL

#endif
