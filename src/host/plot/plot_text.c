// SPDX-License-Identifier: BSD-2-Clause
// Plots by block characters, see plot_text.h.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "output/format.h"
#include "output/wrap.h"
#include "plot/plot_text.h"
#include "plot/ticks.h"

#define WIDTH_DEFAULT 100u // columns where the output is no terminal
#define WIDTH_MOST    140u
#define WIDTH_LEAST   40u
#define HEIGHT        12u
#define MARGIN        11u // columns of the figures at the left
#define SPARK         24u
#define MARKS_SHOWN   40u
#define LABEL         20u // columns of a row's label
#define FIGURES       14u // of a figure, and of the blanks around it
#define PANEL_LEAST   18u // of a figure and its bars

static const char *const columns[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
static const char *const rows[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};

static unsigned width_of(const struct seep_style *style) {
    return style->width ? SEEP_MIN(SEEP_MAX(style->width, WIDTH_LEAST), WIDTH_MOST) : WIDTH_DEFAULT;
}

static struct seep_error *put_title(FILE *to, const struct seep_style *style, const char *title,
                                    const char *words) {
    struct seep_wrap wrap;
    FILE *out = seep_wrap_begin(&wrap, to, style);
    fputs(seep_style_bold(style), out);
    seep_put_escaped(out, title);
    fprintf(out, "%s\n%s\n\n", seep_style_off(style), words);
    return seep_wrap_end(&wrap, NULL);
}

// What there was at the last moment until then: a column may stand for no moment, or for several, of which
// the highest is shown.
static uint64_t value_in(const struct seep_profile *profile, const uint64_t *values, unsigned column,
                         unsigned nr_columns) {
    const struct seep_snapshot *all = profile->snapshots;
    uint32_t nr = profile->nr_snapshots;
    double begin = (double)all[0].at_ns, span = (double)all[nr - 1].at_ns - begin;
    double from = begin + span * column / nr_columns, to = begin + span * (column + 1) / nr_columns;
    uint64_t before = 0, most = 0;
    bool any = false;
    for (uint32_t i = 0; i < nr; i++) {
        double at = (double)all[i].at_ns;
        if (at < from)
            before = values[i];
        bool last = column + 1 == nr_columns && i + 1 == nr;
        if (at >= from && (at < to || last)) {
            most = SEEP_MAX(most, values[i]);
            any = true;
        }
    }
    return any ? most : before;
}

static unsigned level_of(double value, double most, unsigned nr) {
    if (value <= 0 || most <= 0)
        return 0;
    double at = value / most * nr + 0.5;
    return at < 1 ? 1 : at > nr ? nr : (unsigned)at;
}

static void put_chart(FILE *out, const uint64_t *values, unsigned nr, double most, double step) {
    for (unsigned line = HEIGHT; line > 0; line--) {
        double upper = most * line / HEIGHT, lower = most * (line - 1) / HEIGHT;
        double tick = (double)(uint64_t)(upper / step) * step; // the highest that is in this line
        struct seep_number number = {""};
        if (tick > lower)
            number = seep_format_bytes((uint64_t)SEEP_MIN(tick, 0x1p63));
        fprintf(out, "%*s %s", (int)MARGIN - 2, number.text, tick > lower ? "┤" : "│");
        for (unsigned i = 0; i < nr; i++) {
            unsigned level = level_of((double)values[i], most, HEIGHT * 8), below = (line - 1) * 8;
            fputs(columns[level <= below ? 0 : SEEP_MIN(level - below, 8u)], out);
        }
        fputc('\n', out);
    }
    fprintf(out, "%*s", (int)MARGIN - 1, "0 ");
    fputs("└", out);
    for (unsigned i = 0; i < nr; i++)
        fputs("─", out);
    fputc('\n', out);
}

static void put_times(FILE *out, const struct seep_profile *profile, unsigned nr) {
    struct seep_number first = seep_format_duration(profile->snapshots[0].at_ns);
    struct seep_number last = seep_format_duration(profile->snapshots[profile->nr_snapshots - 1].at_ns);
    fprintf(out, "%*s%s%*s\n", (int)MARGIN, "", first.text,
            (int)nr - (int)seep_text_width(first.text) +
                (int)(strlen(last.text) - seep_text_width(last.text)),
            last.text);
}

static void put_layer(FILE *out, const struct seep_timeline *timeline, size_t index) {
    const struct seep_timeline_layer *layer = &timeline->layers[index];
    const struct seep_profile *profile = timeline->profile;
    for (unsigned i = 0; i < SPARK; i++)
        fputs(columns[level_of((double)value_in(profile, layer->bytes, i, SPARK), (double)layer->most, 8)],
              out);
    fprintf(out, " %11s %11s  ", seep_format_bytes(layer->most).text,
            seep_format_bytes(layer->bytes[profile->nr_snapshots - 1]).text);
    if (layer->label)
        seep_put_escaped(out, layer->label);
    else
        fprintf(out, "(%s smaller)", seep_format_count(timeline->nr_others).text);
    fputc('\n', out);
}

// Their names, and those of rows, go on in the next line where the terminal ends.
static void put_marks(FILE *out, const struct seep_profile *profile) {
    for (uint32_t i = 0; i < profile->nr_marks && i < MARKS_SHOWN; i++) {
        fprintf(out, "%*smark at %s: ", (int)MARGIN, "", seep_format_duration(profile->marks[i].at_ns).text);
        seep_put_escaped(out, profile->marks[i].name);
        fputc('\n', out);
    }
}

static struct seep_error *put_layers(FILE *to, const struct seep_style *style,
                                     const struct seep_timeline *timeline) {
    struct seep_wrap wrap;
    FILE *out = seep_wrap_begin(&wrap, to, style);
    put_marks(out, timeline->profile);
    fprintf(out, "\n%s%-*s %11s %11s  %s%s\n", seep_style_bold(style), (int)SPARK, "over time", "at most",
            "at the end", timeline->by, seep_style_off(style));
    for (size_t i = 0; i < timeline->nr_layers; i++)
        put_layer(out, timeline, i);
    return seep_wrap_end(&wrap, NULL);
}

struct seep_error *seep_timeline_print(FILE *out, const struct seep_timeline *timeline, const char *title) {
    const struct seep_profile *profile = timeline->profile;
    struct seep_style style = seep_style_of(out);
    unsigned nr = width_of(&style) - MARGIN;
    char *words = seep_timeline_words(timeline);
    uint64_t *values = calloc(nr, sizeof(*values));
    if (!words || !values) {
        free(words);
        free(values);
        return seep_error_no_memory();
    }
    double most = 0, step;
    for (unsigned i = 0; i < nr; i++) {
        values[i] = value_in(profile, timeline->totals, i, nr);
        most = SEEP_MAX(most, (double)values[i]);
    }
    step = seep_tick_bytes(SEEP_MAX(most, 1.0), 4);
    struct seep_error *error = put_title(out, &style, title, words);
    put_chart(out, values, nr, SEEP_MAX(most, 1.0), step);
    put_times(out, profile, nr);
    free(words);
    free(values);
    return error ? error : put_layers(out, &style, timeline);
}

// Figures and bars of the panels from `first` until before `end`, beside one another.
static void put_panels(FILE *out, const struct seep_bars *bars, size_t first, size_t end, unsigned room,
                       const struct seep_style *style) {
    fprintf(out, "%s%-*s", seep_style_bold(style), (int)LABEL, "");
    for (size_t p = first; p < end; p++)
        fprintf(out, "%11s%*s", bars->panels[p].title, p + 1 < end ? (int)room + 3 : 0, "");
    fprintf(out, "%s\n", seep_style_off(style));
    for (size_t i = 0; i < bars->nr_rows; i++) {
        fprintf(out, "%*s ", (int)LABEL - 1, bars->rows[i].label);
        for (size_t p = first; p < end; p++) {
            uint64_t value = bars->rows[i].values[p];
            struct seep_number number =
                bars->panels[p].bytes ? seep_format_bytes(value) : seep_format_count(value);
            unsigned level = level_of((double)value, (double)bars->panels[p].most, room * 8), used = 0;
            fprintf(out, "%11s  ", value ? number.text : "0");
            for (; used < level / 8; used++)
                fputs("█", out);
            fputs(rows[level % 8], out);
            used += level % 8 != 0;
            if (p + 1 < end)
                fprintf(out, "%*s", (int)(room + 1 - used), "");
        }
        fputc('\n', out);
    }
}

struct seep_error *seep_bars_print(FILE *out, const struct seep_bars *bars, const char *title) {
    struct seep_style style = seep_style_of(out);
    unsigned width = width_of(&style) - LABEL, each = width / (unsigned)bars->nr_panels;
    bool beside = each >= PANEL_LEAST;
    struct seep_error *error = put_title(out, &style, title, bars->what);
    if (beside || error) {
        put_panels(out, bars, 0, bars->nr_panels, each - FIGURES, &style);
        return error;
    }
    for (size_t p = 0; p < bars->nr_panels; p++) {
        fputs(p ? "\n" : "", out);
        put_panels(out, bars, p, p + 1, width - FIGURES, &style);
    }
    return NULL;
}
