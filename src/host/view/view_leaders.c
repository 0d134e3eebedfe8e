// SPDX-License-Identifier: BSD-2-Clause
//
// What the summary of a view is about: the rows that have most of what is lost, of what is live, of the peak,
// of what was freed at once, and of all allocations by number and by bytes, whatever the order of the rows
// is; and what the rows with cut stacks come to.
#include <stdlib.h>
#include <string.h>

#include "base/sum.h"
#include "view/stack_places.h"
#include "view/view_build.h"

static uint64_t positive(int64_t value) {
    return value > 0 ? (uint64_t)value : 0;
}

static uint64_t value_of(enum seep_lead lead, const struct seep_view_row *row) {
    bool suppressed = row->suppressed_blocks && row->suppressed_blocks >= row->live_blocks;
    switch (lead) {
    case SEEP_LEAD_LEAKED:
        return row->owned.bytes;
    case SEEP_LEAD_LIVE:
        return row->known & SEEP_KNOWN_LIVE && !suppressed ? positive(row->live_bytes - row->gone_bytes) : 0;
    case SEEP_LEAD_PEAK:
        return row->known & SEEP_KNOWN_AT_PEAK ? row->counters.at_peak_bytes : 0;
    case SEEP_LEAD_TEMPORARY:
        return row->known & SEEP_KNOWN_TEMPORARY ? row->counters.temporary : 0;
    case SEEP_LEAD_ALLOCATED:
        return row->counters.allocations;
    case SEEP_LEAD_BYTES:
        return row->counters.allocated_bytes;
    default:
        return 0;
    }
}

struct candidate {
    uint64_t value;
    size_t row;
};

// The best candidates.
struct chosen {
    struct candidate kept[SEEP_VIEW_LEADERS];
    size_t nr;
};

static int compare_candidates(const void *left, const void *right) {
    const struct candidate *a = left;
    const struct candidate *b = right;
    if (a->value != b->value)
        return a->value < b->value ? 1 : -1;
    return (a->row > b->row) - (a->row < b->row);
}

// Those kept so far are a heap with the last of them on top. `at` may come before what is below it.
static void sink(struct candidate *kept, size_t nr, size_t at) {
    for (size_t below; (below = 2 * at + 1) < nr; at = below) {
        if (below + 1 < nr && compare_candidates(&kept[below + 1], &kept[below]) > 0)
            below++;
        if (compare_candidates(&kept[at], &kept[below]) > 0)
            return;
        struct candidate other = kept[at];
        kept[at] = kept[below];
        kept[below] = other;
    }
}

static void consider(struct chosen *chosen, uint64_t value, size_t row) {
    struct candidate next = {value, row}, *kept = chosen->kept;
    if (!value)
        return;
    if (chosen->nr < SEEP_VIEW_LEADERS) {
        kept[chosen->nr++] = next;
        for (size_t at = chosen->nr == SEEP_VIEW_LEADERS ? chosen->nr / 2 : 0; at > 0; at--)
            sink(kept, chosen->nr, at - 1);
    } else if (compare_candidates(&next, &kept[0]) < 0) {
        kept[0] = next;
        sink(kept, chosen->nr, 0);
    }
}

// The best of the chosen first; false: no memory.
static bool reserve_leaders(struct seep_view *view, struct chosen *chosen,
                            struct seep_view_leaders *leaders) {
    if (chosen->nr)
        qsort(chosen->kept, chosen->nr, sizeof(*chosen->kept), compare_candidates);
    size_t nr = chosen->nr < SEEP_VIEW_LEADERS ? SEEP_MAX(chosen->nr, (size_t)1) : SEEP_VIEW_LEADERS_MOST;
    leaders->rows = seep_arena_alloc(&view->arena, nr, sizeof(*leaders->rows));
    return leaders->rows != NULL;
}

// Whether the candidate is none of the chosen. `chosen` is full.
static bool is_left(const struct chosen *chosen, uint64_t value, size_t row) {
    const struct candidate next = {value, row};
    return value && compare_candidates(&next, &chosen->kept[chosen->nr - 1]) > 0;
}

// ---- rows that are none of the best ----

// The maps have indexes of leaders, + 1.
struct left {
    struct seep_stack_places places;
    struct seep_map called;   // by place and callers
    struct seep_map of_place; // by place: the first
};

#define LEFT_INIT                                                                                            \
    { .called = SEEP_MAP_INIT, .of_place = SEEP_MAP_INIT }

static void left_deinit(struct left *left) {
    seep_stack_places_deinit(&left->places);
    seep_map_deinit(&left->called);
    seep_map_deinit(&left->of_place);
}

// **ret_called: index + 1 of the leader of the row's place and callers; **ret_of_place: of the first leader
// of its place. 0: there is none.
static struct seep_error *find_leader(struct left *left, uint32_t node, uint64_t **ret_called,
                                      uint64_t **ret_of_place) {
    uint32_t place;
    uint64_t callers;
    struct seep_error *error = seep_stack_places_find(&left->places, node, &place, &callers);
    if (error)
        return error;
    *ret_called = seep_map_at(&left->called, seep_hash64(callers ^ (uint64_t)place << 32), NULL);
    *ret_of_place = seep_map_at(&left->of_place, place, NULL);
    return *ret_called && *ret_of_place ? NULL : seep_error_no_memory();
}

static struct seep_error *left_begin(struct left *left, struct seep_stacks *stacks,
                                     const struct seep_view_leaders *leaders) {
    struct seep_error *error = left->places.of ? NULL : seep_stack_places_init(&left->places, stacks);
    seep_map_deinit(&left->called);
    seep_map_deinit(&left->of_place);
    left->called = left->of_place = (struct seep_map)SEEP_MAP_INIT;
    for (size_t i = 0; !error && i < leaders->nr_rows; i++) {
        uint64_t *called, *of_place;
        error = find_leader(left, leaders->rows[i].node, &called, &of_place);
        if (error)
            break;
        *called = *called ? *called : i + 1;
        *of_place = *of_place ? *of_place : i + 1;
    }
    return error;
}

static void add_to_leader(struct seep_view_leader *leader, const struct seep_view_leader *row,
                          bool same_callers) {
    seep_add_up(same_callers ? &leader->value : &leader->of_others, row->value);
    seep_add_up(&leader->allocations, row->allocations);
    seep_add_up(&leader->allocated_bytes, row->allocated_bytes);
    seep_add_up(&leader->frees, row->frees);
    seep_add_up(&leader->peak_bytes, row->peak_bytes);
    leader->peak_exact = leader->peak_exact && row->peak_exact;
    leader->via = leader->via == SEEP_VIA_REALLOC ? row->via : leader->via; // realloc only where all are
}

static struct seep_error *left_add(struct left *left, struct seep_view_leaders *leaders,
                                   const struct seep_view_leader *row) {
    uint64_t *called, *of_place;
    struct seep_error *error = find_leader(left, row->node, &called, &of_place);
    if (error)
        return error;
    if (*called) {
        add_to_leader(&leaders->rows[*called - 1], row, true);
    } else if (leaders->nr_rows < SEEP_VIEW_LEADERS_MOST) {
        leaders->rows[leaders->nr_rows] = *row;
        *called = ++leaders->nr_rows;
        *of_place = *of_place ? *of_place : *called;
    } else if (*of_place) {
        add_to_leader(&leaders->rows[*of_place - 1], row, false);
    }
    return NULL;
}

// ---- of the view, and of one process ----

static struct seep_view_leader leader_of(const struct seep_view_row *row, uint64_t value) {
    return (struct seep_view_leader){.value = value,
                                     .allocations = row->counters.allocations,
                                     .allocated_bytes = row->counters.allocated_bytes,
                                     .frees = row->counters.frees,
                                     .peak_bytes = row->counters.peak_bytes,
                                     .peak_exact = row->peak_exact,
                                     .via = row->via,
                                     .node = row->node,
                                     .held_process = row->held_process,
                                     .held = row->held};
}

static struct seep_error *choose(struct seep_view_build *build, enum seep_lead lead, struct chosen *chosen,
                                 struct left *left) {
    struct seep_view_leaders *leaders = &build->view->leaders[lead];
    chosen->nr = 0;
    for (size_t i = 0; i < build->nr_rows; i++) {
        uint64_t value = value_of(lead, &build->rows[i]);
        seep_add_up(&leaders->all, value);
        consider(chosen, value, i);
    }
    if (!reserve_leaders(build->view, chosen, leaders))
        return seep_error_no_memory();
    for (; leaders->nr_rows < chosen->nr; leaders->nr_rows++) {
        const struct candidate *kept = &chosen->kept[leaders->nr_rows];
        leaders->rows[leaders->nr_rows] = leader_of(&build->rows[kept->row], kept->value);
    }
    bool full = chosen->nr == SEEP_VIEW_LEADERS && build->nr_rows > chosen->nr;
    struct seep_error *error = full ? left_begin(left, build->stacks, leaders) : NULL;
    for (size_t i = 0; full && !error && i < build->nr_rows; i++) {
        uint64_t value = value_of(lead, &build->rows[i]);
        struct seep_view_leader row = leader_of(&build->rows[i], value);
        if (is_left(chosen, value, i))
            error = left_add(left, leaders, &row);
    }
    return error;
}

static struct seep_view_leader leader_at_peak(const struct seep_site *site, const uint32_t *nodes) {
    return (struct seep_view_leader){.value = site->counters.at_peak_bytes,
                                     .allocations = site->counters.allocations,
                                     .via = site->via,
                                     .node = nodes[site->node]};
}

// The sites that are none of the best.
static struct seep_error *add_left_sites(struct seep_view *view, const struct seep_profile *profile,
                                         const uint32_t *nodes, const struct chosen *chosen,
                                         struct seep_view_leaders *leaders) {
    struct left left = LEFT_INIT;
    struct seep_error *error = left_begin(&left, view->stacks, leaders);
    for (uint32_t i = 1; i < profile->nr_sites && !error; i++) {
        const struct seep_site *site = &profile->sites[i];
        struct seep_view_leader row = leader_at_peak(site, nodes);
        if (seep_via_is_heap(site->via) && is_left(chosen, row.value, i))
            error = left_add(&left, leaders, &row);
    }
    left_deinit(&left);
    return error;
}

struct seep_error *seep_view_peak_leaders(struct seep_view *view, size_t process,
                                          struct seep_view_leaders *ret_leaders) {
    const struct seep_profile *profile = view->session->profiles[process];
    const uint32_t *nodes = view->nodes[process - view->first_process];
    struct seep_view_leaders leaders = {NULL};
    struct chosen *chosen = calloc(1, sizeof(*chosen));
    if (!chosen)
        return seep_error_no_memory();
    for (uint32_t i = 1; i < profile->nr_sites && profile->at_peak.counted; i++) {
        const struct seep_site *site = &profile->sites[i];
        if (!seep_via_is_heap(site->via))
            continue;
        seep_add_up(&leaders.all, site->counters.at_peak_bytes);
        consider(chosen, site->counters.at_peak_bytes, i);
    }
    struct seep_error *error = reserve_leaders(view, chosen, &leaders) ? NULL : seep_error_no_memory();
    for (; !error && leaders.nr_rows < chosen->nr; leaders.nr_rows++)
        leaders.rows[leaders.nr_rows] =
            leader_at_peak(&profile->sites[chosen->kept[leaders.nr_rows].row], nodes);
    if (!error && chosen->nr == SEEP_VIEW_LEADERS)
        error = add_left_sites(view, profile, nodes, chosen, &leaders);
    free(chosen);
    if (!error)
        *ret_leaders = leaders;
    return error;
}

// Whether the outermost frame of the stack is a function of the Go runtime, whose assembly changes the stack.
static struct seep_error *ends_in_go(struct seep_stacks *stacks, uint32_t node, bool *ret_ends) {
    *ret_ends = false;
    uint32_t outermost = SEEP_NO_FRAME;
    for (; stacks->nodes[node].frame != SEEP_NO_FRAME; node = stacks->nodes[node].parent)
        outermost = stacks->nodes[node].frame;
    if (outermost == SEEP_NO_FRAME)
        return NULL;
    const struct seep_symbol *symbol;
    struct seep_error *error = seep_stacks_resolve(stacks, outermost, &symbol);
    if (!error && symbol->nr_frames) {
        const char *function = symbol->frames[symbol->nr_frames - 1].function;
        *ret_ends = function && strncmp(function, "runtime.", 8) == 0;
    }
    return error;
}

static struct seep_error *look_for_go(struct seep_view_build *build) {
    bool ends = false;
    for (size_t i = 0; i < build->nr_rows; i++) {
        if (build->rows[i].cut != SEEP_CUT_NO_CFI)
            continue;
        struct seep_error *error = ends_in_go(build->stacks, build->rows[i].node, &ends);
        if (error)
            return error;
        if (!ends)
            break;
    }
    build->view->cut_by_go = ends;
    return NULL;
}

struct seep_error *seep_view_build_leaders(struct seep_view_build *build) {
    struct seep_view *view = build->view;
    if (view->options.by != SEEP_BY_SITE)
        return NULL;
    struct chosen *chosen = malloc(sizeof(*chosen));
    struct seep_error *error = chosen ? NULL : seep_error_no_memory();
    struct left left = LEFT_INIT;
    for (int lead = 0; !error && lead < SEEP_LEAD_NR && !view->options.no_leaders; lead++)
        error = choose(build, (enum seep_lead)lead, chosen, &left);
    left_deinit(&left);
    free(chosen);
    if (error)
        return error;
    for (size_t i = 0; i < build->nr_rows; i++) {
        const struct seep_view_row *row = &build->rows[i];
        if (row->cut >= 0) {
            seep_add_up(&view->cut_allocations, row->counters.allocations);
            seep_add_up(&view->cut_live_bytes, positive(row->live_bytes));
        }
    }
    return look_for_go(build);
}
