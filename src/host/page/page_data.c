// SPDX-License-Identifier: BSD-2-Clause
// The data of a page, see page_data.h. Figures of processes are those of the JSON report, which is a section
// of its own; sites have their figures in columns, a row of the report each. Sites are folded, round by
// round, until the page has room for them.
#include <stdlib.h>

#include "page/page_building.h"
#include "page/page_fold.h"

static void shown_deinit(struct seep_page_shown *shown) {
    seep_view_destroy(shown->whole);
    seep_diff_destroy(shown->diff);
    seep_page_column_deinit(&shown->threads);
    seep_page_column_deinit(&shown->sizes);
}

static struct seep_error *open_shown(const struct seep_page_source *source, struct seep_page_shown *shown) {
    const struct seep_session *session = source->session;
    shown->options = *source->options;
    shown->options.by = SEEP_BY_SITE;
    shown->options.top = 0;
    shown->options.blocks = false;
    if (source->old)
        return seep_diff_create(source->old, session, source->symbols, &shown->options, &shown->diff);
    struct seep_error *error = NULL;
    if (session->nr_profiles == 1)
        error = seep_view_create(session, 0, source->symbols, &shown->options, &shown->whole);
    if (!error)
        error = seep_page_put_groups(source, SEEP_BY_THREAD, &shown->threads);
    if (!error)
        error = seep_page_put_groups(source, SEEP_BY_SIZE, &shown->sizes);
    return error;
}

typedef struct seep_error *(*each_view)(void *data, struct seep_view *view, size_t process);

// The views of several processes take several times the memory of their part of the page. So only one view
// exists at a time, and each round makes it again.
static struct seep_error *for_each_view(const struct seep_page_source *source,
                                        const struct seep_page_shown *shown, each_view each, void *data) {
    if (shown->whole)
        return each(data, shown->whole, 0);
    struct seep_view_options options = shown->options;
    options.no_leaders = true;
    struct seep_error *error = NULL;
    for (size_t i = 0; !error && i < source->session->nr_profiles; i++) {
        struct seep_view *view = NULL;
        error = seep_view_create(source->session, i, source->symbols, &options, &view);
        if (!error)
            error = each(data, view, i);
        seep_view_destroy(view);
    }
    return error;
}

static struct seep_error *put_view(void *data, struct seep_view *view, size_t process) {
    return seep_page_put_view(data, view, process);
}

static struct seep_error *build(struct seep_page_building *building, const struct seep_page_shown *shown,
                                struct seep_page_packed *ret_packed) {
    struct seep_page_column sites = {0}, times = {0};
    struct seep_error *error = seep_page_tree_init(&building->tree);
    building->tree.full_names = shown->options.full_names;
    if (!error)
        error = shown->diff ? seep_page_put_diff(building, shown->diff)
                            : for_each_view(building->source, shown, put_view, building);
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

struct weights {
    double *items;
    size_t nr, capacity;
};

static struct seep_error *add_weights(void *data, struct seep_view *view, size_t process) {
    struct weights *weights = data;
    (void)process;
    if (!seep_grow(&weights->items, &weights->capacity, weights->nr + view->nr_rows + 1,
                   sizeof(*weights->items)))
        return seep_error_no_memory();
    for (size_t i = 0; i < view->nr_rows; i++)
        weights->items[weights->nr++] = seep_page_weight(view, &view->rows[i], NULL);
    return NULL;
}

static struct seep_error *add_weights_of_diff(struct weights *weights, const struct seep_diff *diff) {
    if (!seep_grow(&weights->items, &weights->capacity, diff->nr_rows + 1, sizeof(*weights->items)))
        return seep_error_no_memory();
    for (size_t i = 0; i < diff->nr_rows; i++) {
        const struct seep_diff_row *row = &diff->rows[i];
        weights->items[weights->nr++] =
            seep_page_weight(diff->after, row->after ? row->after : &seep_page_no_row,
                             row->before ? row->before : &seep_page_no_row);
    }
    return NULL;
}

// The weight of the site that is the `keep`th.
static struct seep_error *weigh(const struct seep_page_source *source, const struct seep_page_shown *shown,
                                size_t keep, double *ret_least) {
    struct weights weights = {NULL};
    struct seep_error *error = shown->diff ? add_weights_of_diff(&weights, shown->diff)
                                           : for_each_view(source, shown, add_weights, &weights);
    if (!error) {
        qsort(weights.items, weights.nr, sizeof(*weights.items), descending);
        // All of like weight go together; what has none goes first.
        *ret_least = weights.nr ? (keep < weights.nr ? weights.items[keep] : 0) + 1e-18 : 0;
    }
    free(weights.items);
    return error;
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
        error = weigh(source, &shown, keep, &least);
    }
    shown_deinit(&shown);
    return error;
}
