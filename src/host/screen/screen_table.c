// SPDX-License-Identifier: BSD-2-Clause
// The table of the live screen: heads, rows, leaks, branches of the tree. See screen_parts.h.
#include <stdio.h>
#include <string.h>

#include "screen/screen_parts.h"

enum column { LIVE, RATE, SINCE, BLOCKS, ALLOCATIONS, TEMPORARY, TREND, VERDICT };
_Static_assert(VERDICT + 1 == SEEP_SCREEN_COLUMNS, "a column of the table");

static const struct {
    const char *title;
    int width; // with the blank before it
    int sort;  // -1: not by it
    int rank;  // the highest is left out first
} columns[SEEP_SCREEN_COLUMNS] = {
    [LIVE] = {"LIVE", 8, SEEP_LIVE_SORT_LIVE, 0},
    [RATE] = {"/s", 7, SEEP_LIVE_SORT_RATE, 1},
    [SINCE] = {"SINCE", 8, SEEP_LIVE_SORT_SINCE, 3},
    [BLOCKS] = {"BLOCKS", 9, SEEP_LIVE_SORT_BLOCKS, 2},
    [ALLOCATIONS] = {"ALLOC/s", 8, SEEP_LIVE_SORT_ALLOCATIONS, 6},
    [TEMPORARY] = {"TMP", 5, SEEP_LIVE_SORT_TEMPORARY, 7},
    [TREND] = {"TREND", 9, -1, 5},
    [VERDICT] = {"VERDICT", 8, -1, 4},
};

// What does not go on has no rates.
static bool is_past(const struct seep_screen *screen) {
    return screen->is_file || screen->live->look.ended;
}

#define WHERE_LEAST 18
#define WHERE_WIDE  36 // of fewer columns the file's name is left out

int seep_screen_choose_columns(const struct seep_screen *screen, int nr_columns, bool *ret_shown) {
    int width = 0;
    for (int i = 0; i < SEEP_SCREEN_COLUMNS; i++) {
        ret_shown[i] = true;
        if (screen->tab == SEEP_TAB_THREADS && (i == TREND || i == VERDICT))
            ret_shown[i] = false;
        if (i == SINCE && !screen->live->mark[0])
            ret_shown[i] = false;
        if ((is_past(screen) && i == RATE) || (screen->is_file && (i == TREND || i == VERDICT)))
            ret_shown[i] = false;
        if (ret_shown[i])
            width += columns[i].width;
    }
    for (int rank = SEEP_SCREEN_COLUMNS - 1; rank > 0 && width + 1 + WHERE_LEAST > nr_columns; rank--)
        for (int i = 0; i < SEEP_SCREEN_COLUMNS; i++)
            if (ret_shown[i] && columns[i].rank == rank) {
                ret_shown[i] = false;
                width -= columns[i].width;
            }
    return width;
}

void seep_screen_draw_heads(const struct seep_screen *screen, struct seep_canvas *canvas, int y,
                            const bool *shown, const char *where) {
    int x = 0;
    for (int i = 0; i < SEEP_SCREEN_COLUMNS; i++) {
        if (!shown[i])
            continue;
        char title[32];
        bool sorted = columns[i].sort == screen->sort;
        snprintf(title, sizeof(title), "%s%s",
                 i == ALLOCATIONS && is_past(screen) ? "ALLOCS" : columns[i].title,
                 !sorted         ? ""
                 : canvas->ascii ? "v"
                                 : "▼");
        unsigned attributes = SEEP_ATTR_LINE | (sorted ? SEEP_ATTR_BOLD : 0);
        if (i == TREND || i == VERDICT)
            seep_canvas_put(canvas, x + 1, y, columns[i].width - 1, attributes, title);
        else
            seep_canvas_put_right(canvas, x, y, columns[i].width, attributes, title);
        if (columns[i].sort >= 0)
            seep_canvas_zone(canvas, x, y, columns[i].width, SEEP_ACTION_SORT + columns[i].sort);
        x += columns[i].width;
    }
    seep_canvas_put(canvas, x + 1, y, -1, SEEP_ATTR_LINE, where);
    seep_canvas_fill(canvas, y, SEEP_ATTR_LINE);
}

static const char *verdict_word(enum seep_trend_verdict verdict) {
    static const char *const words[SEEP_TREND_NR] = {
        [SEEP_TREND_UNKNOWN] = "",          [SEEP_TREND_STEADY] = "flat",
        [SEEP_TREND_GROWING] = "GROWS",     [SEEP_TREND_PLATEAU] = "plateau",
        [SEEP_TREND_SAWTOOTH] = "sawtooth", [SEEP_TREND_SHRINKING] = "shrinks",
        [SEEP_TREND_NONE] = "no trend",
    };
    return words[verdict];
}

// Of too few looks for a verdict: whether it keeps more than a hundredth of what it allocates.
static bool may_grow(const struct seep_live_row *row) {
    const struct seep_counters *all = &row->row->counters;
    double allocated_per_s =
        all->allocations ? row->allocations_per_s * (double)all->allocated_bytes / (double)all->allocations
                         : 0;
    return row->verdict == SEEP_TREND_UNKNOWN && row->bytes_per_s > allocated_per_s / 100;
}

// "churn": it holds what it held, and most of what it allocates is freed at once.
static const char *verdict_of(const struct seep_live_row *row) {
    if (row->verdict != SEEP_TREND_GROWING && !may_grow(row) && row->temporary_percent >= 50 &&
        row->allocations_per_s >= 1000)
        return "churn";
    return verdict_word(row->verdict);
}

static void put_cell(struct seep_canvas *canvas, int x, int y, int column, const struct seep_live_row *row,
                     bool past, unsigned attributes) {
    struct seep_number number = {"-"};
    int room = columns[column].width - 1;
    const struct seep_view_row *of = row->row;
    switch (column) {
    case LIVE:
        number = seep_screen_short_bytes((double)of->live_bytes);
        break;
    case RATE:
        if (row->per_s_known)
            number = seep_screen_short_change(row->bytes_per_s);
        break;
    case SINCE:
        if (row->since_known)
            number = seep_screen_short_change((double)row->since_bytes);
        break;
    case BLOCKS:
        number = of->live_blocks < 0 ? seep_screen_small_number((double)of->live_blocks, 1000, true)
                                     : seep_screen_short_count((double)of->live_blocks, room);
        break;
    case ALLOCATIONS:
        if (row->per_s_known)
            number = seep_screen_short_count(row->allocations_per_s, room);
        else if (past)
            number = seep_screen_short_count((double)of->counters.allocations, room);
        break;
    case TEMPORARY:
        if (row->temporary_percent >= 0)
            snprintf(number.text, sizeof(number.text), "%d%%", row->temporary_percent);
        break;
    case TREND: {
        double values[SEEP_LIVE_POINTS];
        for (size_t i = 0; i < row->nr_trend; i++)
            values[i] = (double)row->trend[i];
        seep_canvas_put_bars(canvas, x + 1, y, 8, attributes, values, row->nr_trend,
                             seep_screen_foot_of(values, row->nr_trend));
        return;
    }
    default:
        seep_canvas_put(canvas, x + 1, y, room,
                        attributes | (row->verdict == SEEP_TREND_GROWING ? SEEP_ATTR_WARN : 0),
                        verdict_of(row));
        return;
    }
    seep_canvas_put_right(canvas, x + 1, y, room, attributes, number.text);
}

void seep_screen_draw_row(const struct seep_screen *screen, struct seep_canvas *canvas, int y,
                          const bool *shown, const struct seep_live_row *row, bool chosen) {
    unsigned attributes = chosen ? SEEP_ATTR_REVERSE : 0;
    if (chosen)
        seep_canvas_fill(canvas, y, SEEP_ATTR_REVERSE);
    int x = 0;
    for (int i = 0; i < SEEP_SCREEN_COLUMNS; i++) {
        if (!shown[i])
            continue;
        put_cell(canvas, x, y, i, row, is_past(screen), attributes);
        x += columns[i].width;
    }
    if (chosen) // where there are no colours it is seen by this
        seep_canvas_put(canvas, 0, y, 1, attributes, ">");
    const char *where = row->brief && canvas->nr_columns - x < WHERE_WIDE ? row->brief : row->where;
    seep_canvas_put(canvas, x + 1, y, -1, attributes, where ? where : "");
}

void seep_screen_draw_leak(struct seep_canvas *canvas, int y, const struct seep_live_row *row, bool chosen) {
    unsigned attributes = chosen ? SEEP_ATTR_REVERSE : 0;
    const struct seep_view_kinds *kinds = &row->row->kinds;
    static const int order[] = {SEEP_KIND_LOST, SEEP_KIND_INDIRECT, SEEP_KIND_POSSIBLE};
    if (chosen)
        seep_canvas_fill(canvas, y, SEEP_ATTR_REVERSE);
    int x = 1;
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(order) && (i < 1 || canvas->nr_columns >= 60); i++) {
        seep_canvas_put_right(canvas, x, y, 8, attributes,
                              seep_screen_short_bytes((double)kinds->bytes[order[i]]).text);
        x += 9;
    }
    seep_canvas_put_right(canvas, x, y, 9, attributes,
                          seep_screen_short_count((double)row->row->live_blocks, 9).text);
    if (chosen)
        seep_canvas_put(canvas, 0, y, 1, attributes, ">");
    seep_canvas_put(canvas, x + 10, y, -1, attributes, row->where ? row->where : "");
}

void seep_screen_draw_branch(const struct seep_screen *screen, struct seep_canvas *canvas, int y,
                             size_t index, bool chosen) {
    const struct seep_branch *branch = &screen->branches.branches[index];
    const struct seep_call_tree *tree = &screen->branches.tree;
    unsigned attributes = chosen ? SEEP_ATTR_REVERSE : 0;
    if (chosen)
        seep_canvas_fill(canvas, y, SEEP_ATTR_REVERSE);
    uint64_t total = tree->calls[branch->call].total;
    seep_canvas_put_right(canvas, 1, y, 7, attributes, seep_screen_short_bytes((double)total).text);
    seep_canvas_put_right(canvas, 9, y, 6, attributes, seep_format_share(total, tree->calls[0].total).text);
    if (chosen)
        seep_canvas_put(canvas, 0, y, 1, attributes, ">");
    int indent = SEEP_MIN((int)branch->depth, SEEP_MAX(canvas->nr_columns / 2 - 18, 0));
    const char *mark = !branch->has_more ? " " : branch->open ? "-" : "+";
    int x = 16 + indent;
    x += seep_canvas_printf(canvas, x, y, -1, attributes, "%s ", mark);
    seep_canvas_put(canvas, x, y, -1, attributes, seep_branch_label(&screen->branches, branch));
}
