// SPDX-License-Identifier: BSD-2-Clause
// Sites as columns of figures, a row of the report each. See page_building.h.
#include <stdlib.h>

#include "page/page_building.h"
#include "page/page_fold.h"
#include "page/page_holder.h"
#include "profile/verdict.h"
#include "view/stacks.h"

const struct seep_site_form seep_site_forms[SEEP_SITE_COLUMNS] = {
    [SITE_PROCESS] = {"site.process", 'u'},
    [SITE_NODE] = {"site.node", 's'},
    [SITE_SELF] = {"site.self", 's'},
    [SITE_MODULE] = {"site.module", 'u'},
    [SITE_VIA] = {"site.via", 'u'},
    [SITE_KNOWN] = {"site.known", 'u'},
    [SITE_LIVE_BYTES] = {"site.live_bytes", 's'},
    [SITE_LIVE_BLOCKS] = {"site.live_blocks", 's'},
    [SITE_ALLOCATIONS] = {"site.allocations", 's'},
    [SITE_ALLOCATED_BYTES] = {"site.allocated_bytes", 's'},
    [SITE_FREES] = {"site.frees", 'u'},
    [SITE_FREED_BYTES] = {"site.freed_bytes", 'u'},
    [SITE_TEMPORARY] = {"site.temporary", 'u'},
    [SITE_PEAK_BYTES] = {"site.peak_bytes", 'u'},
    [SITE_AT_PEAK_BYTES] = {"site.at_peak_bytes", 'u'},
    [SITE_SIZE_MIN] = {"site.size_min", 'u'},
    [SITE_SIZE_MAX] = {"site.size_max", 'u'},
    [SITE_KIND] = {"site.kind", 'u'},
    [SITE_LOST_BYTES] = {"site.lost_bytes", 'u'},
    [SITE_LOST_BLOCKS] = {"site.lost_blocks", 'u'},
    [SITE_INDIRECT_BYTES] = {"site.indirect_bytes", 'u'},
    [SITE_INDIRECT_BLOCKS] = {"site.indirect_blocks", 'u'},
    [SITE_POSSIBLE_BYTES] = {"site.possible_bytes", 'u'},
    [SITE_POSSIBLE_BLOCKS] = {"site.possible_blocks", 'u'},
    [SITE_REACHABLE_BYTES] = {"site.reachable_bytes", 'u'},
    [SITE_REACHABLE_BLOCKS] = {"site.reachable_blocks", 'u'},
    [SITE_RETAINED_BYTES] = {"site.retained_bytes", 'u'},
    [SITE_SUPPRESSED_BYTES] = {"site.suppressed_bytes", 's'},
    [SITE_HELD] = {"site.held", 'u'},
    [SITE_ROOT] = {"site.root", 'u'},
    [SITE_HOLDER] = {"site.holder", 'u'},
    [SITE_TYPE] = {"site.type", 'u'},
    [SITE_CUT] = {"site.cut", 'u'},
    [SITE_GROWTH] = {"site.growth", 'u'},
    [SITE_SLOPE] = {"site.slope", 'f'},
    [SITE_OLD_LIVE_BYTES] = {"site.old_live_bytes", 's'},
    [SITE_OLD_LIVE_BLOCKS] = {"site.old_live_blocks", 's'},
    [SITE_OLD_ALLOCATIONS] = {"site.old_allocations", 'u'},
    [SITE_OLD_ALLOCATED_BYTES] = {"site.old_allocated_bytes", 'u'},
    [SITE_OLD_FREES] = {"site.old_frees", 'u'},
    [SITE_OLD_TEMPORARY] = {"site.old_temporary", 'u'},
    [SITE_CHANGE] = {"site.change", 'u'},
    [SITE_FOLDED] = {"site.folded", 'u'},
};

static void put(struct seep_page_building *building, enum seep_site_column column, uint64_t value) {
    seep_page_column_put(&building->sites[column], value);
}

static void put_signed(struct seep_page_building *building, enum seep_site_column column, int64_t value) {
    seep_page_column_put_signed(&building->sites[column], value);
}

static void put_figures(struct seep_page_building *building, const struct seep_view_row *row) {
    const struct seep_counters *c = &row->counters;
    bool sizes = row->known & SEEP_KNOWN_SIZES && c->allocations && c->size_min <= c->size_max;
    put(building, SITE_KNOWN, sizes ? row->known : row->known & ~SEEP_KNOWN_SIZES);
    put_signed(building, SITE_LIVE_BYTES, row->live_bytes);
    put_signed(building, SITE_LIVE_BLOCKS, row->live_blocks);
    put_signed(building, SITE_ALLOCATIONS, (int64_t)(c->allocations - c->frees - (uint64_t)row->live_blocks));
    put_signed(building, SITE_ALLOCATED_BYTES,
               (int64_t)(c->allocated_bytes - c->freed_bytes - (uint64_t)row->live_bytes));
    put(building, SITE_FREES, c->frees);
    put(building, SITE_FREED_BYTES, c->freed_bytes);
    put(building, SITE_TEMPORARY, c->temporary);
    put(building, SITE_PEAK_BYTES, row->known & SEEP_KNOWN_PEAK ? c->peak_bytes : 0);
    put(building, SITE_AT_PEAK_BYTES, row->known & SEEP_KNOWN_AT_PEAK ? c->at_peak_bytes : 0);
    put(building, SITE_SIZE_MIN, sizes ? c->size_min : 0);
    put(building, SITE_SIZE_MAX, sizes ? c->size_max : 0);
    put(building, SITE_KIND, row->kind);
    for (uint32_t i = SEEP_KIND_LOST; i < SEEP_KIND_NR; i++) {
        put(building, SITE_LOST_BYTES + 2 * (i - SEEP_KIND_LOST), row->kinds.bytes[i]);
        put(building, SITE_LOST_BLOCKS + 2 * (i - SEEP_KIND_LOST), row->kinds.blocks[i]);
    }
    put(building, SITE_RETAINED_BYTES, row->retained_bytes);
    put_signed(building, SITE_SUPPRESSED_BYTES, row->suppressed_bytes);
    put(building, SITE_GROWTH, row->growth ? row->growth->trend.verdict : 0);
    seep_page_column_put_double(&building->sites[SITE_SLOPE], row->growth ? row->growth->trend.slope : 0);
}

const struct seep_view_row seep_page_no_row = {.known = SEEP_KNOWN_ALL, .cut = -1};

static void put_old(struct seep_page_building *building, const struct seep_view_row *row, unsigned change) {
    put_signed(building, SITE_OLD_LIVE_BYTES, row->live_bytes);
    put_signed(building, SITE_OLD_LIVE_BLOCKS, row->live_blocks);
    put(building, SITE_OLD_ALLOCATIONS, row->counters.allocations);
    put(building, SITE_OLD_ALLOCATED_BYTES, row->counters.allocated_bytes);
    put(building, SITE_OLD_FREES, row->counters.frees);
    put(building, SITE_OLD_TEMPORARY, row->counters.temporary);
    put(building, SITE_CHANGE, change);
}

static struct seep_error *put_text(struct seep_page_building *building, enum seep_site_column column,
                                   const char *text) {
    uint32_t id;
    struct seep_error *error = seep_page_tree_text(&building->tree, text, &id);
    if (!error)
        put(building, column, id);
    return error;
}

// `self`: as seep_page_branch_self. Most sites are attributed to the innermost function of their stack.
static void put_self(struct seep_page_building *building, uint32_t node, uint32_t self) {
    put_signed(building, SITE_SELF, (int64_t)self - (node ? building->tree.node_frames[node] + 1 : 0));
}

// Where the row is: its stack, of the view of `branch`.
static struct seep_error *put_place(struct seep_page_building *building, struct seep_page_branch *branch,
                                    const struct seep_view_row *row, size_t process) {
    struct seep_stacks *stacks = branch->view->stacks;
    uint32_t node = 0, self = 0, frame = SEEP_NO_FRAME;
    unsigned inlined;
    struct seep_error *error = seep_page_branch_node(&building->tree, branch, row, &node);
    if (!error)
        error = seep_page_branch_self(&building->tree, branch, row, &self);
    if (!error)
        error = seep_stacks_self(stacks, row->node, false, &frame, &inlined);
    if (error)
        return error;
    put(building, SITE_PROCESS, process);
    put_signed(building, SITE_NODE, (int64_t)node - building->last_node);
    building->last_node = node;
    put_self(building, node, self);
    error = put_text(building, SITE_MODULE,
                     frame == SEEP_NO_FRAME ? NULL : stacks->modules[stacks->frames[frame].module].shown);
    if (!error)
        error = put_text(building, SITE_VIA, seep_via_name(row->via));
    if (!error)
        error = put_text(building, SITE_CUT, row->cut >= 0 ? seep_cut_name((uint32_t)row->cut) : NULL);
    building->nr_sites++;
    return error;
}

static struct seep_error *put_held(struct seep_page_building *building, struct seep_view *view,
                                   const struct seep_view_row *row) {
    const char *held = NULL, *type = NULL;
    struct seep_error *error = seep_view_chain(view, row->held_process, row->held, &held, &type);
    if (!error)
        error = put_text(building, SITE_HELD, held);
    if (!error)
        error = put_text(building, SITE_TYPE, type);
    return error;
}

static struct seep_error *put_fold(struct seep_page_building *building, const struct seep_page_folded *folded,
                                   size_t process, bool is_diff) {
    uint32_t node = 0, frame = 0, via = 0;
    struct seep_error *error =
        seep_page_tree_words(&building->tree, folded->node, "(smaller sites)", &node, &frame);
    if (!error)
        error = seep_page_tree_text(&building->tree, "several functions", &via);
    if (error)
        return error;
    put(building, SITE_PROCESS, process);
    put_signed(building, SITE_NODE, (int64_t)node - building->last_node);
    building->last_node = node;
    put_self(building, node, frame + 1);
    put(building, SITE_MODULE, 0);
    put(building, SITE_VIA, via);
    put(building, SITE_CUT, 0);
    put(building, SITE_HELD, 0);
    put(building, SITE_ROOT, 0);
    put(building, SITE_HOLDER, 0);
    put(building, SITE_TYPE, 0);
    put_figures(building, &folded->now);
    if (is_diff)
        put_old(building, &folded->old, 0);
    put(building, SITE_FOLDED, folded->nr);
    building->nr_sites++;
    building->nr_folded += folded->nr;
    return NULL;
}

// Of the rows that have a place. A holder that is folded is none.
static struct seep_error *put_holders(struct seep_page_building *building, struct seep_view *view,
                                      size_t process, const uint32_t *places) {
    struct seep_page_holders holders;
    struct seep_error *error = seep_page_holders_init(&holders, view, process);
    for (size_t i = 0; !error && i < view->nr_rows; i++) {
        if (places[i] == UINT32_MAX)
            continue;
        const char *root;
        uint32_t holder = seep_page_holder_row(&holders, &view->rows[i]);
        error = seep_page_holder_root(&holders, &view->rows[i], &root);
        if (!error)
            error = put_text(building, SITE_ROOT, root);
        put(building, SITE_HOLDER,
            holder == UINT32_MAX || places[holder] == UINT32_MAX ? 0 : places[holder] + UINT64_C(1));
    }
    seep_page_holders_deinit(&holders);
    return error;
}

// Sites that are kept come first, so that the others can be put where their stacks leave those.
static struct seep_error *put_rows(struct seep_page_building *building, struct seep_view *view,
                                   size_t process, struct seep_page_branch *branch, uint32_t *places) {
    struct seep_error *error = NULL;
    for (size_t i = 0; !error && i < view->nr_rows; i++) {
        places[i] = UINT32_MAX;
        if (seep_page_weight(view, &view->rows[i], NULL) < building->least)
            continue;
        places[i] = (uint32_t)building->nr_sites;
        error = put_place(building, branch, &view->rows[i], process);
        if (!error)
            error = put_held(building, view, &view->rows[i]);
        put_figures(building, &view->rows[i]);
        put(building, SITE_FOLDED, 0);
    }
    if (!error)
        error = put_holders(building, view, process, places);
    struct seep_page_fold fold = {NULL};
    size_t first = building->nr_sites;
    for (size_t i = 0; !error && i < view->nr_rows; i++) {
        uint32_t at;
        if (places[i] != UINT32_MAX)
            continue;
        error = seep_page_fold_add(&fold, seep_page_branch_known(branch, &view->rows[i]), &view->rows[i],
                                   NULL, &at);
        if (!error)
            places[i] = (uint32_t)first + at;
    }
    for (size_t i = 0; !error && i < fold.nr; i++)
        error = put_fold(building, &fold.items[i], process, false);
    seep_page_fold_deinit(&fold);
    return error;
}

struct seep_error *seep_page_put_view(struct seep_page_building *building, struct seep_view *view,
                                      size_t process) {
    struct seep_page_branch branch;
    struct seep_error *error = seep_page_branch_init(&branch, view);
    size_t first = building->nr_sites;
    uint32_t *places = calloc(view->nr_rows + 1, sizeof(*places));
    if (!error && !places)
        error = seep_error_no_memory();
    if (!error)
        error = put_rows(building, view, process, &branch, places);
    if (!error)
        error =
            seep_page_times_add(&building->times, view, process, places, first, building->nr_sites - first);
    if (!error)
        error =
            seep_page_lives_add(&building->lives, view,
                                building->source->histories ? &building->source->histories[process] : NULL,
                                places, first, building->nr_sites - first);
    free(places);
    seep_page_branch_deinit(&branch);
    return error;
}

struct seep_error *seep_page_put_diff(struct seep_page_building *building, const struct seep_diff *diff) {
    struct seep_page_branch before, after = {NULL};
    struct seep_page_fold fold = {NULL};
    struct seep_error *error = seep_page_branch_init(&before, diff->before);
    if (!error)
        error = seep_page_branch_init(&after, diff->after);
    for (unsigned round = 0; round < 2; round++)
        for (size_t i = 0; !error && i < diff->nr_rows; i++) {
            const struct seep_diff_row *row = &diff->rows[i];
            const struct seep_view_row *now = row->after ? row->after : &seep_page_no_row;
            const struct seep_view_row *old = row->before ? row->before : &seep_page_no_row;
            struct seep_page_branch *branch = row->after ? &after : &before;
            const struct seep_view_row *place = row->after ? row->after : row->before;
            bool folds = seep_page_weight(diff->after, now, old) < building->least;
            uint32_t at;
            if (folds && round == 1)
                error = seep_page_fold_add(&fold, seep_page_branch_known(branch, place), now, old, &at);
            if (folds || round == 1)
                continue;
            error = put_place(building, branch, place, 0);
            put_figures(building, now);
            // The page compares what is held.
            put_old(building, old, row->change > SEEP_DIFF_SHRANK ? SEEP_DIFF_SAME : row->change);
            put(building, SITE_FOLDED, 0);
        }
    for (size_t i = 0; !error && i < fold.nr; i++)
        error = put_fold(building, &fold.items[i], 0, true);
    seep_page_fold_deinit(&fold);
    seep_page_branch_deinit(&before);
    seep_page_branch_deinit(&after);
    return error;
}
