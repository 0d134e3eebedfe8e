// SPDX-License-Identifier: BSD-2-Clause
//
// Draws the live screen, see screen.h. From top to bottom: what it is of, the totals, tabs, columns, rows,
// what is known of the chosen row, keys. What there is no room for is left out, the least useful first.
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/numbers.h"
#include "base/words.h"
#include "profile/health.h"
#include "screen/screen.h"

#define ROWS_MOST 1000u

// ---- numbers, in as few columns as may be ----

static struct seep_number small_number(double value, double base, bool sign) {
    static const char units[] = " KMGTPE";
    struct seep_number number;
    double size = fabs(value);
    unsigned unit = 0;
    while (size >= 999.5 && unit + 2 < sizeof(units)) {
        size /= base;
        unit++;
    }
    const char *before = value < 0 ? "-" : sign && value > 0 ? "+" : "";
    if (!unit)
        snprintf(number.text, sizeof(number.text), "%s%.0f", before, size);
    else
        snprintf(number.text, sizeof(number.text), "%s%.*f%c", before, size < 99.95 ? 1 : 0, size,
                 units[unit]);
    if (strcmp(number.text, "-0") == 0 || strcmp(number.text, "+0") == 0)
        snprintf(number.text, sizeof(number.text), "0");
    return number;
}

static struct seep_number short_bytes(double bytes) {
    return small_number(bytes, 1024, false);
}

static struct seep_number short_change(double bytes) {
    return small_number(bytes, 1024, true);
}

// With commas where it fits.
static struct seep_number short_count(double count, int room) {
    struct seep_number number = seep_format_count(count > 0 ? (uint64_t)(count + 0.5) : 0);
    return (int)strlen(number.text) <= room ? number : small_number(count, 1000, false);
}

static struct seep_number short_time(int64_t ns) {
    struct seep_number number;
    int64_t s = ns / 1000000000;
    if (s < 60)
        snprintf(number.text, sizeof(number.text), "%" PRId64 "s", s);
    else if (s < 3600)
        snprintf(number.text, sizeof(number.text), "%" PRId64 "m%02" PRId64 "s", s / 60, s % 60);
    else if (s < 86400)
        snprintf(number.text, sizeof(number.text), "%" PRId64 "h%02" PRId64 "m", s / 3600, s / 60 % 60);
    else
        snprintf(number.text, sizeof(number.text), "%" PRId64 "d%02" PRId64 "h", s / 86400, s / 3600 % 24);
    return number;
}

// ---- pieces of a line, as many as fit ----

struct pen {
    struct seep_canvas *canvas;
    int x, y;
};

static SEEP_PRINTF(3, 4) void write_piece(struct pen *pen, unsigned attributes, const char *format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    // A piece that does not fit is left out, but for the first, which is cut.
    int left = pen->canvas->nr_columns - pen->x;
    if (pen->x > 1 && (int)strlen(text) > left)
        return;
    pen->x += seep_canvas_put(pen->canvas, pen->x, pen->y, -1, attributes, text);
}

// Where bars begin: at the least value, so that a slow rise is seen; but what hardly changes looks flat.
static double foot_of(const double *values, size_t nr) {
    double least = nr ? values[0] : 0, most = 0;
    for (size_t i = 0; i < nr; i++) {
        least = SEEP_MIN(least, values[i]);
        most = SEEP_MAX(most, values[i]);
    }
    return SEEP_MIN(least, 0.95 * most);
}

static void bars(struct pen *pen, const struct seep_live *live, bool of_live) {
    double values[SEEP_LIVE_POINTS];
    size_t nr = 0;
    for (size_t i = 0; i < live->nr_points; i++)
        if (of_live || live->points[i].rates_known)
            values[nr++] = of_live ? (double)live->points[i].live_bytes : live->points[i].allocations_per_s;
    int room = pen->canvas->nr_columns >= 120 ? 24 : 12;
    if (nr < 2 || pen->canvas->nr_columns - pen->x < room + 1)
        return;
    seep_canvas_put_bars(pen->canvas, pen->x, pen->y, room, SEEP_ATTR_GOOD, values, nr,
                         of_live ? foot_of(values, nr) : 0);
    pen->x += room + 1;
}

// ---- the first lines ----

static const char *state_of(const struct seep_screen *screen) {
    if (screen->is_file)
        return "FILE";
    if (screen->frozen)
        return "FROZEN";
    if (screen->live->look.ended)
        return "ENDED";
    if (screen->scanning)
        return "SCANNING";
    if (screen->loading)
        return "LOADING";
    return seep_look_is_stopped(&screen->live->look) ? "STOPPED" : "LIVE";
}

static void draw_title(const struct seep_screen *screen, struct seep_canvas *canvas, int y) {
    const struct seep_session *session = screen->live->look.session;
    const struct seep_process *process = &session->profiles[0]->process;
    struct pen pen = {canvas, 1, y};
    write_piece(&pen, SEEP_ATTR_BOLD, "%.60s %" PRIu32, process->name, process->pid);
    pen.x += 2;
    if (session->nr_profiles > 1)
        write_piece(&pen, 0, "+%zu processes  ", session->nr_profiles - 1);
    const char *state = state_of(screen);
    bool live = strcmp(state, "LIVE") == 0;
    write_piece(&pen, live ? SEEP_ATTR_GOOD : SEEP_ATTR_WARN, "%s  ", state);
    write_piece(&pen, 0, "%s  ", short_time(process->duration_ns).text);
    if (live)
        write_piece(&pen, 0, "every %gs  ", (double)screen->interval_ns / 1e9);
    enum seep_verdict verdict = seep_profiles_verdict(session->profiles, session->nr_profiles);
    bool good = verdict == SEEP_VERDICT_COMPLETE;
    write_piece(&pen, good ? 0 : SEEP_ATTR_WARN, "health: %s%s", seep_verdict_name(verdict),
                good ? "" : ": seep report");
}

static void draw_live(const struct seep_screen *screen, struct seep_canvas *canvas, int y) {
    const struct seep_live_totals *totals = &screen->live->totals;
    struct pen pen = {canvas, 1, y};
    write_piece(&pen, SEEP_ATTR_BOLD, "live %s ", short_bytes((double)totals->live_bytes).text);
    bars(&pen, screen->live, true);
    if (totals->rates_known)
        write_piece(&pen, 0, "%s/s  ", short_change(totals->bytes_per_s).text);
    if (totals->peak_bytes && screen->live->look.session->nr_profiles == 1)
        write_piece(&pen, 0, "peak %s  ", short_bytes((double)totals->peak_bytes).text);
    write_piece(&pen, 0, "blocks %s  ", short_count((double)totals->live_blocks, 12).text);
    if (totals->rss_bytes && totals->limit_bytes && totals->limit_bytes < UINT64_MAX / 2)
        write_piece(&pen, 0, "rss %s/%s", short_bytes((double)totals->rss_bytes).text,
                    short_bytes((double)totals->limit_bytes).text);
    else if (totals->rss_bytes)
        write_piece(&pen, 0, "rss %s", short_bytes((double)totals->rss_bytes).text);
}

static void draw_rates(const struct seep_screen *screen, struct seep_canvas *canvas, int y) {
    const struct seep_live_totals *totals = &screen->live->totals;
    struct pen pen = {canvas, 1, y};
    if (totals->rates_known) {
        write_piece(&pen, SEEP_ATTR_BOLD, "alloc %s/s ",
                    small_number(totals->allocations_per_s, 1000, false).text);
        bars(&pen, screen->live, false);
        write_piece(&pen, 0, "free %s/s  ", small_number(totals->frees_per_s, 1000, false).text);
    } else {
        write_piece(&pen, SEEP_ATTR_BOLD, "allocations %s  ",
                    short_count((double)totals->allocations, 15).text);
        write_piece(&pen, 0, "frees %s  ", short_count((double)totals->frees, 15).text);
    }
    if (totals->temporary_percent >= 0)
        write_piece(&pen, 0, "temporary %d%%  ", totals->temporary_percent);
    if (totals->seconds_left >= 0 && totals->seconds_left < 86400.0 * 365)
        write_piece(&pen, SEEP_ATTR_WARN, "limit in %s  ",
                    short_time((int64_t)(totals->seconds_left * 1e9)).text);
    if (totals->nr_threads)
        write_piece(&pen, 0, "%" PRIu32 " thread%s", totals->nr_threads, seep_plural(totals->nr_threads));
}

static void draw_since(const struct seep_screen *screen, struct seep_canvas *canvas, int y) {
    const struct seep_live *live = screen->live;
    struct pen pen = {canvas, 1, y};
    if (live->mark[0]) {
        write_piece(&pen, 0, "since mark \"%.60s\"", live->mark);
        if (live->mark_ns)
            write_piece(&pen, 0, " %s", short_time(live->look.at_ns - live->mark_ns).text);
        write_piece(&pen, 0, ": %s in %s block%s  ", short_change((double)live->totals.since_bytes).text,
                    seep_format_signed(live->totals.since_blocks).text,
                    live->totals.since_blocks == 1 ? "" : "s");
    }
    if (screen->tid)
        write_piece(&pen, SEEP_ATTR_WARN, "thread %" PRIu32 "  ", screen->tid);
    if (screen->filter[0])
        write_piece(&pen, SEEP_ATTR_WARN, "filter: %s", screen->filter);
    if (live->scanned && !screen->is_file)
        write_piece(&pen, SEEP_ATTR_DIM, "%sscanned %s ago", screen->filter[0] ? "  " : "",
                    short_time(seep_monotonic_ns() - live->scanned_ns).text);
}

static void draw_tabs(const struct seep_screen *screen, struct seep_canvas *canvas, int y) {
    static const char *const wide[] = {"Sites",   "Functions", "Lines", "Modules",
                                       "Threads", "Processes", "Leaks", "Log"};
    static const char *const narrow[] = {"Si", "Fu", "Li", "Mo", "Th", "Pr", "Le", "Lo"};
    const char *const *names = canvas->nr_columns >= 78 ? wide : narrow;
    int x = 1;
    for (int i = 0; i < SEEP_TAB_NR; i++) {
        bool chosen = i == screen->tab;
        int nr = seep_canvas_printf(canvas, x, y, -1, chosen ? SEEP_ATTR_REVERSE : 0,
                                    chosen ? "[%d]%s" : "%d %s", i + 1, names[i]);
        seep_canvas_zone(canvas, x, y, nr, SEEP_ACTION_TAB + i);
        x += nr + 1;
    }
}

// ---- the table ----

enum column { LIVE, RATE, SINCE, BLOCKS, ALLOCATIONS, TEMPORARY, TREND, VERDICT, COLUMN_NR };

static const struct {
    const char *title;
    int width; // with the blank before it
    int sort;  // -1: not by it
    int rank;  // the highest is left out first
} columns[COLUMN_NR] = {
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

static int choose_columns(const struct seep_screen *screen, int nr_columns, bool *ret_shown) {
    int width = 0;
    for (int i = 0; i < COLUMN_NR; i++) {
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
    for (int rank = COLUMN_NR - 1; rank > 0 && width + 1 + WHERE_LEAST > nr_columns; rank--)
        for (int i = 0; i < COLUMN_NR; i++)
            if (ret_shown[i] && columns[i].rank == rank) {
                ret_shown[i] = false;
                width -= columns[i].width;
            }
    return width;
}

static void draw_heads(const struct seep_screen *screen, struct seep_canvas *canvas, int y, const bool *shown,
                       const char *where) {
    int x = 0;
    for (int i = 0; i < COLUMN_NR; i++) {
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

// "churn": it holds what it held, and most of what it allocates is freed at once.
static const char *verdict_of(const struct seep_live_row *row) {
    if (row->verdict != SEEP_TREND_GROWING && row->temporary_percent >= 50 && row->allocations_per_s >= 1000)
        return "churn";
    return verdict_word(row->verdict);
}

static void put_cell(struct seep_canvas *canvas, int x, int y, int column, const struct seep_live_row *row,
                     unsigned attributes) {
    struct seep_number number = {"-"};
    int room = columns[column].width - 1;
    const struct seep_view_row *of = row->row;
    switch (column) {
    case LIVE:
        number = short_bytes((double)of->live_bytes);
        break;
    case RATE:
        if (row->per_s_known)
            number = short_change(row->bytes_per_s);
        break;
    case SINCE:
        if (row->since_known)
            number = short_change((double)row->since_bytes);
        break;
    case BLOCKS:
        number = of->live_blocks < 0 ? small_number((double)of->live_blocks, 1000, true)
                                     : short_count((double)of->live_blocks, room);
        break;
    case ALLOCATIONS:
        if (row->per_s_known)
            number = short_count(row->allocations_per_s, room);
        else
            number = short_count((double)of->counters.allocations, room);
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
                             foot_of(values, row->nr_trend));
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

static void draw_row(const struct seep_screen *screen, struct seep_canvas *canvas, int y, const bool *shown,
                     const struct seep_live_row *row, bool chosen) {
    unsigned attributes = chosen ? SEEP_ATTR_REVERSE : 0;
    if (chosen)
        seep_canvas_fill(canvas, y, SEEP_ATTR_REVERSE);
    int x = 0;
    for (int i = 0; i < COLUMN_NR; i++) {
        if (!shown[i])
            continue;
        put_cell(canvas, x, y, i, row, attributes);
        x += columns[i].width;
    }
    if (chosen) // where there are no colours it is seen by this
        seep_canvas_put(canvas, 0, y, 1, attributes, ">");
    const char *where = row->brief && canvas->nr_columns - x < WHERE_WIDE ? row->brief : row->where;
    seep_canvas_put(canvas, x + 1, y, -1, attributes, where ? where : "");
}

static void draw_leak(struct seep_canvas *canvas, int y, const struct seep_live_row *row, bool chosen) {
    unsigned attributes = chosen ? SEEP_ATTR_REVERSE : 0;
    const struct seep_view_kinds *kinds = &row->row->kinds;
    static const int order[] = {SEEP_KIND_LOST, SEEP_KIND_INDIRECT, SEEP_KIND_POSSIBLE};
    if (chosen)
        seep_canvas_fill(canvas, y, SEEP_ATTR_REVERSE);
    int x = 1;
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(order) && (i < 1 || canvas->nr_columns >= 60); i++) {
        seep_canvas_put_right(canvas, x, y, 8, attributes, short_bytes((double)kinds->bytes[order[i]]).text);
        x += 9;
    }
    seep_canvas_put_right(canvas, x, y, 9, attributes, short_count((double)row->row->live_blocks, 9).text);
    if (chosen)
        seep_canvas_put(canvas, 0, y, 1, attributes, ">");
    seep_canvas_put(canvas, x + 10, y, -1, attributes, row->where ? row->where : "");
}

static void draw_branch(const struct seep_screen *screen, struct seep_canvas *canvas, int y, size_t index,
                        bool chosen) {
    const struct seep_branch *branch = &screen->branches.branches[index];
    const struct seep_call_tree *tree = &screen->branches.tree;
    unsigned attributes = chosen ? SEEP_ATTR_REVERSE : 0;
    if (chosen)
        seep_canvas_fill(canvas, y, SEEP_ATTR_REVERSE);
    uint64_t total = tree->calls[branch->call].total;
    seep_canvas_put_right(canvas, 1, y, 7, attributes, short_bytes((double)total).text);
    seep_canvas_put_right(canvas, 9, y, 6, attributes, seep_format_share(total, tree->calls[0].total).text);
    if (chosen)
        seep_canvas_put(canvas, 0, y, 1, attributes, ">");
    int indent = SEEP_MIN((int)branch->depth, SEEP_MAX(canvas->nr_columns / 2 - 18, 0));
    const char *mark = !branch->has_more ? " " : branch->open ? "-" : "+";
    int x = 16 + indent;
    x += seep_canvas_printf(canvas, x, y, -1, attributes, "%s ", mark);
    seep_canvas_put(canvas, x, y, -1, attributes, seep_branch_label(&screen->branches, branch));
}

// ---- making what is shown ----

static int by_of_tab(int tab) {
    static const int by[SEEP_TAB_NR] = {
        [SEEP_TAB_FUNCTIONS] = SEEP_BY_FUNCTION, [SEEP_TAB_LINES] = SEEP_BY_LINE,
        [SEEP_TAB_MODULES] = SEEP_BY_MODULE,     [SEEP_TAB_THREADS] = SEEP_BY_THREAD,
        [SEEP_TAB_PROCESSES] = SEEP_BY_PROCESS,
    };
    return by[tab]; // sites, where there is no other
}

static void drop_detail(struct seep_screen *screen) {
    seep_live_detail_deinit(&screen->detail);
    screen->detail_known = false;
}

static void follow_selected(struct seep_screen *screen) {
    for (size_t i = 0; screen->selected_key && i < screen->table.nr_rows; i++)
        if (screen->table.rows[i].key == screen->selected_key) {
            screen->selected = i;
            return;
        }
    size_t nr = seep_screen_nr_rows(screen);
    screen->selected = nr ? SEEP_MIN(screen->selected, nr - 1) : 0;
}

static struct seep_error *make_table(struct seep_screen *screen, size_t nr_rows) {
    bool tree = screen->tree && screen->tab == SEEP_TAB_SITES;
    struct seep_live_query query = {.by = by_of_tab(screen->tab),
                                    .sort = screen->sort,
                                    .top = tree ? 0 : nr_rows,
                                    .filter = screen->filter,
                                    .tid = screen->tid};
    if (screen->tab == SEEP_TAB_LEAKS)
        query.kinds = SEEP_KINDS_UNHELD;
    if (screen->tab == SEEP_TAB_THREADS || screen->tab == SEEP_TAB_LEAKS)
        query.tid = 0;
    struct seep_live_table table;
    struct seep_error *error = seep_live_table_make(screen->live, screen->symbols, &query, &table);
    if (error)
        return error;
    seep_screen_tree_clear(&screen->branches);
    seep_live_table_deinit(&screen->table);
    screen->table = table;
    if (tree && table.view)
        error = seep_screen_tree_make(&screen->branches, table.view);
    screen->nr_wanted = nr_rows;
    return error;
}

// The table has as many rows as can be seen by scrolling: as far as the one that is chosen, and more.
static void refresh(struct seep_screen *screen, size_t room) {
    if (screen->tab == SEEP_TAB_LOG)
        return;
    size_t need = SEEP_MAX(screen->selected, screen->first) + 2 * room + 20;
    bool more = need > screen->nr_wanted && screen->table.nr_rows < screen->table.nr_rows_all &&
                screen->nr_wanted < ROWS_MOST;
    if (!screen->stale && !more)
        return;
    need = SEEP_MIN(SEEP_MAX(need, (size_t)100), (size_t)ROWS_MOST);
    drop_detail(screen);
    struct seep_error *error = make_table(screen, need);
    if (error)
        seep_screen_say(screen, true, error->message);
    seep_error_destroy(error);
    screen->stale = false;
    follow_selected(screen);
}

static void make_detail(struct seep_screen *screen) {
    if (screen->detail_known || screen->tab == SEEP_TAB_LOG || screen->selected >= screen->table.nr_rows)
        return;
    struct seep_error *error = seep_live_detail_make(screen->live, screen->symbols, &screen->table,
                                                     screen->selected, &screen->detail);
    screen->detail_known = !error;
    if (error)
        seep_screen_say(screen, true, error->message);
    seep_error_destroy(error);
}

// ---- the chosen row ----

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
    struct pen pen = {canvas, x, y};
    write_piece(&pen, 0, "sizes ");
    double most = 0;
    for (unsigned i = 0; i < 64; i++)
        most = SEEP_MAX(most, (double)detail->sizes[i]);
    for (unsigned i = 0; i < 64; i++) {
        if (!detail->sizes[i] || (double)detail->sizes[i] < most / 50 || canvas->nr_columns - pen.x < 9)
            continue;
        bool same = detail->size_least[i] == detail->size_most[i];
        struct seep_number size = short_bytes((double)(same ? detail->size_least[i] : UINT64_C(1) << i));
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
    struct pen pen = {canvas, x, y};
    if (!detail->ages_known) {
        write_piece(&pen, SEEP_ATTR_DIM, "age   not kept: seep run --age");
        return;
    }
    write_piece(&pen, 0, "age   ");
    for (unsigned i = 0; i < SEEP_LIVE_AGES; i++)
        write_piece(&pen, detail->ages[i] ? 0 : SEEP_ATTR_DIM, "%s %s  ", names[i],
                    short_count((double)detail->ages[i], 9).text);
}

static void draw_held(const struct seep_live_detail *detail, struct seep_canvas *canvas, int x, int y) {
    struct pen pen = {canvas, x, y};
    if (!detail->scanned) {
        write_piece(&pen, SEEP_ATTR_DIM, "held by: S scans");
        return;
    }
    seep_canvas_printf(canvas, x, y, -1, 0, "held by: %s", detail->held ? detail->held : "nothing");
    pen.y++;
    for (int kind = SEEP_KIND_LOST; kind < SEEP_KIND_NR; kind++)
        if (kind == SEEP_KIND_LOST || detail->kinds[kind])
            write_piece(&pen, kind == SEEP_KIND_LOST && detail->kinds[kind] ? SEEP_ATTR_WARN : 0, "%s %s  ",
                        seep_kind_name((uint32_t)kind), short_count((double)detail->kinds[kind], 9).text);
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

static void draw_detail(const struct seep_screen *screen, struct seep_canvas *canvas, int y, int nr) {
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

// ---- the last line ----

static void draw_keys(const struct seep_screen *screen, struct seep_canvas *canvas, int y) {
    static const struct {
        const char *text;
        int key;
    } keys[] = {{"?Help", '?'}, {"/Filter", '/'},  {"sSort", 's'},        {"tTree", 't'},
                {"mMark", 'm'}, {"dDiff", 'd'},    {"Space=freeze", ' '}, {"SScan", 'S'},
                {"wSave", 'w'}, {":Command", ':'}, {"qQuit", 'q'}};
    static const char *const asks[] = {NULL, "filter: ", ":", "name of the mark: ", "save as: "};
    if (screen->input) {
        int nr =
            seep_canvas_printf(canvas, 1, y, -1, SEEP_ATTR_BOLD, "%s%s", asks[screen->input], screen->typed);
        seep_canvas_put(canvas, 1 + nr, y, 1, SEEP_ATTR_REVERSE, screen->plain ? " " : "_");
        return;
    }
    if (screen->message[0]) {
        seep_canvas_put(canvas, 1, y, -1, screen->message_bad ? SEEP_ATTR_WARN : SEEP_ATTR_BOLD,
                        screen->message);
        return;
    }
    if (screen->plain)
        return;
    int x = 1;
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(keys); i++) {
        if ((int)strlen(keys[i].text) > canvas->nr_columns - x)
            break;
        int nr = seep_canvas_put(canvas, x, y, -1, SEEP_ATTR_DIM, keys[i].text);
        seep_canvas_zone(canvas, x, y, nr, SEEP_ACTION_KEY + keys[i].key);
        x += nr + 1;
    }
}

static void draw_help(struct seep_canvas *canvas) {
    static const char *const lines[] = {
        "1-8, left, right   sites functions lines modules threads processes leaks log",
        "up down j k        choose a row; PageUp PageDown Home End",
        "Enter              the row's stack and blocks; in the tree: open, close",
        "Tab                the keys move the stack, and the rows again",
        "/                  only what has a function, file or module like this; Esc ends it",
        "s                  sort by the next column; or click on its head",
        "t                  the call tree of what is live",
        "m, d               mark this moment; sort by what came since",
        "< >                only what one thread did",
        "S                  scan the memory for leaks: the program waits for that long",
        "X                  record no allocations; record them again",
        "Space              freeze, and go on",
        "+ -                look less often, more often",
        "w                  save what there is now as a trace",
        ":                  filter sort mark save scan tree thread freeze quit stop",
        "                   start, depth N (of the program's stacks), or a tab",
        "q                  quit; the program goes on",
    };
    seep_canvas_put(canvas, 1, 0, -1, SEEP_ATTR_BOLD, "seep top: keys (any of them goes back)");
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(lines); i++)
        seep_canvas_put(canvas, 1, 2 + (int)i, -1, 0, lines[i]);
}

// ---- the whole ----

static void draw_log(const struct seep_screen *screen, struct seep_canvas *canvas, int y, int nr) {
    for (int i = 0; i < nr && screen->first + (size_t)i < screen->live->nr_log; i++) {
        size_t line = screen->first + (size_t)i;
        seep_canvas_put(canvas, 1, y + i, -1, line == screen->selected ? SEEP_ATTR_BOLD : 0,
                        screen->live->log[line]);
    }
    if (!screen->live->nr_log)
        seep_canvas_put(canvas, 1, y, -1, SEEP_ATTR_DIM, "nothing happened yet");
}

static void scroll(struct seep_screen *screen, size_t room) {
    size_t nr = seep_screen_nr_rows(screen);
    screen->nr_shown = room;
    if (screen->selected >= nr)
        screen->selected = nr ? nr - 1 : 0;
    if (screen->first > screen->selected)
        screen->first = screen->selected;
    if (room && screen->selected >= screen->first + room)
        screen->first = screen->selected - room + 1;
}

static void draw_rows(struct seep_screen *screen, struct seep_canvas *canvas, int y, int nr,
                      const bool *shown) {
    bool tree = screen->tree && screen->tab == SEEP_TAB_SITES;
    size_t all = seep_screen_nr_rows(screen);
    for (int i = 0; i < nr; i++) {
        size_t index = screen->first + (size_t)i;
        bool chosen = index == screen->selected && !screen->plain;
        if (index >= all)
            break;
        size_t beyond = SEEP_MAX(screen->table.nr_rows_all, all);
        if (i + 1 == nr && index + 1 < beyond && !tree) {
            if (!chosen) {
                seep_canvas_printf(canvas, 4, y + i, -1, SEEP_ATTR_DIM, "... %s more",
                                   seep_format_count(beyond - index).text);
                break;
            }
        }
        if (tree)
            draw_branch(screen, canvas, y + i, index, chosen);
        else if (screen->tab == SEEP_TAB_LEAKS)
            draw_leak(canvas, y + i, &screen->table.rows[index], chosen);
        else
            draw_row(screen, canvas, y + i, shown, &screen->table.rows[index], chosen);
        seep_canvas_zone(canvas, 0, y + i, canvas->nr_columns, SEEP_ACTION_ROW + (int)index);
    }
    if (!all && screen->tab != SEEP_TAB_LOG)
        seep_canvas_put(canvas, 4, y, -1, SEEP_ATTR_DIM,
                        screen->tab == SEEP_TAB_LEAKS && !screen->table.session ? "not scanned yet: S scans"
                        : screen->tab == SEEP_TAB_LEAKS                         ? "nothing is lost"
                        : screen->filter[0]                                     ? "nothing is like the filter"
                                            : "nothing was allocated yet");
}

static const char *where_title(const struct seep_screen *screen) {
    static const char *const titles[SEEP_TAB_NR] = {"WHERE",  "FUNCTION", "LINE",  "MODULE",
                                                    "THREAD", "PROCESS",  "WHERE", ""};
    return titles[screen->tab];
}

void seep_screen_draw(struct seep_screen *screen, struct seep_canvas *canvas) {
    int rows = canvas->nr_rows, y = 0;
    if (!screen->live->look.session)
        return;
    if (screen->help && !screen->plain) {
        draw_help(canvas);
        return;
    }
    // Of a small terminal the rows have half at least.
    draw_title(screen, canvas, y++);
    if (rows >= 6)
        draw_live(screen, canvas, y++);
    if (rows >= 16)
        draw_rates(screen, canvas, y++);
    bool since = screen->live->mark[0] || screen->filter[0] || screen->tid ||
                 (screen->live->scanned && !screen->is_file);
    if (rows >= 16 || (rows >= 10 && since))
        draw_since(screen, canvas, y++);
    if (rows >= 8)
        draw_tabs(screen, canvas, y++);
    int keys = rows >= 8 || screen->input || screen->message[0] ? 1 : 0;
    bool log = screen->tab == SEEP_TAB_LOG, tree = screen->tree && screen->tab == SEEP_TAB_SITES;
    refresh(screen, (size_t)rows);
    int detail = rows >= 20 && !screen->no_detail && !log && !tree && screen->tab != SEEP_TAB_THREADS &&
                         screen->table.nr_rows
                     ? SEEP_MAX(7, (rows - y) * 2 / 5)
                     : 0;
    detail = SEEP_MIN(detail, 16);
    bool shown[COLUMN_NR];
    choose_columns(screen, canvas->nr_columns, shown);
    if (rows >= 3 && tree)
        seep_canvas_put(canvas, 4, y, -1, SEEP_ATTR_LINE, "LIVE  SHARE  FUNCTION");
    else if (rows >= 3 && screen->tab == SEEP_TAB_LEAKS)
        seep_canvas_put(canvas, 5, y, -1, SEEP_ATTR_LINE,
                        canvas->nr_columns >= 60 ? "LOST INDIRECT POSSIBLE    BLOCKS WHERE"
                                                 : "LOST    BLOCKS WHERE");
    else if (rows >= 3 && !log)
        draw_heads(screen, canvas, y, shown, where_title(screen));
    if (rows >= 3 && (tree || screen->tab == SEEP_TAB_LEAKS))
        seep_canvas_fill(canvas, y, SEEP_ATTR_LINE);
    y += rows >= 3;
    int room = SEEP_MAX(rows - y - keys - detail, 0);
    scroll(screen, (size_t)room);
    if (log)
        draw_log(screen, canvas, y, room);
    else
        draw_rows(screen, canvas, y, room, shown);
    if (detail) {
        make_detail(screen);
        draw_detail(screen, canvas, y + room, detail);
    }
    if (keys)
        draw_keys(screen, canvas, rows - 1);
}
