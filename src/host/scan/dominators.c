// SPDX-License-Identifier: BSD-2-Clause
// Depth-first numbers, semidominators, nearest common ancestors: see dominators.h. Vertices are named
// by their number in preorder, the top is 0, so a dominator's number is below that of what it dominates.
#include <stdlib.h>
#include <string.h>

#include "base/large.h"
#include "base/map.h"
#include "scan/dominators.h"

#define NONE      UINT32_MAX
#define WORDS_MAX UINT32_MAX // of records; fewer than 2^31 vertices have room there
#define AHEAD     16u        // places that are asked for before they are needed

// The work is bound by memory, not by arithmetic: nearly every look misses the caches. So each pass looks at
// the vertices in an order that is known ahead, and asks for what the next ones need. Only the walk that
// gives the numbers cannot know: all that it needs of a vertex lies in one place, its record, and a record
// names others by their place.
enum { RECORD_NUMBER, RECORD_VERTEX, RECORD_SEMI, RECORD_NR_TARGETS, RECORD_TARGETS };

struct step { // that the walk has still to take
    uint32_t record;
    uint32_t parent; // number
};

struct arc { // between numbers
    uint32_t from;
    uint32_t to;
};

// How a vertex is entered: its semidominator, as far as it is known, and where in `back` those begin that
// lead to it and have a higher number.
struct entry {
    uint32_t semi;
    uint32_t back;
};

// What path compression needs of a vertex: a vertex above it, and the least semidominator from the vertex up
// to there, without that one.
struct place {
    uint32_t above;
    uint32_t least;
};

struct tree {
    const struct seep_graph *graph;
    uint32_t nr_vertices; // without the top
    uint32_t nr_blocks;
    const bool *passing;    // by holder
    uint32_t first_passing; // number of the first of those holders; NONE: there is none
    uint32_t *root_order;   // indices of roots, by holder
    uint64_t *root_first;   // by holder, and one more
    uint32_t *records;
    size_t nr_words; // of them
    uint64_t *seen;  // while walking: a bit for RECORD_TARGETS words; no two records begin in the same ones
    struct step *steps;
    size_t steps_capacity;
    uint32_t nr;           // numbers given
    uint32_t *order;       // by vertex, its record; then by number its record; then by number its vertex
    uint32_t *idom;        // by number, as are the following; the parent at first
    struct entry *entries; // and one more
    uint32_t *back;        // numbers of vertices that lead to one with a lower number, by that
    struct arc *arcs;      // the same until they are sorted
    size_t nr_arcs;
    size_t arcs_capacity;
    struct place *places;
    uint32_t *path; // of eval
    size_t path_capacity;
};

// ---- the graph with holders ----

static bool is_lost(uint8_t kind) {
    return kind == SEEP_KIND_LOST || kind == SEEP_KIND_INDIRECT;
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

// Where each record begins. Of a lost block it may get shorter than that.
static void place_records(struct tree *tree) {
    const struct seep_graph *graph = tree->graph;
    uint32_t nr_lost = 0, at = 0;
    for (uint32_t b = 0; b < tree->nr_blocks; b++) {
        tree->order[b] = at;
        at += RECORD_TARGETS + (uint32_t)(graph->first_edge[b + 1] - graph->first_edge[b]);
        nr_lost += graph->kinds[b] == SEEP_KIND_LOST;
    }
    uint32_t nr_holders = tree->nr_vertices - tree->nr_blocks;
    for (uint32_t h = 0; h < nr_holders; h++) {
        tree->order[tree->nr_blocks + h] = at;
        at += RECORD_TARGETS + (uint32_t)(tree->root_first[h + 1] - tree->root_first[h]);
    }
    tree->order[tree->nr_vertices] = at;
    tree->nr_words = at + RECORD_TARGETS + nr_holders + nr_lost;
}

static uint32_t *begin_record(struct tree *tree, uint32_t vertex) {
    uint32_t *record = &tree->records[tree->order[vertex]];
    record[RECORD_NUMBER] = NONE;
    record[RECORD_VERTEX] = vertex;
    record[RECORD_NR_TARGETS] = 0;
    return record;
}

static void add_target(struct tree *tree, uint32_t *record, uint32_t target) {
    record[RECORD_TARGETS + record[RECORD_NR_TARGETS]++] = tree->order[target];
}

static void fill_block_records(struct tree *tree) {
    const struct seep_graph *graph = tree->graph;
    for (uint32_t b = 0; b < tree->nr_blocks; b++) {
        uint32_t *record = begin_record(tree, b);
        bool lost = is_lost(graph->kinds[b]);
        for (uint64_t e = graph->first_edge[b]; e < graph->first_edge[b + 1]; e++) {
            uint32_t target = graph->edges[e].target;
            if (e + 2 * AHEAD < graph->nr_edges)
                __builtin_prefetch(&tree->order[graph->edges[e + 2 * AHEAD].target]);
            if (target != b && (!lost || is_lost(graph->kinds[target])))
                add_target(tree, record, target);
        }
    }
}

static void fill_records(struct tree *tree) {
    fill_block_records(tree);
    uint32_t *top = begin_record(tree, tree->nr_vertices);
    for (uint32_t v = tree->nr_blocks; v < tree->nr_vertices; v++) {
        uint32_t *record = begin_record(tree, v);
        uint32_t holder = v - tree->nr_blocks;
        for (uint64_t r = tree->root_first[holder]; r < tree->root_first[holder + 1]; r++)
            add_target(tree, record, tree->graph->roots[tree->root_order[r]].target);
    }
    // Passing holders come last, so that blocks that a lasting holder leads to have the lower numbers.
    for (int passing = 0; passing < 2; passing++)
        for (uint32_t v = tree->nr_blocks; v < tree->nr_vertices; v++)
            if (tree->passing[v - tree->nr_blocks] == passing)
                add_target(tree, top, v);
    for (uint32_t b = 0; b < tree->nr_blocks; b++)
        if (tree->graph->kinds[b] == SEEP_KIND_LOST)
            add_target(tree, top, b);
}

// ---- numbers ----

static bool is_passing(const struct tree *tree, uint32_t vertex) {
    return vertex >= tree->nr_blocks && vertex < tree->nr_vertices && tree->passing[vertex - tree->nr_blocks];
}

static bool is_seen(const struct tree *tree, uint32_t record) {
    return tree->seen[record / (64 * RECORD_TARGETS)] >> (record / RECORD_TARGETS % 64) & 1;
}

// Depth first: of several steps to a vertex the latest is taken first, and it is the one from furthest down.
// false: out of memory.
static bool number_all(struct tree *tree) {
    size_t nr_steps = 0;
    if (!seep_large_grow(&tree->steps, &tree->steps_capacity, sizeof(*tree->steps)))
        return false;
    tree->steps[nr_steps++] = (struct step){tree->order[tree->nr_vertices], 0};
    while (nr_steps > 0) {
        struct step step = tree->steps[--nr_steps];
        if (is_seen(tree, step.record))
            continue;
        tree->seen[step.record / (64 * RECORD_TARGETS)] |= UINT64_C(1) << (step.record / RECORD_TARGETS % 64);
        uint32_t number = tree->nr++;
        uint32_t *record = &tree->records[step.record];
        if (tree->first_passing == NONE && is_passing(tree, record[RECORD_VERTEX]))
            tree->first_passing = number;
        record[RECORD_NUMBER] = number;
        record[RECORD_SEMI] = step.parent;
        tree->order[number] = step.record;
        tree->idom[number] = step.parent;
        const uint32_t *targets = &record[RECORD_TARGETS];
        uint32_t nr_targets = record[RECORD_NR_TARGETS];
        while (tree->steps_capacity - nr_steps < nr_targets)
            if (!seep_large_grow(&tree->steps, &tree->steps_capacity, sizeof(*tree->steps)))
                return false;
        for (uint32_t t = 0; t < nr_targets; t++) // the looks at `seen` miss, too: both at the same time
            __builtin_prefetch(&tree->records[targets[t]], 1);
        for (uint32_t t = nr_targets; t-- > 0;) {
            if (is_seen(tree, targets[t]))
                continue;
            tree->steps[nr_steps++] = (struct step){targets[t], number};
        }
    }
    return true;
}

// ---- arcs ----

static uint32_t *record_of(const struct tree *tree, uint32_t number) {
    return &tree->records[tree->order[number]];
}

// Of each vertex: a vertex with a lower number leads to the semidominator by itself; those with higher
// numbers are kept. When the numbers come to a vertex, all that are lower have been at its record.
static bool take_arcs(struct tree *tree) {
    for (uint32_t i = 0; i < tree->nr; i++) {
        if (i + 2 * AHEAD < tree->nr)
            __builtin_prefetch(record_of(tree, i + 2 * AHEAD), 1);
        if (i + AHEAD < tree->nr) {
            const uint32_t *ahead = record_of(tree, i + AHEAD);
            for (uint32_t t = 0; t < ahead[RECORD_NR_TARGETS]; t++)
                __builtin_prefetch(&tree->records[ahead[RECORD_TARGETS + t]], 1);
        }
        const uint32_t *record = record_of(tree, i);
        for (uint32_t t = 0; t < record[RECORD_NR_TARGETS]; t++) {
            uint32_t *target = &tree->records[record[RECORD_TARGETS + t]];
            if (target[RECORD_NUMBER] > i) {
                target[RECORD_SEMI] = SEEP_MIN(target[RECORD_SEMI], i);
                continue;
            }
            if (i >= tree->first_passing && target[RECORD_NUMBER] < tree->first_passing)
                continue; // what lasts holds it
            if (tree->nr_arcs == tree->arcs_capacity &&
                !seep_large_grow(&tree->arcs, &tree->arcs_capacity, sizeof(*tree->arcs)))
                return false;
            tree->arcs[tree->nr_arcs++] = (struct arc){i, target[RECORD_NUMBER]};
        }
        tree->entries[i] = (struct entry){record[RECORD_SEMI], 0};
        tree->order[i] = record[RECORD_VERTEX];
    }
    return true;
}

static void sort_arcs(struct tree *tree) {
    for (size_t a = 0; a < tree->nr_arcs; a++) {
        if (a + AHEAD < tree->nr_arcs)
            __builtin_prefetch(&tree->entries[tree->arcs[a + AHEAD].to], 1);
        tree->entries[tree->arcs[a].to].back++;
    }
    uint32_t sum = 0; // ends at first, so that placing them leaves the starts
    for (uint32_t i = 0; i < tree->nr; i++)
        tree->entries[i].back = sum += tree->entries[i].back;
    tree->entries[tree->nr].back = sum;
    for (size_t a = tree->nr_arcs; a-- > 0;) {
        if (a >= 2 * AHEAD)
            __builtin_prefetch(&tree->entries[tree->arcs[a - 2 * AHEAD].to], 1);
        if (a >= AHEAD)
            __builtin_prefetch(&tree->back[tree->entries[tree->arcs[a - AHEAD].to].back - 1], 1);
        tree->back[--tree->entries[tree->arcs[a].to].back] = tree->arcs[a].from;
    }
}

// ---- semidominators ----

// The least semidominator on the path from `v` up to where `linked` begins, which gets shorter for the next
// time. false: out of memory.
static bool eval(struct tree *tree, uint32_t v, uint32_t linked, uint32_t *ret_least) {
    struct place *places = tree->places;
    size_t nr_path = 0;
    uint32_t top = v;
    for (; places[top].above >= linked; top = places[top].above) {
        if (nr_path == tree->path_capacity &&
            !seep_grow(&tree->path, &tree->path_capacity, nr_path + 1, sizeof(*tree->path)))
            return false;
        tree->path[nr_path++] = top;
    }
    uint32_t least = places[top].least, above = places[top].above;
    while (nr_path > 0) {
        struct place *lower = &places[tree->path[--nr_path]];
        least = SEEP_MIN(least, lower->least);
        *lower = (struct place){above, least};
    }
    *ret_least = least;
    return true;
}

static bool find_dominators(struct tree *tree) {
    struct place *places = tree->places;
    for (uint32_t i = 0; i < tree->nr; i++)
        places[i].above = tree->idom[i];
    for (uint32_t i = tree->nr - 1; i > 0; i--) {
        uint32_t semi = tree->entries[i].semi;
        for (uint32_t b = tree->entries[i + 1].back; b-- > tree->entries[i].back;) {
            if (b >= 3 * AHEAD) {
                __builtin_prefetch(&places[tree->back[b - 3 * AHEAD]]);
                __builtin_prefetch(&places[places[tree->back[b - 2 * AHEAD]].above]);
                __builtin_prefetch(&places[places[places[tree->back[b - AHEAD]].above].above]);
            }
            uint32_t least;
            if (!eval(tree, tree->back[b], i + 1, &least))
                return false;
            semi = SEEP_MIN(semi, least);
        }
        tree->entries[i].semi = places[i].least = semi;
    }
    for (uint32_t i = 1; i < tree->nr; i++)
        while (tree->idom[i] > tree->entries[i].semi)
            tree->idom[i] = tree->idom[tree->idom[i]];
    return true;
}

// ---- the result ----

// Each block counts for itself at first, then what is below it is added from the last number on.
static void sum_up(const struct tree *tree, struct seep_dominated *ret_items) {
    for (uint32_t v = 0; v < tree->nr_vertices; v++)
        ret_items[v] = v < tree->nr_blocks ? (struct seep_dominated){tree->graph->blocks[v].size, 1, NONE}
                                           : (struct seep_dominated){0, 0, NONE};
    ret_items[tree->nr_vertices] = (struct seep_dominated){0, 0, NONE};
    for (uint32_t i = tree->nr - 1; i > 0; i--) {
        if (i > AHEAD) {
            __builtin_prefetch(&ret_items[tree->order[i - AHEAD]], 1);
            __builtin_prefetch(&ret_items[tree->order[tree->idom[i - AHEAD]]], 1);
        }
        if (i > 2 * AHEAD)
            __builtin_prefetch(&tree->order[tree->idom[i - 2 * AHEAD]]);
        struct seep_dominated *item = &ret_items[tree->order[i]];
        item->idom = tree->order[tree->idom[i]];
        ret_items[item->idom].bytes += item->bytes;
        ret_items[item->idom].blocks += item->blocks;
    }
    for (uint32_t v = 0; v < tree->nr_vertices && tree->nr <= tree->nr_vertices; v++)
        if (ret_items[v].idom == NONE) // nothing leads to it
            ret_items[v] = (struct seep_dominated){0, 0, NONE};
}

// ---- all of it ----

static void release(struct tree *tree) {
    free(tree->root_order);
    free(tree->root_first);
    free(tree->records);
    free(tree->seen);
    free(tree->steps);
    free(tree->order);
    free(tree->idom);
    free(tree->entries);
    free(tree->back);
    free(tree->arcs);
    free(tree->places);
    free(tree->path);
}

static bool walk(struct tree *tree, const uint32_t *holders, uint32_t nr_holders) {
    size_t room = (size_t)tree->nr_vertices + 1;
    tree->order = seep_large_alloc(room, sizeof(*tree->order));
    if (!tree->order || !sort_roots(tree, holders, nr_holders))
        return false;
    place_records(tree);
    tree->records = seep_large_alloc(tree->nr_words, sizeof(*tree->records));
    tree->seen = calloc(tree->nr_words / (64 * RECORD_TARGETS) + 1, sizeof(*tree->seen));
    tree->idom = seep_large_alloc(room, sizeof(*tree->idom));
    if (!tree->records || !tree->seen || !tree->idom)
        return false;
    fill_records(tree);
    if (!number_all(tree))
        return false;
    free(tree->seen);
    tree->seen = NULL;
    free(tree->steps);
    tree->steps = NULL;
    return true;
}

static bool work(struct tree *tree, const uint32_t *holders, uint32_t nr_holders,
                 struct seep_dominators *dominators) {
    if (!walk(tree, holders, nr_holders))
        return false;
    tree->entries = seep_large_alloc((size_t)tree->nr + 1, sizeof(*tree->entries));
    if (!tree->entries || !take_arcs(tree))
        return false;
    free(tree->records);
    tree->records = NULL;
    tree->back = seep_large_alloc(tree->nr_arcs, sizeof(*tree->back));
    if (!tree->back)
        return false;
    sort_arcs(tree);
    free(tree->arcs);
    tree->arcs = NULL;
    tree->places = seep_large_alloc(tree->nr, sizeof(*tree->places));
    if (!tree->places || !find_dominators(tree))
        return false;
    free(tree->entries);
    tree->entries = NULL;
    free(tree->back);
    tree->back = NULL;
    free(tree->places);
    tree->places = NULL;
    dominators->items = seep_large_alloc((size_t)tree->nr_vertices + 1, sizeof(*dominators->items));
    if (dominators->items)
        sum_up(tree, dominators->items);
    return dominators->items;
}

struct seep_error *seep_dominators_create(const struct seep_graph *graph, const uint32_t *holders,
                                          const bool *passing, uint32_t nr_holders,
                                          struct seep_dominators **ret_dominators) {
    uint64_t nr_words = ((uint64_t)graph->nr_blocks + nr_holders + 1) * (RECORD_TARGETS + 1) +
                        graph->nr_edges + graph->nr_roots;
    if (nr_words >= WORDS_MAX)
        return seep_error_create(SEEP_E_UNSUPPORTED, "%u blocks with %zu pointers are more than can be held",
                                 graph->nr_blocks, graph->nr_edges);
    struct tree tree = {.graph = graph,
                        .passing = passing,
                        .first_passing = NONE,
                        .nr_blocks = graph->nr_blocks,
                        .nr_vertices = graph->nr_blocks + nr_holders};
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
    const uint32_t leave = UINT32_C(1) << 31; // marks a vertex in the stack that was entered
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
