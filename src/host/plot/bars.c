// SPDX-License-Identifier: BSD-2-Clause
// Figures of classes as bars, see bars.h.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/ages.h"
#include "base/numbers.h"
#include "base/sum.h"
#include "plot/bars.h"

// ---- the figures -------------------------------------------------------------------------------------

static void add_panel(struct seep_bars *bars, const char *title, bool bytes) {
    bars->panels[bars->nr_panels].title = title;
    bars->panels[bars->nr_panels].bytes = bytes;
    bars->nr_panels++;
}

static void sum_up(struct seep_bars *bars) {
    for (size_t i = 0; i < bars->nr_rows; i++)
        for (size_t p = 0; p < bars->nr_panels; p++) {
            bars->panels[p].most = SEEP_MAX(bars->panels[p].most, bars->rows[i].values[p]);
            seep_add_up(&bars->panels[p].all, bars->rows[i].values[p]);
        }
}

// "1 to 1.9 KiB" would not tell where a class begins: the powers of two, above 1 KiB in units.
static void label_of(unsigned class, char label[48]) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    if (class <= 1) {
        snprintf(label, 48, "%u B", class);
        return;
    }
    unsigned low = class - 1, unit = low / 10;
    if (low % 10 == 9) // up to the next unit
        snprintf(label, 48, "512 %s to 1 %s", units[unit], units[SEEP_MIN(unit + 1, 6u)]);
    else
        snprintf(label, 48, "%u to %u %s", 1u << low % 10, 2u << low % 10, units[unit]);
}

void seep_bars_of_sizes(struct seep_bars *bars, const struct seep_view *view) {
    uint64_t values[66][SEEP_BARS_PANELS] = {0};
    unsigned first = 66, last = 0;
    *bars = (struct seep_bars){.what = "requested size of a block"};
    bool counted = view->nr_rows && view->rows[0].known & SEEP_KNOWN_ALLOCATIONS;
    add_panel(bars, "live bytes", true);
    add_panel(bars, "live blocks", false);
    if (counted)
        add_panel(bars, "allocations", false);
    for (size_t i = 0; i < view->nr_rows; i++) {
        const struct seep_view_row *row = &view->rows[i];
        bool is_class = row->key[0] >= '0' && row->key[0] <= '9';
        uint64_t low = is_class ? strtoull(row->key, NULL, 10) : 0;
        unsigned class = !is_class ? 65u : low ? 64u - (unsigned)__builtin_clzll(low) : 0;
        values[class][0] = (uint64_t)SEEP_MAX(row->live_bytes, INT64_C(0));
        values[class][1] = (uint64_t)SEEP_MAX(row->live_blocks, INT64_C(0));
        values[class][2] = row->counters.allocations;
        if (is_class) {
            first = SEEP_MIN(first, class);
            last = SEEP_MAX(last, class);
        }
    }
    for (unsigned class = first; class <= SEEP_MIN(last, 64u); class ++) {
        label_of(class, bars->rows[bars->nr_rows].label);
        memcpy(bars->rows[bars->nr_rows++].values, values[class], sizeof(values[class]));
    }
    if (values[65][0] || values[65][1] || values[65][2]) {
        strcpy(bars->rows[bars->nr_rows].label, "size not kept");
        memcpy(bars->rows[bars->nr_rows++].values, values[65], sizeof(values[65]));
    }
    sum_up(bars);
}

struct seep_error *seep_bars_of_ages(struct seep_bars *bars, const struct seep_view *view) {
    struct seep_ages ages = {0};
    *bars = (struct seep_bars){.what = "age of what is live"};
    for (size_t i = 0; i < view->nr_rows; i++)
        for (size_t b = 0; b < view->rows[i].nr_blocks; b++)
            seep_ages_add_block(&ages, view->rows[i].blocks[b].size, view->rows[i].blocks[b].age_ns);
    if (!ages.known)
        return seep_error_hint(
            seep_error_create(SEEP_E_UNSUPPORTED, "plot: no block has its age"),
            "'seep run --age' keeps the ages of blocks, and a recording has them, also at a "
            "moment: FILE@peak, FILE@2s");
    add_panel(bars, "live bytes", true);
    add_panel(bars, "live blocks", false);
    size_t last = SEEP_AGE_SPANS;
    while (last > 1 && !ages.spans[last - 1].blocks)
        last--;
    for (size_t i = 0; i < last; i++) {
        snprintf(bars->rows[i].label, sizeof(bars->rows[i].label), "%s", seep_age_words(i));
        bars->rows[i].values[0] = ages.spans[i].bytes;
        bars->rows[i].values[1] = ages.spans[i].blocks;
    }
    bars->nr_rows = last;
    sum_up(bars);
    return NULL;
}

// ---- the drawing -------------------------------------------------------------------------------------

#define WIDTH  1200.0
#define LEFT   170.0 // of the first panel
#define GAP    36.0
#define TOP    104.0
#define ROW    26.0
#define NUMBER 84.0 // room behind a bar
#define LABEL  12.5

void seep_bars_size(const struct seep_bars *bars, double *ret_width, double *ret_height) {
    *ret_width = WIDTH;
    *ret_height = TOP + ROW * (double)bars->nr_rows + 28;
}

static struct seep_number number_of(const struct seep_bars *bars, size_t panel, uint64_t value) {
    return bars->panels[panel].bytes ? seep_format_bytes(value) : seep_format_count(value);
}

static void put_panel(const struct seep_bars *bars, size_t panel, struct seep_pen *pen) {
    double width = (WIDTH - LEFT - 24) / (double)bars->nr_panels, x = LEFT + width * (double)panel;
    double room = width - NUMBER - GAP;
    char words[128];
    snprintf(words, sizeof(words), "%s, %s in all", bars->panels[panel].title,
             number_of(bars, panel, bars->panels[panel].all).text);
    pen->ops->text(pen, x, TOP - 14, SEEP_ANCHOR_START, LABEL, true, SEEP_INK_TEXT, words);
    double xs[] = {x, x}, ys[] = {TOP - 2, TOP + ROW * (double)bars->nr_rows};
    pen->ops->line(pen, xs, ys, 2, SEEP_INK_LINE, 1, false);
    for (size_t i = 0; i < bars->nr_rows; i++) {
        uint64_t value = bars->rows[i].values[panel];
        double y = TOP + ROW * (double)i;
        double length =
            bars->panels[panel].most ? room * (double)value / (double)bars->panels[panel].most : 0;
        if (value)
            pen->ops->box(pen, x, y + 4, SEEP_MAX(length, 1.0), ROW - 8, SEEP_INK_HUE + (int)panel, NULL);
        snprintf(words, sizeof(words), "%s", value ? number_of(bars, panel, value).text : "0");
        pen->ops->text(pen, x + SEEP_MAX(length, 1.0) + 8, y + ROW / 2 + 4.5, SEEP_ANCHOR_START, LABEL, false,
                       value ? SEEP_INK_TEXT : SEEP_INK_QUIET, words);
    }
}

void seep_bars_draw(const struct seep_bars *bars, const char *title, struct seep_pen *pen) {
    char *head = seep_pen_fit(title, 18, WIDTH - 48);
    pen->out_of_memory |= !head;
    pen->ops->text(pen, 24, 36, SEEP_ANCHOR_START, 18, true, SEEP_INK_TEXT, head ? head : "");
    pen->ops->text(pen, 24, 58, SEEP_ANCHOR_START, LABEL, false, SEEP_INK_QUIET, bars->what);
    for (size_t i = 0; i < bars->nr_rows; i++)
        pen->ops->text(pen, LEFT - 12, TOP + ROW * (double)i + ROW / 2 + 4.5, SEEP_ANCHOR_END, LABEL, false,
                       SEEP_INK_QUIET, bars->rows[i].label);
    for (size_t p = 0; p < bars->nr_panels; p++)
        put_panel(bars, p, pen);
    free(head);
}
