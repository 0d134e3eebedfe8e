// SPDX-License-Identifier: BSD-2-Clause
// Which of the blocks that nothing holds are lost, and which are lost through those; for graph.c.
#ifndef SEEP_SCAN_GRAPH_LEADERS_H
#define SEEP_SCAN_GRAPH_LEADERS_H

#include "scan/graph.h"

// Of the blocks of unknown kind those that lead: of each set of blocks that lead to one another, and to which
// no other of unknown kind leads, one. Which one, and their order, depend on the sites and sizes of the
// blocks and not on their addresses: so the figures of a site are the same however the heap lies.
//
// `work` and `ret_leaders` have room for as many blocks as are unknown, and for all blocks, in this order.
// What the graph says of the holders of unknown blocks is undefined then. Linear in blocks and edges. false:
// out of memory.
SEEP_MUST_CHECK bool seep_graph_find_leaders(struct seep_graph *graph, uint32_t *work, uint32_t *ret_leaders,
                                             size_t *ret_nr);

#endif
