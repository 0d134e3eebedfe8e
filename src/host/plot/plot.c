// SPDX-License-Identifier: BSD-2-Clause
// Which figures a picture shows, and which pen draws it, see plot.h.
#include <stdlib.h>

#include "base/words.h"
#include "growth/snapshots.h"
#include "output/measures.h"
#include "plot/bars.h"
#include "plot/flame.h"
#include "plot/plot.h"
#include "plot/plot_text.h"
#include "plot/timeline.h"
#include "profile/verdict.h"

const char *const seep_plot_names[SEEP_PLOT_NR + 1] = {"timeline", "sizes", "ages", "flame", NULL};

// "shop (pid 4711): live bytes over time by function"; the caller frees it.
static struct seep_error *make_title(const struct seep_view *view, const char *what, char **ret_title) {
    const struct seep_profile *main = view->session->profiles[view->first_process];
    bool incomplete = seep_profiles_verdict(view->session->profiles + view->first_process,
                                            view->nr_processes) != SEEP_VERDICT_COMPLETE;
    int nr;
    if (view->nr_processes > 1)
        nr =
            asprintf(ret_title, "%s and %zu more process%s: %s%s", main->process.name, view->nr_processes - 1,
                     seep_plural_es(view->nr_processes - 1), what, incomplete ? " (incomplete)" : "");
    else
        nr = asprintf(ret_title, "%s (pid %u): %s%s", main->process.name, main->process.pid, what,
                      incomplete ? " (incomplete)" : "");
    return nr < 0 ? seep_error_no_memory() : NULL;
}

static struct seep_error *begin_pen(FILE *out, enum seep_plot_form form, double width, double height,
                                    const char *title, struct seep_pen **ret_pen) {
    return form == SEEP_PLOT_PNG ? seep_pen_begin_png(out, width, height, title, ret_pen)
                                 : seep_pen_begin_svg(out, width, height, title, ret_pen);
}

// ---- over time ---------------------------------------------------------------------------------------

// The process that had most at any of its moments; SIZE_MAX: none has two.
static struct seep_error *find_process(const struct seep_session *session, size_t *ret_process) {
    uint64_t most = 0;
    *ret_process = SIZE_MAX;
    for (size_t p = 0; p < session->nr_profiles; p++) {
        const struct seep_profile *profile = session->profiles[p];
        if (profile->nr_snapshots < 2)
            continue;
        struct seep_snapshot_live *totals = seep_snapshots_totals(profile);
        if (!totals)
            return seep_error_no_memory();
        for (uint32_t i = 0; i < profile->nr_snapshots; i++)
            if (*ret_process == SIZE_MAX || totals[i].bytes > most) {
                most = totals[i].bytes;
                *ret_process = p;
            }
        free(totals);
    }
    return NULL;
}

static struct seep_error *draw_timeline(FILE *out, const struct seep_plot *plot,
                                        const struct seep_timeline *timeline, const char *title) {
    if (plot->form == SEEP_PLOT_TEXT)
        return seep_timeline_print(out, timeline, title);
    struct seep_pen *pen;
    double width, height;
    seep_timeline_size(timeline, &width, &height);
    struct seep_error *error = begin_pen(out, plot->form, width, height, title, &pen);
    if (error)
        return error;
    seep_timeline_draw(timeline, title, pen);
    return pen->ops->end(pen);
}

static bool has_ages(const struct seep_session *session) {
    for (size_t p = 0; p < session->nr_profiles; p++)
        for (size_t i = 0; i < session->profiles[p]->nr_blocks; i++)
            if (session->profiles[p]->blocks[i].age_ns >= 0)
                return true;
    return false;
}

static struct seep_error *plot_timeline(FILE *out, const struct seep_plot *plot,
                                        struct seep_view_options *options) {
    size_t process;
    struct seep_error *error = find_process(plot->session, &process);
    if (error)
        return error;
    if (process == SIZE_MAX)
        return seep_error_hint(
            seep_error_create(SEEP_E_UNSUPPORTED, "plot: %s does not say what was live over time",
                              plot->source),
            "'seep run --interval T' and 'seep run --mode record' keep that; of this one: --what sizes%s, or "
            "--what flame -o OUT.svg",
            has_ages(plot->session) ? ", --what ages" : "");
    if (options->by == SEEP_BY_SITE)
        options->by = SEEP_BY_FUNCTION;
    struct seep_view *view = NULL;
    struct seep_timeline timeline = {0};
    char *title = NULL, what[64];
    snprintf(what, sizeof(what), "live bytes over time by %s", seep_view_by_name(options->by));
    error = seep_view_create(plot->session, process, plot->symbols, options, &view);
    if (!error)
        error = make_title(view, what, &title);
    if (!error)
        error = seep_timeline_make(view, &timeline);
    if (!error)
        error = draw_timeline(out, plot, &timeline, title);
    seep_timeline_deinit(&timeline);
    seep_view_destroy(view);
    free(title);
    return error;
}

// ---- classes -----------------------------------------------------------------------------------------

static struct seep_error *draw_bars(FILE *out, const struct seep_plot *plot, const struct seep_bars *bars,
                                    const char *title) {
    if (plot->form == SEEP_PLOT_TEXT)
        return seep_bars_print(out, bars, title);
    struct seep_pen *pen;
    double width, height;
    seep_bars_size(bars, &width, &height);
    struct seep_error *error = begin_pen(out, plot->form, width, height, title, &pen);
    if (error)
        return error;
    seep_bars_draw(bars, title, pen);
    return pen->ops->end(pen);
}

static struct seep_error *nothing_matches(const struct seep_plot *plot) {
    return seep_error_hint(
        seep_error_create(SEEP_E_UNSUPPORTED, "plot: nothing in %s matches the filters", plot->source),
        "leave out a filter, or let more through");
}

static struct seep_error *plot_bars(FILE *out, const struct seep_plot *plot,
                                    struct seep_view_options *options) {
    bool ages = plot->what == SEEP_PLOT_AGES;
    struct seep_view *view = NULL;
    struct seep_bars bars;
    char *title = NULL;
    options->by = ages ? SEEP_BY_SITE : SEEP_BY_SIZE;
    options->blocks = ages;
    struct seep_error *error = seep_view_create(plot->session, SIZE_MAX, plot->symbols, options, &view);
    if (error && error->code == SEEP_E_UNSUPPORTED) {
        seep_error_destroy(error);
        error = seep_error_hint(seep_error_create(SEEP_E_UNSUPPORTED,
                                                  "plot: %s does not keep its live blocks one by one",
                                                  plot->source),
                                "--what flame -o OUT.svg does without");
    }
    if (!error)
        error = make_title(view, ages ? "ages of live blocks" : "sizes of blocks", &title);
    if (!error && view->filtered && !view->nr_rows)
        error = nothing_matches(plot);
    if (!error && ages)
        error = seep_bars_of_ages(&bars, view);
    else if (!error)
        seep_bars_of_sizes(&bars, view);
    if (!error && !bars.nr_rows)
        error = seep_error_create(SEEP_E_UNSUPPORTED, "plot: there are no blocks in %s", plot->source);
    if (!error)
        error = draw_bars(out, plot, &bars, title);
    seep_view_destroy(view);
    free(title);
    return error;
}

// ---- the call tree -----------------------------------------------------------------------------------

static struct seep_error *draw_flame(FILE *out, const struct seep_plot *plot,
                                     const struct seep_call_tree *tree, const struct seep_measure *measure,
                                     const char *title) {
    struct seep_flame flame;
    struct seep_pen *pen;
    double width, height;
    if (!tree->calls[0].total)
        return seep_error_hint(
            seep_error_create(SEEP_E_UNSUPPORTED, "plot: %s has no %s", plot->source, measure->title),
            "--sort chooses another figure: allocations, bytes, temporary, peak, leaked");
    seep_flame_init(&flame, tree, measure);
    seep_flame_size(&flame, &width, &height);
    struct seep_error *error = begin_pen(out, plot->form, width, height, title, &pen);
    if (error)
        return error;
    seep_flame_draw(&flame, title, pen);
    return pen->ops->end(pen);
}

static struct seep_error *plot_flame(FILE *out, const struct seep_plot *plot,
                                     struct seep_view_options *options) {
    struct seep_stack_table table = SEEP_STACK_TABLE_INIT;
    struct seep_call_tree tree = {NULL};
    struct seep_view *view = NULL;
    uint32_t *nodes = NULL;
    char *title = NULL, what[64];
    options->by = SEEP_BY_SITE;
    struct seep_error *error = seep_view_create(plot->session, SIZE_MAX, plot->symbols, options, &view);
    if (!error && view->filtered && !view->nr_rows)
        error = nothing_matches(plot);
    uint64_t *values = error ? NULL : calloc(view->nr_rows + 1, sizeof(*values));
    if (!error && !values)
        error = seep_error_no_memory();
    const struct seep_measure *measure = error ? NULL : seep_measure_of_sort(view->options.sort);
    for (size_t i = 0; !error && i < view->nr_rows; i++)
        values[i] = seep_measure_value(measure, &view->rows[i]);
    if (!error)
        error = seep_stack_table_of(&table, view, &nodes);
    if (!error)
        error = seep_call_tree_init(&tree, &table, nodes, values, view->nr_rows, false, 0, 0);
    if (!error) {
        snprintf(what, sizeof(what), "%s by call", measure->title);
        error = make_title(view, what, &title);
    }
    if (!error)
        error = draw_flame(out, plot, &tree, measure, title);
    seep_call_tree_deinit(&tree);
    free(nodes);
    free(values);
    free(title);
    seep_stack_table_deinit(&table);
    seep_view_destroy(view);
    return error;
}

struct seep_error *seep_plot_write(FILE *out, const struct seep_plot *plot) {
    struct seep_view_options options = *plot->options;
    options.top = 0;
    options.all_rows = true;
    switch (plot->what) {
    case SEEP_PLOT_TIMELINE:
        return plot_timeline(out, plot, &options);
    case SEEP_PLOT_FLAME:
        return plot_flame(out, plot, &options);
    default:
        return plot_bars(out, plot, &options);
    }
}
