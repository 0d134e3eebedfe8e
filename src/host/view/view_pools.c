// SPDX-License-Identifier: BSD-2-Clause
//
// What a view shows of the program's own pools: the pools by name, and the places that take pieces of
// them. Rows of several processes stay apart. Only the filters on frames apply.
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/sum.h"
#include "view/view_build.h"

static void add_totals(struct seep_pool_totals *into, const struct seep_pool_totals *from) {
    seep_add_up(&into->allocations, from->allocations);
    seep_add_up(&into->allocated_bytes, from->allocated_bytes);
    seep_add_up(&into->frees, from->frees);
    seep_add_up(&into->freed_bytes, from->freed_bytes);
    seep_add_up(&into->live_blocks, from->live_blocks);
    seep_add_up(&into->live_bytes, from->live_bytes);
    seep_add_up(&into->pools_created, from->pools_created);
    seep_add_up(&into->pools_destroyed, from->pools_destroyed);
    seep_add_up(&into->unknown_frees, from->unknown_frees);
}

// ---- pools by name ----------------------------------------------------------------------------------

static int compare_names(const char *a, const char *b) {
    if (!a || !b)
        return (a == NULL) - (b == NULL);
    return strcmp(a, b);
}

static int compare_pool_names(const void *left, const void *right) {
    const struct seep_view_pool *a = left, *b = right;
    int order = compare_names(a->name, b->name);
    if (!order)
        order = (a->nr_pools == 0) - (b->nr_pools == 0);
    return order;
}

static int compare_pool_bytes(const void *left, const void *right) {
    const struct seep_view_pool *a = left, *b = right;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return compare_pool_names(a, b);
}

// Those of one process: one row a pool, and one for pieces of none; then one row a name.
static size_t pools_of(const struct seep_view_part *part, struct seep_view_pool *rows) {
    const struct seep_profile *profile = part->profile;
    size_t nr = (size_t)profile->nr_pools + 1;
    for (uint32_t i = 0; i < profile->nr_pools; i++)
        rows[i] =
            (struct seep_view_pool){.name = profile->pools[i].name, .process = part->process, .nr_pools = 1};
    rows[profile->nr_pools] = (struct seep_view_pool){.process = part->process};
    for (uint32_t i = 0; i < profile->nr_pieces; i++) {
        struct seep_view_pool *row = &rows[SEEP_MIN(profile->pieces[i].pool, profile->nr_pools)];
        row->nr_pieces++;
        seep_add_up(&row->bytes, profile->pieces[i].bytes);
    }
    qsort(rows, nr, sizeof(*rows), compare_pool_names);
    size_t kept = 0;
    for (size_t i = 0; i < nr; i++) {
        if (!rows[i].nr_pools && !rows[i].nr_pieces)
            continue;
        if (kept && compare_pool_names(&rows[kept - 1], &rows[i]) == 0) {
            rows[kept - 1].nr_pools += rows[i].nr_pools;
            rows[kept - 1].nr_pieces += rows[i].nr_pieces;
            seep_add_up(&rows[kept - 1].bytes, rows[i].bytes);
        } else {
            rows[kept++] = rows[i];
        }
    }
    return kept;
}

static struct seep_error *collect_pools(struct seep_view_build *build) {
    struct seep_view *view = build->view;
    size_t most = 0;
    for (size_t p = 0; p < build->nr_parts; p++)
        most += (size_t)build->parts[p].profile->nr_pools + 1;
    view->pools = seep_arena_alloc(&view->arena, most, sizeof(*view->pools));
    if (!view->pools)
        return seep_error_no_memory();
    for (size_t p = 0; p < build->nr_parts; p++) {
        add_totals(&view->pool_totals, &build->parts[p].profile->pool_totals);
        view->nr_pools += pools_of(&build->parts[p], view->pools + view->nr_pools);
    }
    if (view->nr_pools)
        qsort(view->pools, view->nr_pools, sizeof(*view->pools), compare_pool_bytes);
    return NULL;
}

// ---- places -----------------------------------------------------------------------------------------

static int compare_sites(const void *left, const void *right) {
    const struct seep_view_pool_site *a = left, *b = right;
    if (a->live_bytes != b->live_bytes)
        return a->live_bytes > b->live_bytes ? -1 : 1;
    if (a->counters.allocated_bytes != b->counters.allocated_bytes)
        return a->counters.allocated_bytes > b->counters.allocated_bytes ? -1 : 1;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return (a->site > b->site) - (a->site < b->site);
}

static bool is_shown(const struct seep_view_part *part, uint32_t site) {
    const struct seep_site *s = &part->profile->sites[site];
    return seep_via_is_pool(s->via) && part->site_ok[site] && (s->counters.allocations || s->counters.frees);
}

// Of which pools the live pieces of each site are. `rows` are those of one process, in order of sites.
static void name_pools(const struct seep_view_part *part, struct seep_view_pool_site *rows, size_t nr_rows) {
    const struct seep_profile *profile = part->profile;
    for (uint32_t i = 0; i < profile->nr_pieces; i++) {
        const struct seep_piece *piece = &profile->pieces[i];
        const char *name = piece->pool < profile->nr_pools ? profile->pools[piece->pool].name : NULL;
        const size_t low = SEEP_FIRST_WHERE(at, nr_rows, rows[at].site >= piece->site);
        if (low == nr_rows || rows[low].site != piece->site || !name)
            continue;
        if (!rows[low].name && !rows[low].several)
            rows[low].name = name;
        else if (rows[low].name && strcmp(rows[low].name, name) != 0)
            rows[low].several = true;
        if (rows[low].several)
            rows[low].name = NULL;
    }
}

static struct seep_error *collect_sites(struct seep_view_build *build) {
    struct seep_view *view = build->view;
    size_t nr = 0;
    for (size_t p = 0; p < build->nr_parts; p++)
        for (uint32_t i = 1; i < build->parts[p].profile->nr_sites; i++)
            nr += is_shown(&build->parts[p], i);
    view->pool_sites = seep_arena_alloc(&view->arena, SEEP_MAX(nr, (size_t)1), sizeof(*view->pool_sites));
    if (!view->pool_sites)
        return seep_error_no_memory();
    for (size_t p = 0; p < build->nr_parts; p++) {
        const struct seep_view_part *part = &build->parts[p];
        size_t first = view->nr_pool_sites;
        for (uint32_t i = 1; i < part->profile->nr_sites; i++) {
            if (!is_shown(part, i))
                continue;
            const struct seep_site *from = &part->profile->sites[i];
            uint32_t node = part->nodes[from->node];
            view->pool_sites[view->nr_pool_sites++] = (struct seep_view_pool_site){
                .stack = {.node = node, .via = from->via, .cut = build->stacks->nodes[node].cut},
                .counters = from->counters,
                .live_blocks = from->live_blocks,
                .live_bytes = from->live_bytes,
                .process = part->process,
                .site = i,
            };
        }
        name_pools(part, view->pool_sites + first, view->nr_pool_sites - first);
    }
    if (view->nr_pool_sites)
        qsort(view->pool_sites, view->nr_pool_sites, sizeof(*view->pool_sites), compare_sites);
    view->nr_pool_sites_all = view->nr_pool_sites;
    if (view->options.top && view->options.top < view->nr_pool_sites)
        view->nr_pool_sites = (size_t)view->options.top;
    return NULL;
}

struct seep_error *seep_view_build_pools(struct seep_view_build *build) {
    struct seep_error *error = collect_pools(build);
    return error ? error : collect_sites(build);
}
