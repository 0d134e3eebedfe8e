// SPDX-License-Identifier: BSD-2-Clause
// Which blocks are lost, indirectly lost, possibly lost, reachable: floods of the graph from its roots, from
// the middles of blocks, and from what is left; see graph.h.
#include <stdlib.h>
#include <string.h>

#include "base/large.h"
#include "base/map.h"
#include "base/search.h"
#include "scan/graph.h"
#include "scan/graph_leaders.h"

static bool has_vtable_at(const struct seep_graph *graph, uint32_t block, uint32_t off) {
    const struct seep_map_of_places *places = graph->vtables;
    const size_t low =
        SEEP_FIRST_WHERE(at, graph->nr_vtables,
                         places[at].block > block || (places[at].block == block && places[at].off >= off));
    return low < graph->nr_vtables && places[low].block == block && places[low].off == off;
}

static bool is_start(const struct seep_graph *graph, uint32_t target, uint32_t off) {
    if (off == 0)
        return true;
    uint8_t shape = graph->shapes[target];
    const uint32_t word = graph->narrow ? 4 : 8;
    if (shape & SHAPE_SLAB)
        return true;
    if (off == word && shape & (SHAPE_ARRAY | SHAPE_LENGTH | SHAPE_EMPTY))
        return true;
    if (off == 3 * word && shape & SHAPE_STRING)
        return true;
    if (seep_is_behind_header(graph, target, off))
        return true;
    if (shape & SHAPE_EXCEPTION &&
        (off == EXCEPTION_COUNT_BYTES || off == EXCEPTION_UNWIND_OFF || off == EXCEPTION_OBJECT_OFF))
        return true;
    return shape & SHAPE_VTABLE && has_vtable_at(graph, target, off);
}

// A link between two nodes that has a mark in its lowest bit. The addresses of 32-bit programs look like
// texts.
static bool is_marked_link(const struct seep_graph *graph, uint32_t block, uint32_t target, uint32_t off) {
    return off == 1 && target != block && graph->blocks[target].size == graph->blocks[block].size &&
           (graph->narrow || !(graph->shapes[target] & SHAPE_TEXT));
}

static bool leads_to_start(const struct seep_graph *graph, uint32_t block, const struct seep_edge *edge) {
    return is_start(graph, edge->target, edge->to_off) ||
           is_marked_link(graph, block, edge->target, edge->to_off);
}

// ---- what is said twice ----

#define MANY_EDGES 32u // of a block, before it is worth a look whether some are alike

struct seen {
    uint64_t *keys; // twice the target, one more for its start; and one more of all, 0 is none
    size_t capacity;
    size_t mask;
};

static bool make_room(struct seen *seen, size_t nr_edges) {
    size_t nr = 64;
    while (nr < nr_edges * 2)
        nr *= 2;
    if (!seep_grow(&seen->keys, &seen->capacity, nr, sizeof(*seen->keys)))
        return false;
    memset(seen->keys, 0, nr * sizeof(*seen->keys));
    seen->mask = nr - 1;
    return true;
}

static bool is_first(struct seen *seen, uint64_t key) {
    size_t at = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) & seen->mask;
    for (; seen->keys[at]; at = (at + 1) & seen->mask)
        if (seen->keys[at] == key)
            return false;
    seen->keys[at] = key;
    return true;
}

// A block with many pointers (an arena, a table) leads to the same blocks over and over: for the classes and
// for who holds what, the first one to a block's start and the first one into its middle tell it all.
static bool drop_repeated(struct seep_graph *graph) {
    struct seen seen = {NULL};
    uint64_t to = 0, first = 0;
    bool fits = true;
    for (uint32_t b = 0; b < graph->nr_blocks && fits; b++) {
        uint64_t from = first, end = graph->first_edge[b + 1];
        bool many = end - from >= MANY_EDGES;
        first = end;
        fits = !many || make_room(&seen, (size_t)(end - from));
        if (!many && to == from) {
            to = end;
            continue;
        }
        for (uint64_t e = from; e < end && fits; e++) {
            const struct seep_edge *edge = &graph->edges[e];
            uint64_t key = (uint64_t)edge->target * 2 + leads_to_start(graph, b, edge) + 1;
            if (!many || is_first(&seen, key))
                graph->edges[to++] = *edge;
        }
        graph->first_edge[b + 1] = to;
    }
    free(seen.keys);
    graph->nr_edges = (size_t)to;
    return fits;
}

struct flood {
    struct seep_graph *graph;
    uint32_t *queue; // every block is in it at most once
    size_t nr_queue;
    size_t at;
    uint32_t *later; // blocks that a pointer into their middle leads to, with their holders
    size_t nr_later;
};

static void hold(struct seep_graph *graph, uint32_t block, uint8_t kind, uint32_t holder, uint32_t off,
                 bool root) {
    graph->kinds[block] = kind;
    graph->holder[block] = holder;
    graph->holder_off[block] = off;
    graph->held_by_root[block] = root;
}

// A pointer into the middle of a block, while the reachable ones are sought: remembered once, so that
// the block's holder is the nearest.
static void remember(struct flood *flood, uint32_t block, uint32_t holder, uint32_t off, bool root) {
    struct seep_graph *graph = flood->graph;
    if (graph->kinds[block] != SEEP_KIND_UNKNOWN || graph->holder[block] != SEEP_NO_BLOCK)
        return;
    graph->holder[block] = holder;
    graph->holder_off[block] = off;
    graph->held_by_root[block] = root;
    flood->later[flood->nr_later++] = block;
}

static void flood_reachable(struct flood *flood) {
    struct seep_graph *graph = flood->graph;
    for (size_t i = 0; i < graph->nr_roots; i++) {
        const struct seep_root_edge *root = &graph->roots[i];
        if (!is_start(graph, root->target, root->to_off)) {
            remember(flood, root->target, (uint32_t)i, 0, true);
        } else if (graph->kinds[root->target] == SEEP_KIND_UNKNOWN) {
            hold(graph, root->target, SEEP_KIND_REACHABLE, (uint32_t)i, 0, true);
            flood->queue[flood->nr_queue++] = root->target;
        } else if (root->outward && graph->held_by_root[root->target] &&
                   graph->roots[graph->holder[root->target]].range == root->range) {
            graph->holder[root->target] = (uint32_t)i;
        }
    }
    for (; flood->at < flood->nr_queue; flood->at++) {
        uint32_t block = flood->queue[flood->at];
        for (uint64_t e = graph->first_edge[block]; e < graph->first_edge[block + 1]; e++) {
            const struct seep_edge *edge = &graph->edges[e];
            if (graph->kinds[edge->target] != SEEP_KIND_UNKNOWN)
                continue;
            if (leads_to_start(graph, block, edge)) {
                hold(graph, edge->target, SEEP_KIND_REACHABLE, block, edge->from_off, false);
                flood->queue[flood->nr_queue++] = edge->target;
            } else {
                remember(flood, edge->target, block, edge->from_off, false);
            }
        }
    }
}

// Everything that the queued blocks lead to becomes `kind`, whatever the pointers are like.
static void flood_all(struct flood *flood, uint8_t kind) {
    struct seep_graph *graph = flood->graph;
    for (; flood->at < flood->nr_queue; flood->at++) {
        uint32_t block = flood->queue[flood->at];
        for (uint64_t e = graph->first_edge[block]; e < graph->first_edge[block + 1]; e++) {
            const struct seep_edge *edge = &graph->edges[e];
            if (graph->kinds[edge->target] == SEEP_KIND_UNKNOWN) {
                hold(graph, edge->target, kind, block, edge->from_off, false);
                flood->queue[flood->nr_queue++] = edge->target;
            }
        }
    }
}

static void flood_lost(struct flood *flood, size_t nr_leaders) {
    struct seep_graph *graph = flood->graph;
    for (size_t i = 0; i < nr_leaders; i++) {
        hold(graph, flood->later[i], SEEP_KIND_LOST, SEEP_NO_BLOCK, 0, false);
        flood->queue[flood->nr_queue++] = flood->later[i];
        flood_all(flood, SEEP_KIND_INDIRECT);
    }
}

struct seep_error *seep_graph_classify(struct seep_graph *graph) {
    if (!seep_graph_close(graph) || !seep_headers_learn(graph))
        return seep_error_no_memory();
    if (!graph->with_own && !drop_repeated(graph))
        return seep_error_no_memory();
    size_t room = SEEP_MAX(graph->nr_blocks, 1u);
    graph->kinds = calloc(room, sizeof(*graph->kinds));
    graph->holder = seep_large_alloc(room, sizeof(*graph->holder));
    graph->holder_off = calloc(room, sizeof(*graph->holder_off));
    graph->held_by_root = calloc(room, sizeof(*graph->held_by_root));
    struct flood flood = {.graph = graph,
                          .queue = seep_large_alloc(room, sizeof(*flood.queue)),
                          .later = seep_large_alloc(room, sizeof(*flood.later))};
    bool fits = graph->kinds && graph->holder && graph->holder_off && graph->held_by_root && flood.queue &&
                flood.later;
    if (fits) {
        memset(graph->holder, 0xff, room * sizeof(*graph->holder));
        flood_reachable(&flood);
        for (size_t i = 0; i < flood.nr_later; i++) {
            uint32_t block = flood.later[i];
            if (graph->kinds[block] != SEEP_KIND_UNKNOWN)
                continue;
            graph->kinds[block] = SEEP_KIND_POSSIBLE;
            flood.queue[flood.nr_queue++] = block;
        }
        flood_all(&flood, SEEP_KIND_POSSIBLE);
        size_t nr_leaders;
        fits = seep_graph_find_leaders(graph, flood.queue + flood.nr_queue, flood.later, &nr_leaders);
        if (fits)
            flood_lost(&flood, nr_leaders);
    }
    free(flood.queue);
    free(flood.later);
    return fits ? NULL : seep_error_no_memory();
}

// Of lost blocks, only those of its own cycle point to a block of kind LOST. So each that does closes a
// cycle.
bool seep_graph_count_cycles(const struct seep_graph *graph, uint64_t *ret_nr) {
    bool *seen = calloc(SEEP_MAX(graph->nr_blocks, 1u), sizeof(*seen));
    *ret_nr = 0;
    for (uint32_t b = 0; seen && b < graph->nr_blocks; b++) {
        if (graph->kinds[b] != SEEP_KIND_LOST && graph->kinds[b] != SEEP_KIND_INDIRECT)
            continue;
        for (uint64_t e = graph->first_edge[b]; e < graph->first_edge[b + 1]; e++) {
            uint32_t target = graph->edges[e].target;
            if (target == b || seen[target] || graph->edges[e].to_off ||
                graph->kinds[target] != SEEP_KIND_LOST)
                continue;
            seen[target] = true;
            ++*ret_nr;
        }
    }
    bool fits = seen != NULL;
    free(seen);
    return fits;
}
