// SPDX-License-Identifier: BSD-2-Clause
// Depth-first numbers, semidominators, nearest common ancestors: see dominators.h. Vertices are named
// by their number in preorder, the top is 0, so a dominator's number is below that of what it dominates.
#include <stdlib.h>
#include <string.h>

#include "base/large.h"
#include "base/map.h"
#include "scan/dominators.h"

#define NONE       UINT32_MAX
#define BLOCKS_MAX (UINT32_C(1) << 31) // vertices, too
#define AHEAD      16u                 // places that are asked for before they are needed

// What is needed together lies together: the work is bound by memory, not by arithmetic. Of predecessors only
// those with a higher number are kept, in a list for each vertex: the others count when they are met, for a
// vertex with a lower number leads to its semidominator by itself.
struct place {
    uint32_t parent; // later the ancestor in the compressed forest
    uint32_t semi;
    uint32_t label;
    uint32_t later; // the first in its list of predecessors with higher numbers; NONE: no more
};

struct later {
    uint32_t from;
    uint32_t next;
};

struct tree {
    const struct seep_graph *graph;
    uint32_t nr_vertices; // without the top
    uint32_t nr_blocks;
    uint32_t *root_order; // indices of roots, by holder
    uint64_t *root_first; // by holder, and one more
    uint32_t *number;     // by vertex
    uint32_t *vertex;     // by number
    uint32_t nr;          // numbers given
    uint32_t *idom;       // by number, as are the following; the parent at first
    struct place *places;
    uint64_t *cursor; // while numbering: how many successors were looked at
    struct later *later;
    size_t nr_later;
    size_t later_capacity;
    uint32_t *path; // of eval
    size_t path_capacity;
};

// ---- the graph with holders ----

static bool is_lost(uint8_t kind) {
    return kind == SEEP_KIND_LOST || kind == SEEP_KIND_INDIRECT;
}

// The next successor of `vertex` from *cursor on; NONE: no more.
static uint32_t next_successor(const struct tree *tree, uint32_t vertex, uint64_t *cursor) {
    const struct seep_graph *graph = tree->graph;
    if (vertex == tree->nr_vertices) { // the top: holders, then lost blocks
        uint32_t nr_holders = tree->nr_vertices - tree->nr_blocks;
        if (*cursor < nr_holders)
            return tree->nr_blocks + (uint32_t)(*cursor)++;
        while (*cursor - nr_holders < tree->nr_blocks) {
            uint32_t block = (uint32_t)((*cursor)++ - nr_holders);
            if (graph->kinds[block] == SEEP_KIND_LOST)
                return block;
        }
        return NONE;
    }
    if (vertex >= tree->nr_blocks) {
        uint64_t at = tree->root_first[vertex - tree->nr_blocks] + *cursor;
        if (at >= tree->root_first[vertex - tree->nr_blocks + 1])
            return NONE;
        (*cursor)++;
        return graph->roots[tree->root_order[at]].target;
    }
    bool lost = is_lost(graph->kinds[vertex]);
    while (graph->first_edge[vertex] + *cursor < graph->first_edge[vertex + 1]) {
        uint32_t target = graph->edges[graph->first_edge[vertex] + (*cursor)++].target;
        if (!lost || is_lost(graph->kinds[target]))
            return target;
    }
    return NONE;
}

static bool sort_roots(struct tree *tree, const uint32_t *holders, uint32_t nr_holders) {
    size_t nr_roots = tree->graph->nr_roots;
    tree->root_order = malloc(SEEP_MAX(nr_roots, (size_t)1) * sizeof(*tree->root_order));
    tree->root_first = calloc((size_t)nr_holders + 2, sizeof(*tree->root_first));
    if (!tree->root_order || !tree->root_first)
        return false;
    // Counted one place further on, so that placing them leaves the starts.
    uint64_t *next = tree->root_first + 1;
    for (size_t i = 0; i < nr_roots; i++)
        if (holders[i] + 1 < nr_holders)
            next[holders[i] + 1]++;
    for (uint32_t h = 1; h < nr_holders; h++)
        next[h] += next[h - 1];
    for (size_t i = 0; i < nr_roots; i++)
        tree->root_order[next[holders[i]]++] = (uint32_t)i;
    return true;
}

// ---- numbers ----

// What is to be looked at next is asked for before it is: nearly every look misses the caches.
static void ask_for_successors(const struct tree *tree, uint32_t vertex) {
    const struct seep_graph *graph = tree->graph;
    uint64_t first = graph->first_edge[vertex];
    uint64_t last = SEEP_MIN(graph->first_edge[vertex + 1], first + AHEAD);
    for (uint64_t e = first; e < last; e++) {
        uint32_t target = graph->edges[e].target;
        __builtin_prefetch(&tree->number[target]);
        __builtin_prefetch(&graph->first_edge[target]);
        __builtin_prefetch(&graph->kinds[target]);
    }
}

static void enter(struct tree *tree, uint32_t vertex, uint32_t parent) {
    uint32_t number = tree->nr++;
    if (vertex < tree->nr_blocks)
        ask_for_successors(tree, vertex);
    tree->vertex[number] = vertex;
    tree->idom[number] = parent;
    tree->places[number] = (struct place){parent, parent, number, NONE};
    tree->cursor[number] = 0;
    if (vertex < tree->nr_vertices)
        tree->number[vertex] = number;
}

static bool add_later(struct tree *tree, uint32_t to, uint32_t from) {
    if (tree->nr_later == tree->later_capacity) {
        size_t capacity = tree->later_capacity + tree->later_capacity / 2 + 1024;
        struct later *larger = realloc(tree->later, capacity * sizeof(*larger));
        if (!larger || capacity >= NONE) {
            tree->later = larger ? larger : tree->later;
            return false;
        }
        seep_large_advise(larger, capacity * sizeof(*larger));
        tree->later = larger;
        tree->later_capacity = capacity;
    }
    tree->later[tree->nr_later] = (struct later){from, tree->places[to].later};
    tree->places[to].later = (uint32_t)tree->nr_later++;
    return true;
}

// false: out of memory.
static bool number_all(struct tree *tree) {
    enter(tree, tree->nr_vertices, 0);
    for (uint32_t now = 0;;) {
        uint32_t next = next_successor(tree, tree->vertex[now], &tree->cursor[now]);
        if (next == NONE) {
            if (now == 0)
                return true;
            now = tree->idom[now];
            continue;
        }
        uint32_t number = tree->number[next];
        if (number == NONE) {
            enter(tree, next, now);
            now = tree->nr - 1;
        } else if (number < now) {
            if (!add_later(tree, number, now))
                return false;
        } else if (number > now && tree->places[number].semi > now) {
            tree->places[number].semi = now;
        }
    }
}

// ---- semidominators ----

// The one with the least semidominator on the path from `v` up to where `linked` begins, which gets
// shorter for the next time. false: out of memory.
static bool eval(struct tree *tree, uint32_t v, uint32_t linked, uint32_t *ret_label) {
    struct place *places = tree->places;
    size_t nr_path = 0;
    uint32_t top = v;
    for (; places[top].parent >= linked; top = places[top].parent) {
        if (nr_path == tree->path_capacity &&
            !seep_grow(&tree->path, &tree->path_capacity, nr_path + 1, sizeof(*tree->path)))
            return false;
        tree->path[nr_path++] = top;
    }
    uint32_t best = places[top].label, above = places[top].parent;
    while (nr_path > 0) {
        struct place *lower = &places[tree->path[--nr_path]];
        lower->parent = above;
        if (places[best].semi < places[lower->label].semi)
            lower->label = best;
        else
            best = lower->label;
    }
    *ret_label = places[v].label;
    return true;
}

static bool find_dominators(struct tree *tree) {
    struct place *places = tree->places;
    for (uint32_t i = tree->nr - 1; i > 0; i--) {
        uint32_t semi = places[i].semi;
        if (i > 2 * AHEAD && places[i - 2 * AHEAD].later != NONE)
            __builtin_prefetch(&tree->later[places[i - 2 * AHEAD].later]);
        if (i > AHEAD && places[i - AHEAD].later != NONE)
            __builtin_prefetch(&places[tree->later[places[i - AHEAD].later].from]);
        for (uint32_t l = places[i].later; l != NONE; l = tree->later[l].next) {
            uint32_t label;
            if (!eval(tree, tree->later[l].from, i + 1, &label))
                return false;
            semi = SEEP_MIN(semi, places[label].semi);
        }
        places[i].semi = semi;
    }
    for (uint32_t i = 1; i < tree->nr; i++)
        while (tree->idom[i] > places[i].semi)
            tree->idom[i] = tree->idom[tree->idom[i]];
    return true;
}

// ---- the result ----

// Sums by number first, where a vertex lies near to its dominator; the places are not needed any more.
static bool sum_up(struct tree *tree, struct seep_dominated *ret_items) {
    struct sum {
        uint64_t bytes;
        uint32_t blocks;
    } *sums = seep_large_alloc(tree->nr, sizeof(*sums));
    if (!sums)
        return false;
    memset(sums, 0, tree->nr * sizeof(*sums));
    uint32_t last_block = tree->nr_blocks ? tree->nr_blocks - 1 : 0;
    for (uint32_t i = tree->nr - 1; i > 0; i--) {
        uint32_t vertex = tree->vertex[i], above = tree->idom[i];
        if (i > AHEAD) {
            __builtin_prefetch(&tree->graph->blocks[SEEP_MIN(tree->vertex[i - AHEAD], last_block)].size);
            __builtin_prefetch(&ret_items[tree->vertex[i - AHEAD]], 1);
        }
        if (vertex < tree->nr_blocks) {
            sums[i].bytes += tree->graph->blocks[vertex].size;
            sums[i].blocks++;
        }
        ret_items[vertex] = (struct seep_dominated){sums[i].bytes, sums[i].blocks, tree->vertex[above]};
        sums[above].bytes += sums[i].bytes;
        sums[above].blocks += sums[i].blocks;
    }
    free(sums);
    return true;
}

static void release(struct tree *tree) {
    free(tree->root_order);
    free(tree->root_first);
    free(tree->number);
    free(tree->vertex);
    free(tree->idom);
    free(tree->places);
    free(tree->cursor);
    free(tree->later);
    free(tree->path);
}

static bool work(struct tree *tree, const uint32_t *holders, uint32_t nr_holders,
                 struct seep_dominators *dominators) {
    size_t room = (size_t)tree->nr_vertices + 1;
    tree->number = seep_large_alloc(room, sizeof(*tree->number));
    tree->vertex = seep_large_alloc(room, sizeof(*tree->vertex));
    tree->idom = seep_large_alloc(room, sizeof(*tree->idom));
    tree->places = seep_large_alloc(room, sizeof(*tree->places));
    tree->cursor = seep_large_alloc(room, sizeof(*tree->cursor));
    if (!tree->number || !tree->vertex || !tree->idom || !tree->places || !tree->cursor ||
        !sort_roots(tree, holders, nr_holders))
        return false;
    memset(tree->number, 0xff, room * sizeof(*tree->number));
    if (!number_all(tree))
        return false;
    free(tree->cursor);
    tree->cursor = NULL;
    if (!find_dominators(tree))
        return false;
    free(tree->places);
    free(tree->later);
    tree->places = NULL;
    tree->later = NULL;
    dominators->items = seep_large_alloc(room, sizeof(*dominators->items));
    for (uint32_t v = 0; dominators->items && v < tree->nr_vertices; v++)
        dominators->items[v] = (struct seep_dominated){.idom = NONE};
    return dominators->items && sum_up(tree, dominators->items);
}

struct seep_error *seep_dominators_create(const struct seep_graph *graph, const uint32_t *holders,
                                          uint32_t nr_holders, struct seep_dominators **ret_dominators) {
    if (nr_holders >= BLOCKS_MAX || graph->nr_blocks >= BLOCKS_MAX - nr_holders)
        return seep_error_create(SEEP_E_UNSUPPORTED, "%u blocks are more than can be held", graph->nr_blocks);
    struct tree tree = {
        .graph = graph, .nr_blocks = graph->nr_blocks, .nr_vertices = graph->nr_blocks + nr_holders};
    struct seep_dominators *dominators = calloc(1, sizeof(*dominators));
    bool fits = dominators && work(&tree, holders, nr_holders, dominators);
    release(&tree);
    if (!fits) {
        seep_dominators_destroy(dominators);
        return seep_error_no_memory();
    }
    dominators->nr_blocks = tree.nr_blocks;
    dominators->nr_vertices = tree.nr_vertices;
    *ret_dominators = dominators;
    return NULL;
}

void seep_dominators_destroy(struct seep_dominators *dominators) {
    if (!dominators)
        return;
    free(dominators->items);
    free(dominators);
}

// ---- by group ----

struct family {
    uint64_t *first; // children of vertex v, the top being the last: [first[v], first[v + 1])
    uint32_t *children;
    uint32_t *stack; // vertices that are open
    uint64_t *open;  // by group: open blocks
};

static bool find_children(const struct seep_dominators *dominators, struct family *family) {
    size_t room = (size_t)dominators->nr_vertices + 1;
    family->first = calloc(room + 1, sizeof(*family->first));
    family->children = seep_large_alloc(room, sizeof(*family->children));
    family->stack = seep_large_alloc(room + 1, sizeof(*family->stack));
    if (!family->first || !family->children || !family->stack)
        return false;
    for (uint32_t v = 0; v < dominators->nr_vertices; v++)
        if (dominators->items[v].idom != NONE)
            family->first[dominators->items[v].idom]++;
    uint64_t sum = 0; // ends for now, as above
    for (size_t v = 0; v <= room; v++)
        family->first[v] = sum += family->first[v];
    for (uint32_t v = dominators->nr_vertices; v-- > 0;)
        if (dominators->items[v].idom != NONE)
            family->children[--family->first[dominators->items[v].idom]] = v;
    return true;
}

// A walk down the tree of dominators; a vertex is left when the one above it in the stack is.
static void walk_down(const struct seep_dominators *dominators, const struct seep_block *blocks,
                      struct family *family, uint64_t *ret_bytes) {
    const uint32_t leave = BLOCKS_MAX; // marks a vertex in the stack that was entered
    size_t nr = 0;
    family->stack[nr++] = dominators->nr_vertices;
    while (nr > 0) {
        uint32_t v = family->stack[--nr];
        if (v & leave) {
            family->open[blocks[v & ~leave].site]--;
            continue;
        }
        if (v < dominators->nr_blocks) {
            if (family->open[blocks[v].site]++ == 0)
                ret_bytes[blocks[v].site] += dominators->items[v].bytes;
            family->stack[nr++] = v | leave;
        }
        for (uint64_t c = family->first[v]; c < family->first[v + 1]; c++)
            family->stack[nr++] = family->children[c];
    }
}

struct seep_error *seep_dominators_by_site(const struct seep_dominators *dominators,
                                           const struct seep_block *blocks, uint32_t nr_sites,
                                           uint64_t *ret_bytes) {
    struct family family = {.open = calloc(SEEP_MAX(nr_sites, 1u), sizeof(*family.open))};
    memset(ret_bytes, 0, nr_sites * sizeof(*ret_bytes));
    bool fits = family.open && find_children(dominators, &family);
    if (fits)
        walk_down(dominators, blocks, &family, ret_bytes);
    free(family.first);
    free(family.children);
    free(family.stack);
    free(family.open);
    return fits ? NULL : seep_error_no_memory();
}
