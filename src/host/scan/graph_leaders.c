// SPDX-License-Identifier: BSD-2-Clause
// The leaders of what is lost, see graph_leaders.h. The sets are the strongly connected components of the
// blocks of unknown kind, found by Tarjan's algorithm without recursion. Source: R. Tarjan, "Depth-first
// search and linear graph algorithms", SIAM Journal on Computing 1 (2), 1972.
//
// Arrays of the graph that mean nothing for unknown blocks yet hold what the search knows of them: `holder`
// the number of a block in the order of visits, and when its component is whole the leader of that;
// `holder_off` the smallest number that it leads back to; `held_by_root` whether its component is not whole
// yet, and later whether others lead to it.
#include "scan/graph_leaders.h"

#include <stdlib.h>

#include "base/large.h"

struct search {
    struct seep_graph *graph;
    uint32_t *open; // blocks whose component is not whole
    uint32_t nr_open;
    uint32_t *path; // from where the search began to the block that it is at
    uint32_t nr_path;
    uint64_t *edges; // the next edge of each block of the path
    size_t edges_capacity;
    uint32_t nr_visited;
};

// Blocks of one site and size are alike: which of them is first does not show.
static int compare(const struct seep_graph *graph, uint32_t a, uint32_t b) {
    const struct seep_block *left = &graph->blocks[a], *right = &graph->blocks[b];
    if (left->site != right->site)
        return left->site < right->site ? -1 : 1;
    if (left->size != right->size)
        return left->size > right->size ? -1 : 1;
    return (a > b) - (a < b);
}

static bool is_unknown(const struct seep_graph *graph, uint32_t block) {
    return graph->kinds[block] == SEEP_KIND_UNKNOWN;
}

static bool visit(struct search *search, uint32_t block) {
    struct seep_graph *graph = search->graph;
    if (search->nr_path == search->edges_capacity &&
        !seep_large_grow(&search->edges, &search->edges_capacity, sizeof(*search->edges)))
        return false;
    graph->holder[block] = graph->holder_off[block] = search->nr_visited++;
    graph->held_by_root[block] = true;
    search->open[search->nr_open++] = block;
    search->edges[search->nr_path] = graph->first_edge[block];
    search->path[search->nr_path++] = block;
    return true;
}

// The blocks from `block` on are a component.
static void close_component(struct search *search, uint32_t block) {
    struct seep_graph *graph = search->graph;
    uint32_t from = search->nr_open;
    uint32_t leader = block;
    do {
        from--;
        if (compare(graph, search->open[from], leader) < 0)
            leader = search->open[from];
    } while (search->open[from] != block);
    for (uint32_t i = from; i < search->nr_open; i++) {
        graph->holder[search->open[i]] = leader;
        graph->held_by_root[search->open[i]] = false;
    }
    search->nr_open = from;
}

static bool search_from(struct search *search, uint32_t start, unsigned char *visited) {
    struct seep_graph *graph = search->graph;
    visited[start] = 1;
    bool fits = visit(search, start);
    while (fits && search->nr_path) {
        uint32_t block = search->path[search->nr_path - 1];
        uint64_t *edge = &search->edges[search->nr_path - 1];
        if (*edge == graph->first_edge[block + 1]) {
            if (graph->holder_off[block] == graph->holder[block])
                close_component(search, block);
            search->nr_path--;
            uint32_t outer = search->nr_path ? search->path[search->nr_path - 1] : block;
            if (graph->held_by_root[block] && graph->holder_off[block] < graph->holder_off[outer])
                graph->holder_off[outer] = graph->holder_off[block];
            continue;
        }
        uint32_t target = graph->edges[(*edge)++].target;
        if (!is_unknown(graph, target))
            continue;
        if (!visited[target]) {
            visited[target] = 1;
            fits = visit(search, target);
        } else if (graph->held_by_root[target] && graph->holder[target] < graph->holder_off[block]) {
            graph->holder_off[block] = graph->holder[target];
        }
    }
    return fits;
}

// Components that another one leads to lead nothing.
static void mark_led(struct seep_graph *graph) {
    for (uint32_t b = 0; b < graph->nr_blocks; b++) {
        if (!is_unknown(graph, b))
            continue;
        for (uint64_t e = graph->first_edge[b]; e < graph->first_edge[b + 1]; e++) {
            uint32_t target = graph->edges[e].target;
            if (is_unknown(graph, target) && graph->holder[target] != graph->holder[b])
                graph->held_by_root[graph->holder[target]] = true;
        }
    }
}

static int compare_leaders(const void *left, const void *right, void *graph) {
    return compare(graph, *(const uint32_t *)left, *(const uint32_t *)right);
}

bool seep_graph_find_leaders(struct seep_graph *graph, uint32_t *work, uint32_t *ret_leaders,
                             size_t *ret_nr) {
    struct search search = {.graph = graph, .open = work, .path = ret_leaders};
    unsigned char *visited = calloc(SEEP_MAX(graph->nr_blocks, 1u), 1);
    bool fits = visited != NULL;
    for (uint32_t b = 0; fits && b < graph->nr_blocks; b++)
        if (is_unknown(graph, b) && !visited[b])
            fits = search_from(&search, b, visited);
    free(visited);
    free(search.edges);
    if (!fits)
        return false;
    mark_led(graph);
    size_t nr = 0;
    for (uint32_t b = 0; b < graph->nr_blocks; b++)
        if (is_unknown(graph, b) && graph->holder[b] == b && !graph->held_by_root[b])
            ret_leaders[nr++] = b;
    qsort_r(ret_leaders, nr, sizeof(*ret_leaders), compare_leaders, graph);
    *ret_nr = nr;
    return true;
}
