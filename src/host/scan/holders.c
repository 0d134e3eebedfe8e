// SPDX-License-Identifier: BSD-2-Clause
// Who holds the blocks of each site, and who holds most, see holders.h.
#include <stdlib.h>
#include <string.h>

#include "process/own_root.h"
#include "base/sum.h"
#include "base/map.h"
#include "scan/holders.h"
#include "scan/all_pointers.h"

// ---- sites ----

struct choice {
    uint32_t site;
    uint32_t block;
    uint64_t size;
};

static int larger_first(const void *left, const void *right) {
    const struct choice *a = left, *b = right;
    return a->size != b->size ? (a->size < b->size) - (a->size > b->size)
                              : (a->site > b->site) - (a->site < b->site);
}

// The largest block of each site, of its held_kind. *ret_choices is malloc'ed.
static struct seep_error *choose(const struct seep_profile *profile, struct choice **ret_choices,
                                 size_t *ret_nr) {
    struct choice *choices = calloc(SEEP_MAX(profile->nr_sites, 1u), sizeof(*choices));
    if (!choices)
        return seep_error_no_memory();
    for (uint32_t i = 0; i < profile->nr_sites; i++)
        choices[i] = (struct choice){i, SEEP_NO_BLOCK, 0};
    for (size_t i = 0; i < profile->nr_blocks; i++) {
        struct choice *choice = &choices[profile->blocks[i].site];
        if (profile->block_kinds[i] != profile->sites[choice->site].held_kind)
            continue;
        if (choice->block == SEEP_NO_BLOCK || profile->blocks[i].size > choice->size) {
            choice->block = (uint32_t)i;
            choice->size = profile->blocks[i].size;
        }
    }
    size_t nr = 0;
    for (uint32_t i = 0; i < profile->nr_sites; i++) {
        if (choices[i].block == SEEP_NO_BLOCK)
            continue;
        choices[nr] = choices[i];
        choices[nr++].size = profile->sites[i].live_bytes;
    }
    qsort(choices, nr, sizeof(*choices), larger_first);
    *ret_choices = choices;
    *ret_nr = nr;
    return NULL;
}

// ---- holders of the blocks of a site ----

struct group {
    uint32_t site;
    uint32_t rank; // of the site, among those of which chains are kept
    uint8_t kind;
    bool is_rooted;
    bool has_many_roots; // several words of the holder lead to its blocks
    uint32_t root;       // one of them
    uint32_t block;      // the largest
    uint64_t blocks;
    uint64_t bytes;
};

static int most_blocks_first(const void *left, const void *right) {
    const struct group *a = left, *b = right;
    if (a->rank != b->rank)
        return (a->rank > b->rank) - (a->rank < b->rank);
    if (a->kind != b->kind)
        return (a->kind > b->kind) - (a->kind < b->kind);
    if (a->blocks != b->blocks)
        return (a->blocks < b->blocks) - (a->blocks > b->blocks);
    return a->bytes != b->bytes ? (a->bytes < b->bytes) - (a->bytes > b->bytes)
                                : (a->block > b->block) - (a->block < b->block);
}

// The groups by `rank`, and within a rank as they were. *groups is replaced. A site mostly has one to three
// groups, so what is left to sort is little.
static struct seep_error *sort_groups(struct group **groups, size_t nr, size_t nr_ranks) {
    struct group *sorted = malloc(SEEP_MAX(nr, (size_t)1) * sizeof(*sorted));
    size_t *first = calloc(nr_ranks + 1, sizeof(*first));
    if (!sorted || !first) {
        free(sorted);
        free(first);
        return seep_error_no_memory();
    }
    for (size_t i = 0; i < nr; i++)
        first[(*groups)[i].rank + 1]++;
    for (size_t i = 1; i <= nr_ranks; i++)
        first[i] += first[i - 1];
    for (size_t i = 0; i < nr; i++)
        sorted[first[(*groups)[i].rank]++] = (*groups)[i];
    for (size_t i = 0, end; i < nr; i = end) {
        for (end = i + 1; end < nr && sorted[end].rank == sorted[i].rank; end++)
            continue;
        if (end - i > 1)
            qsort(&sorted[i], end - i, sizeof(*sorted), most_blocks_first);
    }
    free(first);
    free(*groups);
    *groups = sorted;
    return NULL;
}

// By site, and within a site as they are: by class, most blocks first.
static struct seep_error *sort_held(struct seep_leaks *leaks, uint32_t nr_sites) {
    struct seep_held *before = malloc(SEEP_MAX(leaks->nr_held, (size_t)1) * sizeof(*before));
    size_t *first = calloc((size_t)nr_sites + 1, sizeof(*first));
    if (before && first) {
        memcpy(before, leaks->held, leaks->nr_held * sizeof(*before));
        for (size_t i = 0; i < leaks->nr_held; i++)
            first[before[i].site + 1]++;
        for (size_t i = 1; i <= nr_sites; i++)
            first[i] += first[i - 1];
        for (size_t i = 0; i < leaks->nr_held; i++)
            leaks->held[first[before[i].site]++] = before[i];
    }
    struct seep_error *err = before && first ? NULL : seep_error_no_memory();
    free(before);
    free(first);
    return err;
}

// The end of the chain of holders from `block`: held by a root, or lost. `tops` knows those that were found,
// + 1.
static uint32_t top_of(const struct seep_graph *graph, uint32_t block, uint32_t *tops) {
    uint32_t top = block;
    for (size_t steps = 0; steps < graph->nr_blocks; steps++) {
        if (tops[top]) {
            top = tops[top] - 1;
            break;
        }
        if (graph->held_by_root[top] || graph->holder[top] >= graph->nr_blocks)
            break;
        top = graph->holder[top];
    }
    for (uint32_t at = block; at != top && !tops[at]; at = graph->holder[at])
        tops[at] = top + 1;
    return top;
}

// Blocks of one site and class with the same holder are a group. *ret_groups is malloc'ed.
static struct seep_error *group_blocks(const struct seep_profile *profile, const struct seep_graph *graph,
                                       const struct seep_holders *holders, const uint32_t *ranks,
                                       struct group **ret_groups, size_t *ret_nr) {
    struct seep_map ids = SEEP_MAP_INIT; // 1 + the group
    struct group *groups = NULL;
    size_t nr = 0, capacity = 0;
    uint32_t *tops = calloc(SEEP_MAX(profile->nr_blocks, (size_t)1), sizeof(*tops));
    bool fits = tops != NULL;
    for (uint32_t b = 0; fits && b < profile->nr_blocks; b++) {
        uint32_t site = profile->blocks[b].site;
        uint8_t kind = profile->block_kinds[b];
        if (ranks[site] == UINT32_MAX || kind == SEEP_KIND_LOST || kind == SEEP_KIND_UNKNOWN)
            continue;
        uint32_t top = top_of(graph, b, tops);
        bool is_rooted = graph->held_by_root[top];
        uint64_t holder = is_rooted ? holders->of_root[graph->holder[top]] : profile->blocks[top].site;
        uint64_t *id = seep_map_at(
            &ids, (uint64_t)ranks[site] << 48 | (uint64_t)kind << 40 | (uint64_t)is_rooted << 36 | holder,
            NULL);
        fits = id && (*id || seep_grow(&groups, &capacity, nr + 1, sizeof(*groups)));
        if (fits && !*id) {
            groups[nr] = (struct group){.site = site, .rank = ranks[site], .kind = kind, .block = b};
            *id = ++nr;
        }
        struct group *group = fits ? &groups[*id - 1] : NULL;
        if (!group)
            break;
        uint32_t root = is_rooted ? graph->holder[top] : 0;
        group->has_many_roots |= group->blocks && is_rooted && root != group->root;
        group->is_rooted = is_rooted;
        group->root = root;
        group->blocks++;
        seep_add_up(&group->bytes, profile->blocks[b].size);
        if (profile->blocks[b].size > profile->blocks[group->block].size)
            group->block = b;
    }
    free(tops);
    seep_map_deinit(&ids);
    if (!fits) {
        free(groups);
        return seep_error_no_memory();
    }
    *ret_groups = groups;
    *ret_nr = nr;
    return NULL;
}

// Of several words of a variable the variable itself is told.
static struct seep_error *make_held(struct seep_profile *profile, const struct seep_chains *chains,
                                    const struct group *group, const struct seep_chain **ret_chain) {
    struct seep_error *err = seep_chains_make(chains, group->block, false, &profile->arena, ret_chain);
    if (err || !*ret_chain || !group->has_many_roots)
        return err;
    const struct seep_chain *one = *ret_chain;
    struct seep_chain *made = seep_arena_alloc(&profile->arena, 1, sizeof(*made));
    struct seep_link *links = seep_arena_alloc(&profile->arena, one->nr_links, sizeof(*links));
    if (!made || !links)
        return seep_error_no_memory();
    memcpy(links, one->links, one->nr_links * sizeof(*links));
    links[0] = seep_chains_root(chains, &chains->graph->roots[group->root], true);
    *made = (struct seep_chain){links, one->nr_links};
    *ret_chain = made;
    return NULL;
}

// The first SEEP_HELD_MAX groups of each site and class, of all SEEP_HELD_SITES_MAX at most.
static struct seep_error *keep_held(struct seep_profile *profile, const struct seep_chains *chains,
                                    const struct choice *choices, const struct group *groups, size_t nr) {
    struct seep_leaks *leaks = &profile->leaks;
    size_t most = SEEP_MIN(nr, (size_t)SEEP_HELD_SITES_MAX);
    struct seep_error *err = NULL;
    leaks->nr_held = 0;
    leaks->held = seep_arena_alloc(&profile->arena, SEEP_MAX(most, (size_t)1), sizeof(*leaks->held));
    if (!leaks->held)
        return seep_error_no_memory();
    for (size_t i = 0, in_class = 0; i < nr && leaks->nr_held < most && !err; i++) {
        const struct group *group = &groups[i];
        in_class = i && group->rank == group[-1].rank && group->kind == group[-1].kind ? in_class + 1 : 0;
        if (in_class >= SEEP_HELD_MAX)
            continue;
        struct seep_held *held = &leaks->held[leaks->nr_held++];
        *held = (struct seep_held){group->site, group->kind, group->blocks, group->bytes, NULL};
        if (choices[group->rank].block == group->block && !group->has_many_roots)
            held->chain = profile->sites[group->site].held;
        else
            err = make_held(profile, chains, group, &held->chain);
    }
    return err ? err : sort_held(leaks, profile->nr_sites);
}

static struct seep_error *describe_sites(struct seep_profile *profile, const struct seep_chains *chains,
                                         const struct seep_holders *holders) {
    struct choice *choices = NULL;
    struct group *groups = NULL;
    size_t nr = 0, nr_groups = 0;
    uint32_t *ranks = malloc(SEEP_MAX(profile->nr_sites, 1u) * sizeof(*ranks));
    struct seep_error *err = ranks ? choose(profile, &choices, &nr) : seep_error_no_memory();
    nr = SEEP_MIN(nr, (size_t)SEEP_HELD_SITES_MAX);
    if (ranks)
        memset(ranks, 0xff, profile->nr_sites * sizeof(*ranks));
    for (size_t i = 0; !err && i < nr; i++) {
        ranks[choices[i].site] = (uint32_t)i;
        err = seep_chains_make(chains, choices[i].block, false, &profile->arena,
                               &profile->sites[choices[i].site].held);
    }
    if (!err)
        err = group_blocks(profile, chains->graph, holders, ranks, &groups, &nr_groups);
    if (!err)
        err = sort_groups(&groups, nr_groups, nr);
    if (!err)
        err = keep_held(profile, chains, choices, groups, nr_groups);
    free(groups);
    free(choices);
    free(ranks);
    return err;
}

// ---- who holds most ----

struct candidate {
    uint64_t bytes;
    uint32_t vertex;
};

static int more_bytes_first(const void *left, const void *right) {
    const struct candidate *a = left, *b = right;
    return a->bytes != b->bytes ? (a->bytes < b->bytes) - (a->bytes > b->bytes)
                                : (a->vertex > b->vertex) - (a->vertex < b->vertex);
}

// The vertices right below the top, but for lost blocks: those have no holder. Sorted.
static struct seep_error *find_candidates(const struct seep_graph *graph,
                                          const struct seep_dominators *dominators,
                                          struct candidate **ret_candidates, size_t *ret_nr) {
    size_t nr = 0, room = 0;
    for (uint32_t v = 0; v < dominators->nr_vertices; v++)
        room += dominators->items[v].idom == dominators->nr_vertices;
    struct candidate *candidates = malloc(SEEP_MAX(room, (size_t)1) * sizeof(*candidates));
    if (!candidates)
        return seep_error_no_memory();
    for (uint32_t v = 0; v < dominators->nr_vertices; v++) {
        bool lost = v < graph->nr_blocks && graph->kinds[v] == SEEP_KIND_LOST;
        if (dominators->items[v].idom == dominators->nr_vertices && dominators->items[v].bytes && !lost)
            candidates[nr++] = (struct candidate){dominators->items[v].bytes, v};
    }
    qsort(candidates, nr, sizeof(*candidates), more_bytes_first);
    *ret_candidates = candidates;
    *ret_nr = nr;
    return NULL;
}

// A block that is right below the top has several holders: one of them is named.
static struct seep_error *make_candidate(struct seep_profile *profile, const struct seep_chains *chains,
                                         const struct seep_holders *holders, uint32_t vertex,
                                         const struct seep_chain **ret_chain) {
    uint32_t nr_blocks = chains->graph->nr_blocks;
    if (vertex < nr_blocks)
        return seep_chains_make(chains, vertex, true, &profile->arena, ret_chain);
    struct seep_chain *chain = seep_arena_alloc(&profile->arena, 1, sizeof(*chain));
    struct seep_link *link = seep_arena_alloc(&profile->arena, 1, sizeof(*link));
    if (!chain || !link)
        return seep_error_no_memory();
    const struct seep_root_edge *root = &chains->graph->roots[holders->first[vertex - nr_blocks]];
    bool is_word = holders->by_word && chains->ranges->items[root->range].kind == SEEP_ROOT_DATA;
    *link = seep_chains_root(chains, root, !is_word);
    *chain = (struct seep_chain){link, 1};
    *ret_chain = chain;
    return NULL;
}

static struct seep_error *describe_holders(struct seep_profile *profile, const struct seep_chains *chains,
                                           const struct seep_holders *holders) {
    struct candidate *candidates = NULL;
    size_t nr = 0;
    struct seep_error *err = find_candidates(chains->graph, holders->dominators, &candidates, &nr);
    if (err)
        return err;
    struct seep_leaks *leaks = &profile->leaks;
    leaks->nr_holders_all = nr;
    nr = SEEP_MIN(nr, (size_t)SEEP_TOP_HOLDERS_MAX);
    leaks->holders = seep_arena_alloc(&profile->arena, SEEP_MAX(nr, (size_t)1), sizeof(*leaks->holders));
    if (!leaks->holders)
        err = seep_error_no_memory();
    for (size_t i = 0; !err && i < nr; i++) {
        uint32_t vertex = candidates[i].vertex;
        struct seep_holder *holder = &leaks->holders[i];
        err = make_candidate(profile, chains, holders, vertex, &holder->chain);
        holder->bytes = holders->dominators->items[vertex].bytes;
        holder->blocks = holders->dominators->items[vertex].blocks;
        leaks->nr_holders += !err;
    }
    free(candidates);
    return err;
}

static struct seep_error *add_retained(struct seep_profile *profile,
                                       const struct seep_dominators *dominators) {
    uint64_t *bytes = calloc(SEEP_MAX(profile->nr_sites, 1u), sizeof(*bytes));
    if (!bytes)
        return seep_error_no_memory();
    struct seep_error *err = seep_dominators_by_site(dominators, profile->blocks, profile->nr_sites, bytes);
    for (uint32_t i = 0; !err && i < profile->nr_sites; i++)
        profile->sites[i].retained_bytes = bytes[i];
    free(bytes);
    return err;
}

// ---- groups of roots ----

// One number for all roots of a holder: the start of a variable or of a mapping; else beyond all
// addresses, a thread, or the module whose data has no names: it lies in several ranges, and is told as one.
static struct seep_error *key_of(const struct seep_root_edge *root, const struct seep_chains *chains,
                                 struct seep_symbols *symbols, uint64_t *ret_key) {
    const uint64_t of_thread = UINT64_C(1) << 63, of_tls = UINT64_C(1) << 62, of_module = UINT64_C(1) << 61,
                   of_kernel = UINT64_C(1) << 60;
    const struct seep_root_range *range = &chains->ranges->items[root->range];
    *ret_key = range->start;
    if (range->kind == SEEP_ROOT_EPOLL || range->kind == SEEP_ROOT_TIMER)
        *ret_key = of_kernel | (range->kind == SEEP_ROOT_TIMER ? of_tls : 0) | (uint32_t)range->tid;
    else if (range->kind == SEEP_ROOT_KERNEL)
        *ret_key = of_kernel | of_module | range->start << 32 | (uint32_t)range->tid;
    else if (range->kind == SEEP_ROOT_TLS)
        *ret_key = of_thread | of_tls | (uint32_t)range->tid;
    else if (range->kind != SEEP_ROOT_DATA && range->kind != SEEP_ROOT_MEMORY)
        *ret_key = of_thread | (uint32_t)range->tid;
    if (range->kind != SEEP_ROOT_DATA)
        return NULL;
    if (!symbols) {
        *ret_key = root->address;
        return NULL;
    }
    const struct seep_module *module = &chains->profile->modules[chains->ranges->modules[range->module].id];
    const char *name = NULL;
    uint64_t off = 0;
    unsigned id;
    struct seep_error *err =
        seep_symbols_module(symbols, module->path, module->build_id, module->build_id_bytes, &id);
    if (!err)
        err = seep_symbols_variable(symbols, id, root->address - module->bias_rt, &name, &off);
    if (!err)
        *ret_key = name ? root->address - off : of_module | range->module;
    return err;
}

// Words that may lie in a second range: mappings do not overlap, but what is added to them does. false: out
// of memory.
static bool find_shared_words(const struct seep_chains *chains, struct seep_map *words) {
    const struct seep_graph *graph = chains->graph;
    for (size_t i = 0; i < graph->nr_roots; i++) {
        enum seep_root_kind kind = chains->ranges->items[graph->roots[i].range].kind;
        bool of_mapping = kind == SEEP_ROOT_DATA || kind == SEEP_ROOT_MEMORY;
        if (graph->roots[i].address && !of_mapping && !seep_map_at(words, graph->roots[i].address, NULL))
            return false;
    }
    return true;
}

static struct seep_error *group_roots(const struct seep_chains *chains, struct seep_symbols *symbols,
                                      struct seep_holders *holders) {
    const struct seep_graph *graph = chains->graph;
    struct seep_map ids = SEEP_MAP_INIT, words = SEEP_MAP_INIT; // 1 + the holder, by key and by address
    struct seep_error *err = NULL;
    size_t capacity = 0;
    holders->by_word = !symbols;
    holders->of_root = malloc(SEEP_MAX(graph->nr_roots, (size_t)1) * sizeof(*holders->of_root));
    if (!holders->of_root || !find_shared_words(chains, &words)) {
        seep_map_deinit(&words);
        return seep_error_no_memory();
    }
    for (size_t i = 0; !err && i < graph->nr_roots; i++) {
        uint64_t key, *known = seep_map_find(&words, graph->roots[i].address);
        if (known && *known) { // it lies in two ranges: one word has one holder
            holders->of_root[i] = (uint32_t)(*known - 1);
            continue;
        }
        err = key_of(&graph->roots[i], chains, symbols, &key);
        uint64_t *id = err ? NULL : seep_map_at(&ids, key, NULL);
        if (err)
            break;
        if (!id || (!*id && !seep_grow(&holders->first, &capacity, (size_t)holders->nr + 1,
                                       sizeof(*holders->first)))) {
            err = seep_error_no_memory();
            break;
        }
        if (!*id) {
            holders->first[holders->nr++] = (uint32_t)i;
            *id = holders->nr;
        }
        holders->of_root[i] = (uint32_t)(*id - 1);
        if (known)
            *known = *id;
    }
    seep_map_deinit(&ids);
    seep_map_deinit(&words);
    return err;
}

struct seep_error *seep_holders_variables(pid_t pid, struct seep_symbols **ret_symbols) {
    char root[SEEP_OWN_ROOT_ROOM];
    const struct seep_symbols_options hasty = {.hasty = true,
                                               .no_demangle = true,
                                               .no_debuginfod = true,
                                               .sysroot = seep_process_own_root(pid, root) ? root : NULL};
    return seep_symbols_create(&hasty, ret_symbols);
}

// Symbols tell only which words are one variable. A program may be waiting: nothing is asked of the network.
static struct seep_error *group(const struct seep_chains *chains, struct seep_holders *holders) {
    struct seep_symbols *symbols = NULL;
    if (chains->variables) {
        struct seep_error *err = group_roots(chains, chains->variables, holders);
        seep_symbols_close_files(chains->variables);
        return err;
    }
    const struct seep_process *process = &chains->profile->process;
    pid_t pid = process->exit_kind == SEEP_EXIT_RUNNING ? (pid_t)process->pid : 0; // not that of a core file
    struct seep_error *err = seep_holders_variables(pid, &symbols);
    if (!err)
        err = group_roots(chains, symbols, holders);
    seep_symbols_destroy(symbols);
    return err;
}

// What a thread works with at the moment.
static bool is_passing(const struct seep_chains *chains, uint32_t root) {
    enum seep_root_kind kind = chains->ranges->items[chains->graph->roots[root].range].kind;
    return kind == SEEP_ROOT_STACK || kind == SEEP_ROOT_REGISTERS || kind == SEEP_ROOT_REALLOC;
}

struct seep_error *seep_holders_create(const struct seep_chains *chains, struct seep_holders **ret_holders) {
    struct seep_holders *holders = calloc(1, sizeof(*holders));
    if (!holders)
        return seep_error_no_memory();
    struct seep_error *err = group(chains, holders);
    bool *passing = calloc(SEEP_MAX(holders->nr, 1u), sizeof(*passing));
    if (!err && !passing)
        err = seep_error_no_memory();
    for (uint32_t i = 0; !err && i < holders->nr; i++)
        passing[i] = is_passing(chains, holders->first[i]);
    if (!err)
        err = seep_dominators_create(chains->graph, holders->of_root, passing, holders->nr,
                                     &holders->dominators);
    free(passing);
    if (err) {
        seep_holders_destroy(holders);
        return err;
    }
    *ret_holders = holders;
    return NULL;
}

void seep_holders_destroy(struct seep_holders *holders) {
    if (!holders)
        return;
    free(holders->of_root);
    free(holders->first);
    seep_dominators_destroy(holders->dominators);
    free(holders);
}

struct seep_error *seep_holders_describe(struct seep_profile *profile, const struct seep_chains *chains,
                                         bool keep_pointers) {
    struct seep_holders *holders = NULL;
    struct seep_chains keeping = *chains;
    keeping.known =
        calloc(SEEP_MAX(profile->nr_blocks, (size_t)1), sizeof(*keeping.known)); // or none is kept
    struct seep_error *err = seep_holders_create(chains, &holders);
    if (!err)
        err = describe_sites(profile, &keeping, holders);
    if (!err)
        err = add_retained(profile, holders->dominators);
    if (!err)
        err = describe_holders(profile, &keeping, holders);
    if (!err && keep_pointers)
        err = seep_pointers_keep(profile, &keeping, holders);
    free(keeping.known);
    seep_holders_destroy(holders);
    return err;
}
