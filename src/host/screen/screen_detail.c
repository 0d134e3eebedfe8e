// SPDX-License-Identifier: BSD-2-Clause
// The details of the chosen row on the live screen: stack, sizes, ages, holders, source. See screen_parts.h.
#include <stdio.h>
#include <string.h>

#include "screen/screen_parts.h"

static void draw_stack(const struct seep_screen *screen, struct seep_canvas *canvas, int y, int nr,
                       int room) {
    const struct seep_live_detail *detail = &screen->detail;
    size_t first = SEEP_MIN(screen->detail_first, detail->nr_frames ? detail->nr_frames - 1 : 0);
    size_t shown = SEEP_MIN(detail->nr_frames - first, (size_t)nr);
    if (!detail->nr_frames) {
        seep_canvas_put(canvas, 2, y, room - 2, SEEP_ATTR_DIM, "no stack");
        return;
    }
    for (size_t i = 0; i < shown; i++) {
        size_t frame = first + shown - 1 - i; // the outermost of those above
        int indent = 1 + SEEP_MIN((int)i, 12);
        bool cut = i == 0 && (first + shown < detail->nr_frames || detail->nr_more);
        seep_canvas_printf(canvas, indent, y + (int)i, room - indent,
                           frame == detail->self ? SEEP_ATTR_BOLD : 0, "%s%s%s",
                           cut ? (canvas->ascii ? "^ " : "↑ ") : "", detail->frames[frame].text,
                           detail->frames[frame].inlined ? " (inlined)" : "");
    }
}

// The sizes that have most blocks, in the order of sizes.
static void draw_sizes(const struct seep_live_detail *detail, struct seep_canvas *canvas, int x, int y) {
    struct seep_screen_pen pen = {canvas, x, y};
    seep_screen_write_piece(&pen, 0, "sizes ");
    double most = 0;
    for (unsigned i = 0; i < 64; i++)
        most = SEEP_MAX(most, (double)detail->sizes[i]);
    for (unsigned i = 0; i < 64; i++) {
        if (!detail->sizes[i] || (double)detail->sizes[i] < most / 50 || canvas->nr_columns - pen.x < 9)
            continue;
        bool same = detail->size_least[i] == detail->size_most[i];
        struct seep_number size =
            seep_screen_short_bytes((double)(same ? detail->size_least[i] : UINT64_C(1) << i));
        pen.x += seep_canvas_printf(canvas, pen.x, y, -1, 0, "%s%s ", size.text, same ? "" : "+");
        uint32_t level = (uint32_t)((double)detail->sizes[i] / most * 7.999); // against the largest
        char block[4] = {(char)0xe2, (char)0x96, (char)(0x81 + level), 0};
        static const char levels[] = ".:-=+*##";
        char plain[2] = {levels[level], 0};
        pen.x += seep_canvas_put(canvas, pen.x, y, -1, 0, canvas->ascii ? plain : block) + 1;
    }
}

static void draw_ages(const struct seep_live_detail *detail, struct seep_canvas *canvas, int x, int y) {
    static const char *const names[SEEP_LIVE_AGES] = {"<1m", "<10m", "<1h", ">1h"};
    struct seep_screen_pen pen = {canvas, x, y};
    if (!detail->ages_known) {
        seep_screen_write_piece(&pen, SEEP_ATTR_DIM, "age   not kept: seep run --age");
        return;
    }
    seep_screen_write_piece(&pen, 0, "age   ");
    for (unsigned i = 0; i < SEEP_LIVE_AGES; i++)
        seep_screen_write_piece(&pen, detail->ages[i] ? 0 : SEEP_ATTR_DIM, "%s %s  ", names[i],
                                seep_screen_short_count((double)detail->ages[i], 9).text);
}

static void draw_held(const struct seep_live_detail *detail, struct seep_canvas *canvas, int x, int y) {
    struct seep_screen_pen pen = {canvas, x, y};
    if (!detail->scanned) {
        seep_screen_write_piece(&pen, SEEP_ATTR_DIM, "held by: S scans");
        return;
    }
    seep_canvas_printf(canvas, x, y, -1, 0, "held by: %s", detail->held ? detail->held : "nothing");
    pen.y++;
    for (int kind = SEEP_KIND_LOST; kind < SEEP_KIND_NR; kind++)
        if (kind == SEEP_KIND_LOST || detail->kinds[kind])
            seep_screen_write_piece(&pen, kind == SEEP_KIND_LOST && detail->kinds[kind] ? SEEP_ATTR_WARN : 0,
                                    "%s %s  ", seep_kind_name((uint32_t)kind),
                                    seep_screen_short_count((double)detail->kinds[kind], 9).text);
}

// As many lines around that of the frame as there is room for, without what all of them begin with.
static void draw_source(const struct seep_live_detail *detail, struct seep_canvas *canvas, int x, int y,
                        int nr) {
    unsigned first = detail->source_first, last = first + detail->nr_source;
    if (nr < (int)SEEP_LIVE_SOURCE) {
        first = detail->source_line;
        last = SEEP_MIN(last, first + (unsigned)nr);
    }
    size_t lead = SIZE_MAX;
    for (unsigned i = first; i < last; i++) {
        const char *text = detail->source[i - detail->source_first];
        if (*text)
            lead = SEEP_MIN(lead, strspn(text, " "));
    }
    for (unsigned i = first; i < last; i++, y++) {
        const char *text = detail->source[i - detail->source_first];
        bool own = i == detail->source_line;
        seep_canvas_printf(canvas, x, y, canvas->nr_columns - x, own ? SEEP_ATTR_BOLD : 0, "%4u%s %s", i,
                           own ? ">" : " ", *text ? text + lead : "");
    }
}

void seep_screen_draw_detail(const struct seep_screen *screen, struct seep_canvas *canvas, int y, int nr) {
    seep_canvas_rule(canvas, 0, y, canvas->nr_columns);
    if (screen->selected >= screen->table.nr_rows || !screen->detail_known)
        return;
    const struct seep_live_row *row = &screen->table.rows[screen->selected];
    const struct seep_live_detail *detail = &screen->detail;
    seep_canvas_printf(canvas, 2, y, canvas->nr_columns - 4, SEEP_ATTR_BOLD, " %s%s%s ",
                       row->where ? row->where : "", detail->via ? ": " : "", detail->via ? detail->via : "");
    bool both = canvas->nr_columns >= 70;
    int left = both ? SEEP_MAX(canvas->nr_columns * 2 / 5, 31) : canvas->nr_columns;
    int below = both || nr < 6    ? 0
                : detail->scanned ? 2
                                  : 1; // lines for the holders, where there is no room beside the stack
    draw_stack(screen, canvas, y + 1, nr - 1 - below, left - 1);
    if (below)
        draw_held(detail, canvas, 1, y + nr - below);
    if (!both)
        return;
    for (int i = 1; i < nr; i++)
        seep_canvas_put(canvas, left, y + i, 1, SEEP_ATTR_DIM, canvas->ascii ? "|" : "│");
    int x = left + 2;
    draw_sizes(detail, canvas, x, y + 1);
    if (nr > 2)
        draw_ages(detail, canvas, x, y + 2);
    if (nr > 4)
        draw_held(detail, canvas, x, y + 3);
    if (nr > 5)
        draw_source(detail, canvas, x, y + 5, nr - 5);
}
