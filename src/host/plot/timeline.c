// SPDX-License-Identifier: BSD-2-Clause
// What was live over time, see timeline.h.
#include <inttypes.h>
#include <stdlib.h>

#include "base/sum.h"
#include "base/words.h"
#include "plot/ticks.h"
#include "plot/timeline.h"

// ---- the figures -------------------------------------------------------------------------------------

struct rank {
    uint32_t row;
    uint64_t most;
};

static int by_most(const void *left, const void *right) {
    const struct rank *a = left, *b = right;
    return a->most != b->most ? (a->most < b->most ? 1 : -1) : a->row < b->row ? -1 : 1;
}

// Calls `take` for each row that a snapshot changes, with what it has then. Numbers of a file may be absurd:
// differences wrap around, and so do their sums, which are right again then.
struct pass {
    const struct seep_view *view;
    const struct seep_profile *profile;
    uint64_t *sites; // what each has
    uint64_t *rows;
};

static bool pass_init(struct pass *pass, const struct seep_view *view) {
    const struct seep_profile *profile = view->session->profiles[view->first_process];
    *pass = (struct pass){view, profile, calloc(profile->nr_sites + (size_t)1, sizeof(uint64_t)),
                          calloc(view->nr_rows + 1, sizeof(uint64_t))};
    return pass->sites && pass->rows;
}

static void pass_deinit(struct pass *pass) {
    free(pass->sites);
    free(pass->rows);
}

// The row that the site is in, or SIZE_MAX.
static size_t pass_apply(struct pass *pass, const struct seep_snapshot_site *now, uint64_t *ret_delta) {
    uint32_t row = now->site < pass->profile->nr_sites ? pass->view->site_rows[0][now->site] : 0;
    if (!row)
        return SIZE_MAX;
    *ret_delta = now->live_bytes - pass->sites[now->site];
    pass->sites[now->site] = now->live_bytes;
    pass->rows[row - 1] += *ret_delta;
    return row - 1;
}

static struct seep_error *find_biggest(const struct seep_view *view, struct seep_timeline *timeline,
                                       struct rank *ranks) {
    struct pass pass;
    struct seep_error *error = pass_init(&pass, view) ? NULL : seep_error_no_memory();
    for (size_t i = 0; i < view->nr_rows; i++)
        ranks[i] = (struct rank){.row = (uint32_t)i};
    uint64_t total = 0, delta;
    for (uint32_t m = 0; !error && m < timeline->profile->nr_snapshots; m++) {
        const struct seep_snapshot *snapshot = &timeline->profile->snapshots[m];
        for (uint32_t i = 0; i < snapshot->nr_sites; i++) {
            size_t row = pass_apply(&pass, &snapshot->sites[i], &delta);
            if (row == SIZE_MAX)
                continue;
            total += delta;
            ranks[row].most = SEEP_MAX(ranks[row].most, pass.rows[row]);
        }
        timeline->totals[m] = total;
        if (total > timeline->totals[timeline->highest])
            timeline->highest = m;
    }
    pass_deinit(&pass);
    qsort(ranks, view->nr_rows, sizeof(*ranks), by_most);
    return error;
}

static struct seep_error *fill_layers(const struct seep_view *view, struct seep_timeline *timeline,
                                      const struct rank *ranks) {
    struct pass pass;
    struct seep_error *error = pass_init(&pass, view) ? NULL : seep_error_no_memory();
    uint64_t delta;
    for (uint32_t m = 0; !error && m < timeline->profile->nr_snapshots; m++) {
        const struct seep_snapshot *snapshot = &timeline->profile->snapshots[m];
        for (uint32_t i = 0; i < snapshot->nr_sites; i++)
            (void)pass_apply(&pass, &snapshot->sites[i], &delta);
        uint64_t rest = timeline->totals[m];
        for (size_t l = 0; l < timeline->nr_layers; l++) {
            struct seep_timeline_layer *layer = &timeline->layers[l];
            layer->bytes[m] = layer->label ? pass.rows[ranks[l].row] : rest;
            rest -= layer->bytes[m];
            layer->most = SEEP_MAX(layer->most, layer->bytes[m]);
        }
    }
    pass_deinit(&pass);
    return error;
}

void seep_timeline_deinit(struct seep_timeline *timeline) {
    free(timeline->totals);
    for (size_t i = 0; i < timeline->nr_layers; i++)
        free(timeline->layers[i].bytes);
}

static const char *label_of(const struct seep_view *view, const struct seep_view_row *row) {
    return view->options.by == SEEP_BY_FUNCTION ? seep_stacks_name_shown(view->stacks, row->key) : row->key;
}

struct seep_error *seep_timeline_make(const struct seep_view *view, struct seep_timeline *ret_timeline) {
    struct seep_timeline timeline = {.profile = view->session->profiles[view->first_process],
                                     .by = seep_view_by_name(view->options.by),
                                     .filtered = view->filtered};
    size_t nr = SEEP_MAX(timeline.profile->nr_snapshots, 1u);
    struct rank *ranks = calloc(view->nr_rows + 1, sizeof(*ranks));
    timeline.totals = calloc(nr, sizeof(*timeline.totals));
    struct seep_error *error =
        ranks && timeline.totals ? find_biggest(view, &timeline, ranks) : seep_error_no_memory();
    size_t nr_any = 0;
    while (!error && nr_any < view->nr_rows && ranks[nr_any].most)
        nr_any++;
    size_t nr_shown = SEEP_MIN(nr_any, (size_t)SEEP_TIMELINE_LAYERS);
    timeline.nr_others = nr_any - nr_shown;
    while (!error && timeline.nr_layers < nr_shown + (timeline.nr_others != 0)) {
        struct seep_timeline_layer *layer = &timeline.layers[timeline.nr_layers];
        layer->label = NULL;
        if (timeline.nr_layers < nr_shown)
            layer->label = label_of(view, &view->rows[ranks[timeline.nr_layers].row]);
        layer->bytes = calloc(nr, sizeof(*layer->bytes));
        if (layer->bytes)
            timeline.nr_layers++;
        else
            error = seep_error_no_memory();
    }
    if (!error)
        error = fill_layers(view, &timeline, ranks);
    free(ranks);
    if (error)
        seep_timeline_deinit(&timeline);
    else
        *ret_timeline = timeline;
    return error;
}

char *seep_timeline_words(const struct seep_timeline *timeline) {
    const struct seep_profile *profile = timeline->profile;
    uint32_t nr = profile->nr_snapshots;
    int64_t span_ns = nr ? seep_time_less(profile->snapshots[nr - 1].at_ns, profile->snapshots[0].at_ns) : 0;
    uint64_t most = timeline->totals[timeline->highest];
    // It lies between two moments, as a rule.
    bool higher = !timeline->filtered && profile->totals.peak_bytes > most;
    char *words = NULL;
    if (asprintf(&words, "%s moment%s in %s, at most %s live, at %s%s%s%s%s", seep_format_count(nr).text,
                 seep_plural(nr), seep_format_duration(span_ns).text, seep_format_bytes(most).text,
                 seep_format_duration(nr ? profile->snapshots[timeline->highest].at_ns : 0).text,
                 higher ? "; the peak was " : "", higher && !profile->totals.peak_exact ? "at least " : "",
                 higher ? seep_format_bytes(profile->totals.peak_bytes).text : "",
                 timeline->filtered ? " (of what the options let through)" : "") < 0)
        return NULL;
    return words;
}

// ---- the drawing -------------------------------------------------------------------------------------

#define WIDTH        1200.0
#define HEIGHT       460.0
#define LEFT         84.0 // of the plot
#define RIGHT        880.0
#define TOP          88.0
#define BOTTOM       414.0
#define LEGEND       (RIGHT + 28)
#define LEGEND_ROW   36.0
#define LABEL        12.5
#define MARKS_DRAWN  40u
#define MARK_COLUMNS 16u // characters of a name

struct frame {
    const struct seep_timeline *timeline;
    struct seep_pen *pen;
    int64_t begin_ns, end_ns;
    double most;     // bytes at the upper edge
    double *x;       // by moment
    double *scratch; // two of as many
};

void seep_timeline_size(const struct seep_timeline *timeline, double *ret_width, double *ret_height) {
    *ret_width = WIDTH;
    *ret_height = HEIGHT;
}

static double x_of(const struct frame *frame, int64_t at_ns) {
    double span = (double)seep_time_less(frame->end_ns, frame->begin_ns);
    double at = (double)seep_time_less(at_ns, frame->begin_ns);
    return span > 0 ? LEFT + (RIGHT - LEFT) * at / span : LEFT;
}

static double y_of(const struct frame *frame, double bytes) {
    return BOTTOM - (BOTTOM - TOP) * bytes / frame->most;
}

static void put_grid(const struct frame *frame, double step) {
    struct seep_pen *pen = frame->pen;
    for (double bytes = 0; bytes <= frame->most; bytes += step) {
        double y = y_of(frame, bytes), xs[] = {LEFT, RIGHT}, ys[] = {y, y};
        pen->ops->line(pen, xs, ys, 2, SEEP_INK_LINE, 1, false);
        struct seep_number number = {"0"};
        if (bytes > 0)
            number = seep_format_bytes((uint64_t)SEEP_MIN(bytes, 0x1p63));
        pen->ops->text(pen, LEFT - 10, y + 4, SEEP_ANCHOR_END, LABEL, false, SEEP_INK_QUIET, number.text);
    }
}

static void put_times(const struct frame *frame) {
    struct seep_pen *pen = frame->pen;
    double span = (double)seep_time_less(frame->end_ns, frame->begin_ns), step = seep_tick_ns(span, 7);
    double first = (double)(int64_t)((double)frame->begin_ns / step) * step;
    for (double at = first; at <= SEEP_MIN((double)frame->end_ns, 0x1p62) && span > 0; at += step) {
        if (at < (double)frame->begin_ns)
            continue;
        double x = x_of(frame, (int64_t)at), xs[] = {x, x}, ys[] = {BOTTOM, BOTTOM + 5};
        pen->ops->line(pen, xs, ys, 2, SEEP_INK_QUIET, 1, false);
        pen->ops->text(pen, x, BOTTOM + 22, SEEP_ANCHOR_MIDDLE, LABEL, false, SEEP_INK_QUIET,
                       seep_tick_time((int64_t)at).text);
    }
}

static enum seep_ink ink_of(const struct seep_timeline *timeline, size_t layer) {
    return timeline->layers[layer].label ? SEEP_INK_HUE + (int)(layer % SEEP_INK_HUES) : SEEP_INK_REST;
}

static const char *name_of(const struct seep_timeline *timeline, size_t layer, char *room, size_t bytes) {
    if (timeline->layers[layer].label)
        return timeline->layers[layer].label;
    snprintf(room, bytes, "%s smaller one%s", seep_format_count(timeline->nr_others).text,
             seep_plural(timeline->nr_others));
    return room;
}

// The biggest at the bottom, as what lies there is read best.
static void put_layers(const struct frame *frame) {
    const struct seep_timeline *timeline = frame->timeline;
    size_t nr = timeline->profile->nr_snapshots;
    double *lower = frame->scratch, *upper = frame->scratch + nr;
    char room[80];
    for (size_t m = 0; m < nr; m++)
        upper[m] = BOTTOM;
    for (size_t l = 0; l < timeline->nr_layers; l++) {
        for (size_t m = 0; m < nr; m++) {
            lower[m] = upper[m];
            upper[m] = lower[m] - (BOTTOM - TOP) * (double)timeline->layers[l].bytes[m] / frame->most;
        }
        frame->pen->ops->area(frame->pen, frame->x, upper, lower, nr, ink_of(timeline, l),
                              name_of(timeline, l, room, sizeof(room)));
    }
}

static uint64_t rss_of(const struct seep_timeline *timeline) {
    uint64_t most = 0;
    for (uint32_t m = 0; m < timeline->profile->nr_snapshots; m++)
        most = SEEP_MAX(most, timeline->profile->snapshots[m].rss_bytes);
    return most;
}

// Where it is far more than the heap, the layers would be a line at the bottom: it is in the legend only.
static bool rss_is_drawn(const struct seep_timeline *timeline) {
    return rss_of(timeline) / 4 <= timeline->totals[timeline->highest];
}

// In pieces where it was not known.
static void put_rss(const struct frame *frame) {
    const struct seep_profile *profile = frame->timeline->profile;
    double *y = frame->scratch;
    for (uint32_t m = 0, begin = 0; m <= profile->nr_snapshots; m++) {
        if (m < profile->nr_snapshots && profile->snapshots[m].rss_bytes) {
            y[m] = y_of(frame, (double)profile->snapshots[m].rss_bytes);
            continue;
        }
        if (m > begin + 1)
            frame->pen->ops->line(frame->pen, frame->x + begin, y + begin, m - begin, SEEP_INK_TEXT, 1.5,
                                  true);
        begin = m + 1;
    }
}

// A name is left out where the one before it ends too late.
static void put_marks(const struct frame *frame) {
    const struct seep_profile *profile = frame->timeline->profile;
    struct seep_pen *pen = frame->pen;
    double free_x = LEFT;
    for (uint32_t i = 0, nr = 0; i < profile->nr_marks && nr < MARKS_DRAWN; i++) {
        const struct seep_mark *mark = &profile->marks[i];
        if (mark->at_ns < frame->begin_ns || mark->at_ns > frame->end_ns)
            continue;
        nr++;
        double x = x_of(frame, mark->at_ns), xs[] = {x, x}, ys[] = {TOP - 4, BOTTOM};
        pen->ops->line(pen, xs, ys, 2, SEEP_INK_ACCENT, 1, true);
        char *name = x >= free_x ? seep_pen_fit(mark->name, 11, MARK_COLUMNS * 6.6) : NULL;
        if (name) {
            pen->ops->text(pen, x + 2, TOP - 8, SEEP_ANCHOR_START, 11, false, SEEP_INK_ACCENT, name);
            free_x = x + MARK_COLUMNS * 6.6 + 8;
        }
        free(name);
    }
}

// From top to bottom as the layers lie.
static void put_legend(const struct frame *frame) {
    const struct seep_timeline *timeline = frame->timeline;
    struct seep_pen *pen = frame->pen;
    double y = TOP + 8;
    char room[80], figures[128];
    for (size_t i = timeline->nr_layers; i > 0; i--, y += LEGEND_ROW) {
        const struct seep_timeline_layer *layer = &timeline->layers[i - 1];
        const char *whole = name_of(timeline, i - 1, room, sizeof(room));
        char *name = seep_pen_fit(whole, LABEL, WIDTH - LEGEND - 34);
        pen->out_of_memory |= !name;
        pen->ops->box(pen, LEGEND, y - 8, 11, 11, ink_of(timeline, i - 1), whole);
        pen->ops->text(pen, LEGEND + 18, y + 2, SEEP_ANCHOR_START, LABEL, false, SEEP_INK_TEXT,
                       name ? name : "");
        snprintf(figures, sizeof(figures), "%s at most, %s at the end", seep_format_bytes(layer->most).text,
                 seep_format_bytes(layer->bytes[timeline->profile->nr_snapshots - 1]).text);
        pen->ops->text(pen, LEGEND + 18, y + 17, SEEP_ANCHOR_START, 11, false, SEEP_INK_QUIET, figures);
        free(name);
    }
    uint64_t rss = rss_of(timeline);
    if (!rss)
        return;
    double xs[] = {LEGEND - 2, LEGEND + 13}, ys[] = {y - 2, y - 2};
    bool drawn = rss_is_drawn(timeline);
    if (drawn)
        pen->ops->line(pen, xs, ys, 2, SEEP_INK_TEXT, 1.5, true);
    snprintf(figures, sizeof(figures), "resident memory, %s at most%s", seep_format_bytes(rss).text,
             drawn ? "" : ", far above");
    pen->ops->text(pen, LEGEND + (drawn ? 18 : 0), y + 2, SEEP_ANCHOR_START, LABEL, false, SEEP_INK_TEXT,
                   figures);
}

void seep_timeline_draw(const struct seep_timeline *timeline, const char *title, struct seep_pen *pen) {
    const struct seep_profile *profile = timeline->profile;
    size_t nr = profile->nr_snapshots;
    struct frame frame = {timeline,
                          pen,
                          profile->snapshots[0].at_ns,
                          profile->snapshots[nr - 1].at_ns,
                          0,
                          calloc(nr, sizeof(double)),
                          calloc(2 * nr, sizeof(double))};
    char *words = seep_timeline_words(timeline);
    char *head = seep_pen_fit(title, 18, WIDTH - LEFT);
    if (frame.x && frame.scratch && words && head) {
        bool with_rss = rss_is_drawn(timeline);
        double most = (double)SEEP_MAX(timeline->totals[timeline->highest], with_rss ? rss_of(timeline) : 0);
        double step = seep_tick_bytes(SEEP_MAX(most, 1.0), 6);
        while (frame.most < most || frame.most == 0)
            frame.most += step;
        for (size_t m = 0; m < nr; m++)
            frame.x[m] = x_of(&frame, profile->snapshots[m].at_ns);
        pen->ops->text(pen, 24, 36, SEEP_ANCHOR_START, 18, true, SEEP_INK_TEXT, head);
        pen->ops->text(pen, 24, 58, SEEP_ANCHOR_START, LABEL, false, SEEP_INK_QUIET, words);
        put_grid(&frame, step);
        put_layers(&frame);
        if (with_rss)
            put_rss(&frame);
        put_times(&frame);
        put_marks(&frame);
        put_legend(&frame);
    } else {
        pen->out_of_memory = true;
    }
    free(frame.x);
    free(frame.scratch);
    free(words);
    free(head);
}
