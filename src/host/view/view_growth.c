// SPDX-License-Identifier: BSD-2-Clause
//
// What a view shows of growth: at each row that of its sites together, and the rows that grow without
// bound, whatever the order of the others is.
#include <stdlib.h>

#include "view/view_build.h"

// What grows comes first, by how fast; then what changed most; then what did not.
static double rank(const struct seep_growth_of *growth) {
    if (!growth)
        return -1;
    double change = (double)growth->last_bytes - (double)growth->first_bytes;
    if (growth->trend.verdict == SEEP_TREND_GROWING)
        return 0x1p80 * (1 + growth->trend.slope);
    return change < 0 ? 0 : change;
}

double seep_view_growth_key(const struct seep_view_row *row) {
    return rank(row->growth);
}

static bool was_live(const struct seep_growth_of *growth) {
    return growth->last_bytes || growth->trend.verdict;
}

static void give(struct seep_view_row *row, uint32_t process, const struct seep_growth_of *growth) {
    if (row->growth && rank(row->growth) >= rank(growth))
        return;
    row->growth = growth;
    row->growth_process = process;
}

// Makes rows of several sites groups, in `group_of_row` and `group_of_site`. `group_of_row` has the number of
// sites of each row before. Returns how many groups there are.
static uint32_t make_groups(const struct seep_view_build *build, const struct seep_view_part *part,
                            uint32_t *group_of_row, uint32_t *group_of_site) {
    uint32_t nr_groups = 0;
    for (size_t row = 0; row < build->nr_rows; row++)
        group_of_row[row] = group_of_row[row] > 1 ? ++nr_groups : 0;
    for (uint32_t i = 1; i < part->profile->nr_sites; i++)
        if (part->site_row[i] && was_live(&part->profile->growth->sites[i]))
            group_of_site[i] = group_of_row[part->site_row[i] - 1];
    return nr_groups;
}

struct seep_error *seep_view_add_growth(struct seep_view_build *build, const struct seep_view_part *part) {
    const struct seep_profile *profile = part->profile;
    if (!profile->growth)
        return NULL;
    uint32_t *group_of_row = calloc(build->nr_rows + 1, sizeof(*group_of_row));
    uint32_t *group_of_site = calloc(SEEP_MAX(profile->nr_sites, 1u), sizeof(*group_of_site));
    struct seep_growth_of *groups = NULL;
    struct seep_error *error = group_of_row && group_of_site ? NULL : seep_error_no_memory();
    for (uint32_t i = 1; !error && i < profile->nr_sites; i++)
        if (part->site_row[i] && was_live(&profile->growth->sites[i]))
            group_of_row[part->site_row[i] - 1]++;
    uint32_t nr_groups = error ? 0 : make_groups(build, part, group_of_row, group_of_site);
    if (nr_groups) {
        groups = seep_arena_alloc(&build->view->arena, nr_groups, sizeof(*groups));
        error = groups ? seep_growth_judge_groups(profile, group_of_site, nr_groups, groups)
                       : seep_error_no_memory();
    }
    for (uint32_t i = 1; !error && i < profile->nr_sites; i++)
        if (part->site_row[i] && was_live(&profile->growth->sites[i]))
            give(&build->rows[part->site_row[i] - 1], part->process,
                 group_of_site[i] ? &groups[group_of_site[i] - 1] : &profile->growth->sites[i]);
    free(group_of_site);
    free(group_of_row);
    return error;
}

// What is suppressed does not count. What grew may have been freed since, at the end.
static bool grows(const struct seep_view_row *row) {
    return row->growth && row->growth->trend.verdict == SEEP_TREND_GROWING &&
           (!row->suppressed_blocks || row->suppressed_blocks < row->live_blocks);
}

static int compare_growth(const void *left, const void *right) {
    double a = rank(((const struct seep_view_row *)left)->growth),
           b = rank(((const struct seep_view_row *)right)->growth);
    return (a < b) - (a > b);
}

struct seep_error *seep_view_build_growing(struct seep_view_build *build) {
    struct seep_view *view = build->view;
    if (view->options.by != SEEP_BY_SITE)
        return NULL;
    for (size_t i = 0; i < build->nr_rows; i++)
        view->nr_growing_all += grows(&build->rows[i]);
    if (!view->nr_growing_all)
        return NULL;
    view->growing = seep_arena_alloc(&view->arena, view->nr_growing_all, sizeof(*view->growing));
    if (!view->growing)
        return seep_error_no_memory();
    for (size_t i = 0; i < build->nr_rows; i++)
        if (grows(&build->rows[i]))
            view->growing[view->nr_growing++] = build->rows[i];
    qsort(view->growing, view->nr_growing, sizeof(*view->growing), compare_growth);
    view->nr_growing = SEEP_MIN(view->nr_growing, (size_t)SEEP_VIEW_GROWING);
    return NULL;
}

uint64_t seep_view_limit(const struct seep_view *view, uint32_t process, uint64_t *ret_left) {
    const struct seep_profile *profile = view->session->profiles[process];
    uint64_t limit = view->options.limit_bytes, used = 0;
    if (profile->nr_snapshots) {
        const struct seep_snapshot *last = &profile->snapshots[profile->nr_snapshots - 1];
        used = limit ? SEEP_MAX(last->rss_bytes, profile->growth ? profile->growth->live.last_bytes : 0)
                     : last->used_bytes;
        limit = limit ? limit : used ? profile->limit_bytes : 0;
    }
    *ret_left = limit > used ? limit - used : 0;
    return limit;
}
