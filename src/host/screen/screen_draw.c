// SPDX-License-Identifier: BSD-2-Clause
//
// Draws the live screen, see screen.h. From top to bottom: what it is of, the totals, tabs, columns, rows,
// what is known of the chosen row, keys. What there is no room for is left out, the least useful first.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/words.h"
#include "profile/verdict.h"
#include "screen/screen_parts.h"

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
    if (screen->unlinked)
        return "NO LINK";
    return seep_look_is_stopped(&screen->live->look) ? "STOPPED" : "LIVE";
}

static void draw_title(const struct seep_screen *screen, struct seep_canvas *canvas, int y) {
    const struct seep_session *session = screen->live->look.session;
    const struct seep_process *process = &session->profiles[0]->process;
    struct seep_screen_pen pen = {canvas, 1, y};
    seep_screen_write_piece(&pen, SEEP_ATTR_BOLD, "%.60s %" PRIu32, process->name, process->pid);
    pen.x += 2;
    uint64_t nr_unseen = screen->live->look.nr_unseen;
    size_t nr_seen = session->nr_profiles - 1;
    if (nr_unseen)
        seep_screen_write_piece(&pen, SEEP_ATTR_WARN, "+%zu of %" PRIu64 " processes  ", nr_seen,
                                nr_seen + nr_unseen);
    else if (nr_seen)
        seep_screen_write_piece(&pen, 0, "+%zu processes  ", nr_seen);
    const char *state = state_of(screen);
    bool live = strcmp(state, "LIVE") == 0;
    seep_screen_write_piece(&pen, live ? SEEP_ATTR_GOOD : SEEP_ATTR_WARN, "%s  ", state);
    seep_screen_write_piece(&pen, 0, "%s  ", seep_screen_short_time(process->duration_ns).text);
    if (live)
        seep_screen_write_piece(&pen, 0, "every %gs  ", (double)screen->interval_ns / 1e9);
    enum seep_verdict verdict = seep_profiles_verdict(session->profiles, session->nr_profiles);
    bool good = verdict == SEEP_VERDICT_COMPLETE;
    seep_screen_write_piece(&pen, good ? 0 : SEEP_ATTR_WARN, "health: %s%s", seep_verdict_name(verdict),
                            good ? "" : ": seep report");
}

static void draw_live(const struct seep_screen *screen, struct seep_canvas *canvas, int y) {
    const struct seep_live_totals *totals = &screen->live->totals;
    struct seep_screen_pen pen = {canvas, 1, y};
    seep_screen_write_piece(&pen, SEEP_ATTR_BOLD, "live %s ",
                            seep_screen_short_bytes((double)totals->live_bytes).text);
    seep_screen_bars(&pen, screen->live, true);
    if (totals->rates_known)
        seep_screen_write_piece(&pen, 0, "%s/s  ", seep_screen_short_change(totals->bytes_per_s).text);
    if (totals->peak_bytes && screen->live->look.session->nr_profiles == 1)
        seep_screen_write_piece(&pen, 0, "peak %s  ",
                                seep_screen_short_bytes((double)totals->peak_bytes).text);
    seep_screen_write_piece(&pen, 0, "blocks %s  ",
                            seep_screen_short_count((double)totals->live_blocks, 12).text);
    if (totals->rss_bytes && totals->limit_bytes && totals->limit_bytes < UINT64_MAX / 2)
        seep_screen_write_piece(&pen, 0, "rss %s/%s", seep_screen_short_bytes((double)totals->rss_bytes).text,
                                seep_screen_short_bytes((double)totals->limit_bytes).text);
    else if (totals->rss_bytes)
        seep_screen_write_piece(&pen, 0, "rss %s", seep_screen_short_bytes((double)totals->rss_bytes).text);
}

static void draw_rates(const struct seep_screen *screen, struct seep_canvas *canvas, int y) {
    const struct seep_live_totals *totals = &screen->live->totals;
    struct seep_screen_pen pen = {canvas, 1, y};
    if (totals->rates_known) {
        seep_screen_write_piece(&pen, SEEP_ATTR_BOLD, "alloc %s/s ",
                                seep_screen_small_number(totals->allocations_per_s, 1000, false).text);
        seep_screen_bars(&pen, screen->live, false);
        seep_screen_write_piece(&pen, 0, "free %s/s  ",
                                seep_screen_small_number(totals->frees_per_s, 1000, false).text);
    } else {
        seep_screen_write_piece(&pen, SEEP_ATTR_BOLD, "allocations %s  ",
                                seep_screen_short_count((double)totals->allocations, 15).text);
        seep_screen_write_piece(&pen, 0, "frees %s  ",
                                seep_screen_short_count((double)totals->frees, 15).text);
    }
    if (totals->temporary_percent >= 0)
        seep_screen_write_piece(&pen, 0, "temporary %d%%  ", totals->temporary_percent);
    if (totals->seconds_left >= 0 && totals->seconds_left < 86400.0 * 365)
        seep_screen_write_piece(&pen, SEEP_ATTR_WARN, "limit in %s  ",
                                seep_screen_short_time((int64_t)(totals->seconds_left * 1e9)).text);
    if (totals->nr_threads)
        seep_screen_write_piece(&pen, 0, "%" PRIu32 " thread%s", totals->nr_threads,
                                seep_plural(totals->nr_threads));
}

static void draw_since(const struct seep_screen *screen, struct seep_canvas *canvas, int y) {
    const struct seep_live *live = screen->live;
    struct seep_screen_pen pen = {canvas, 1, y};
    if (live->mark[0]) {
        seep_screen_write_piece(&pen, 0, "since mark \"%.60s\"", live->mark);
        if (live->mark_ns)
            seep_screen_write_piece(&pen, 0, " %s",
                                    seep_screen_short_time(live->look.at_ns - live->mark_ns).text);
        seep_screen_write_piece(
            &pen, 0, ": %s in %s block%s  ", seep_screen_short_change((double)live->totals.since_bytes).text,
            seep_format_signed(live->totals.since_blocks).text, live->totals.since_blocks == 1 ? "" : "s");
    }
    if (screen->tid)
        seep_screen_write_piece(&pen, SEEP_ATTR_WARN, "thread %" PRIu32 "  ", screen->tid);
    if (screen->filter[0])
        seep_screen_write_piece(&pen, SEEP_ATTR_WARN, "filter: %s", screen->filter);
    if (live->scanned && !screen->is_file)
        seep_screen_write_piece(&pen, SEEP_ATTR_DIM, "%sscanned %s ago", screen->filter[0] ? "  " : "",
                                seep_screen_short_time(seep_monotonic_ns() - live->scanned_ns).text);
}

#define NARROW_TABS 40 // columns of all tabs by two letters

static void draw_tabs(const struct seep_screen *screen, struct seep_canvas *canvas, int y) {
    static const char *const wide[] = {"Sites",   "Functions", "Lines", "Modules",
                                       "Threads", "Processes", "Leaks", "Log"};
    static const char *const narrow[] = {"Si", "Fu", "Li", "Mo", "Th", "Pr", "Le", "Lo"};
    const char *const *names = canvas->nr_columns >= 78 ? wide : narrow;
    int x = canvas->nr_columns >= NARROW_TABS + 1 ? 1 : 0;
    for (int i = 0; i < SEEP_TAB_NR; i++) {
        bool chosen = i == screen->tab;
        int nr = seep_canvas_printf(canvas, x, y, -1, chosen ? SEEP_ATTR_REVERSE : 0,
                                    chosen ? "[%d]%s" : "%d %s", i + 1, names[i]);
        seep_canvas_zone(canvas, x, y, nr, SEEP_ACTION_TAB + i);
        x += nr + 1;
    }
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
    if (screen->tab != SEEP_TAB_LOG && !seep_screen_is_made(screen))
        return;
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
            seep_screen_draw_branch(screen, canvas, y + i, index, chosen);
        else if (screen->tab == SEEP_TAB_LEAKS)
            seep_screen_draw_leak(canvas, y + i, &screen->table.rows[index], chosen);
        else
            seep_screen_draw_row(screen, canvas, y + i, shown, &screen->table.rows[index], chosen);
        seep_canvas_zone(canvas, 0, y + i, canvas->nr_columns, SEEP_ACTION_ROW + (int)index);
    }
    if (!all && screen->tab != SEEP_TAB_LOG)
        seep_canvas_put(canvas, 4, y, -1, SEEP_ATTR_DIM,
                        !seep_screen_is_made(screen)                              ? "..."
                        : screen->tab == SEEP_TAB_LEAKS && !screen->table.session ? "not scanned yet: S scans"
                        : screen->tab == SEEP_TAB_LEAKS                           ? "nothing is lost"
                        : screen->filter[0] ? "nothing is like the filter"
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
        seep_screen_draw_help(screen, canvas);
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
    seep_screen_refresh(screen, (size_t)rows);
    int detail = rows >= 20 && !screen->no_detail && !log && !tree && screen->tab != SEEP_TAB_THREADS &&
                         screen->table.nr_rows
                     ? SEEP_MAX(7, (rows - y) * 2 / 5)
                     : 0;
    detail = SEEP_MIN(detail, 16);
    bool shown[SEEP_SCREEN_COLUMNS];
    seep_screen_choose_columns(screen, canvas->nr_columns, shown);
    if (rows >= 3 && tree)
        seep_canvas_put(canvas, 4, y, -1, SEEP_ATTR_LINE, "LIVE  SHARE  FUNCTION");
    else if (rows >= 3 && screen->tab == SEEP_TAB_LEAKS)
        seep_canvas_put(canvas, 5, y, -1, SEEP_ATTR_LINE,
                        canvas->nr_columns >= 60 ? "LOST INDIRECT POSSIBLE    BLOCKS WHERE"
                                                 : "LOST    BLOCKS WHERE");
    else if (rows >= 3 && !log)
        seep_screen_draw_heads(screen, canvas, y, shown, where_title(screen));
    if (rows >= 3 && (tree || screen->tab == SEEP_TAB_LEAKS))
        seep_canvas_fill(canvas, y, SEEP_ATTR_LINE);
    if (rows >= 3 && !log && screen->making && screen->key_waits)
        seep_canvas_put_right(canvas, canvas->nr_columns - 4, y, 4, SEEP_ATTR_LINE, "...");
    y += rows >= 3;
    int room = SEEP_MAX(rows - y - keys - detail, 0);
    scroll(screen, (size_t)room);
    if (log)
        draw_log(screen, canvas, y, room);
    else
        draw_rows(screen, canvas, y, room, shown);
    if (detail) {
        seep_screen_make_detail(screen);
        seep_screen_draw_detail(screen, canvas, y + room, detail);
    }
    if (keys)
        draw_keys(screen, canvas, rows - 1);
}
