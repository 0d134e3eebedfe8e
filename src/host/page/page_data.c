// SPDX-License-Identifier: BSD-2-Clause
// The data of a page, see page_data.h. Figures of processes are those of the JSON report, which is a section
// of its own; sites have their figures in columns, a row of the report each. Sites are folded, round by
// round, until the page has room for them.
#include <stdlib.h>

#include "page/page_building.h"
#include "page/page_fold.h"

static void shown_deinit(struct seep_page_shown *shown) {
    for (size_t i = 0; i < shown->nr_views; i++)
        seep_view_destroy(shown->views[i]);
    free(shown->views);
    seep_diff_destroy(shown->diff);
    seep_page_column_deinit(&shown->threads);
    seep_page_column_deinit(&shown->sizes);
}

static struct seep_error *open_shown(const struct seep_page_source *source, struct seep_page_shown *shown) {
    const struct seep_session *session = source->session;
    struct seep_view_options options = *source->options;
    options.by = SEEP_BY_SITE;
    options.top = 0;
    options.blocks = false;
    if (source->old)
        return seep_diff_create(source->old, session, source->symbols, &options, &shown->diff);
    struct seep_error *error = NULL;
    shown->views = calloc(session->nr_profiles + 1, sizeof(struct seep_view *));
    if (!shown->views)
        return seep_error_no_memory();
    for (; !error && shown->nr_views < session->nr_profiles; shown->nr_views++)
        error = seep_view_create(session, shown->nr_views, source->symbols, &options,
                                 &shown->views[shown->nr_views]);
    if (!error)
        error = seep_page_put_groups(source, SEEP_BY_THREAD, &shown->threads);
    if (!error)
        error = seep_page_put_groups(source, SEEP_BY_SIZE, &shown->sizes);
    return error;
}

static struct seep_error *build(struct seep_page_building *building, const struct seep_page_shown *shown,
                                struct seep_page_packed *ret_packed) {
    struct seep_arena words = SEEP_ARENA_INIT;
    struct seep_page_column sites = {0}, times = {0};
    struct seep_error *error = seep_page_tree_init(&building->tree);
    if (!error && shown->diff)
        error = seep_page_put_diff(building, shown->diff);
    for (size_t i = 0; !error && i < shown->nr_views; i++)
        error = seep_page_put_view(building, shown->views[i], i, &words);
    if (!error)
        error = seep_page_assemble_sites(building, shown, &sites);
    if (!error)
        error = seep_page_assemble_times(building, &times);
    if (!error)
        error = seep_page_pack(&sites, &ret_packed->sites);
    if (!error && times.put.used)
        error = seep_page_pack(&times, &ret_packed->times);
    seep_page_column_deinit(&sites);
    seep_page_column_deinit(&times);
    seep_arena_deinit(&words);
    return error;
}

static void building_deinit(struct seep_page_building *building) {
    seep_page_tree_deinit(&building->tree);
    for (size_t i = 0; i < SEEP_SITE_COLUMNS; i++)
        seep_page_column_deinit(&building->sites[i]);
    seep_page_times_deinit(&building->times);
    seep_page_lives_deinit(&building->lives);
}

static int descending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

// The weight of the site that is the `keep`th.
static struct seep_error *weigh(const struct seep_page_shown *shown, size_t keep, double *ret_least) {
    size_t nr = 0, capacity = 0;
    double *weights = NULL;
    size_t nr_views = shown->diff ? 1 : shown->nr_views;
    for (size_t v = 0; v < nr_views; v++) {
        size_t nr_rows = shown->diff ? shown->diff->nr_rows : shown->views[v]->nr_rows;
        if (!seep_grow(&weights, &capacity, nr + nr_rows + 1, sizeof(*weights))) {
            free(weights);
            return seep_error_no_memory();
        }
        for (size_t i = 0; i < nr_rows; i++) {
            const struct seep_diff_row *row = shown->diff ? &shown->diff->rows[i] : NULL;
            weights[nr++] =
                row ? seep_page_weight(shown->diff->after, row->after ? row->after : &seep_page_no_row,
                                       row->before ? row->before : &seep_page_no_row)
                    : seep_page_weight(shown->views[v], &shown->views[v]->rows[i], NULL);
        }
    }
    qsort(weights, nr, sizeof(*weights), descending);
    // All of like weight go together; what has none goes first.
    *ret_least = nr ? (keep < nr ? weights[keep] : 0) + 1e-18 : 0;
    free(weights);
    return NULL;
}

#define ROUNDS 8u

struct seep_error *seep_page_data(const struct seep_page_source *source,
                                  struct seep_page_packed *ret_packed) {
    struct seep_page_shown shown = {0};
    struct seep_error *error = open_shown(source, &shown);
    size_t keep = SIZE_MAX;
    double least = 0;
    for (unsigned round = 0; !error; round++) {
        struct seep_page_building building = {.source = source, .least = least};
        seep_page_packed_deinit(ret_packed);
        error = build(&building, &shown, ret_packed);
        size_t nr = building.nr_sites;
        building_deinit(&building);
        uint64_t bytes = (uint64_t)(ret_packed->sites.put.used + ret_packed->times.put.used) * 4 / 3;
        if (error || bytes <= source->max_bytes || round == ROUNDS || !keep)
            break;
        // A little less than in proportion: what folds takes room too.
        keep = (size_t)((double)SEEP_MIN(keep, nr) * 0.85 * (double)source->max_bytes / (double)bytes);
        error = weigh(&shown, keep, &least);
    }
    shown_deinit(&shown);
    return error;
}
