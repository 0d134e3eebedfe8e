// SPDX-License-Identifier: BSD-2-Clause
// What keys and clicks do to the live screen, see screen.h.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "screen/screen_parts.h"

// A table that takes longer is drawn when it is done: until then the screen shows what there was.
#define PATIENCE_NS INT64_C(15000000)

const char *const seep_tab_names[SEEP_TAB_NR + 1] = {
    [SEEP_TAB_SITES] = "sites",     [SEEP_TAB_FUNCTIONS] = "functions",
    [SEEP_TAB_LINES] = "lines",     [SEEP_TAB_MODULES] = "modules",
    [SEEP_TAB_THREADS] = "threads", [SEEP_TAB_PROCESSES] = "processes",
    [SEEP_TAB_LEAKS] = "leaks",     [SEEP_TAB_LOG] = "log",
};

void seep_screen_init(struct seep_screen *screen, struct seep_live *live, struct seep_symbols *symbols) {
    *screen = (struct seep_screen){
        .live = live, .symbols = symbols, .stale = true, .title = "", .made_tab = SEEP_TAB_NR};
    screen->interval_ns = 1000000000;
    screen->patience_ns = PATIENCE_NS;
}

void seep_screen_deinit(struct seep_screen *screen) {
    seep_screen_finish(screen);
    seep_live_detail_deinit(&screen->detail);
    seep_live_table_deinit(&screen->table);
    seep_screen_tree_deinit(&screen->branches);
}

void seep_screen_drop(struct seep_screen *screen) {
    seep_screen_finish(screen);
    seep_live_detail_deinit(&screen->detail);
    screen->detail_known = false;
    seep_screen_tree_clear(&screen->branches);
    seep_live_table_deinit(&screen->table);
    seep_live_forget(screen->live);
    screen->live->keeps_look = false;
    screen->stale = true;
}

void seep_screen_changed(struct seep_screen *screen) {
    seep_screen_finish(screen);
    const struct seep_session *of = screen->table.session;
    bool of_look = of == screen->live->look.session;
    if (screen->maker && screen->tab != SEEP_TAB_LOG && of && (of_look || of == screen->live->scanned)) {
        screen->live->keeps_look = of_look;
        screen->stale = true;
    } else {
        seep_screen_drop(screen);
    }
}

void seep_screen_say(struct seep_screen *screen, bool bad, const char *text) {
    snprintf(screen->message, sizeof(screen->message), "%s", text);
    screen->message_bad = bad;
}

bool seep_screen_is_made(const struct seep_screen *screen) {
    return screen->made_tab == screen->tab &&
           screen->made_tree == (screen->tree && screen->tab == SEEP_TAB_SITES);
}

size_t seep_screen_nr_rows(const struct seep_screen *screen) {
    if (screen->tab == SEEP_TAB_LOG)
        return screen->live->nr_log;
    if (!seep_screen_is_made(screen))
        return 0;
    if (screen->tree && screen->tab == SEEP_TAB_SITES)
        return screen->branches.nr_branches;
    return screen->table.nr_rows;
}

// ---- moving ----

static void select_row(struct seep_screen *screen, size_t row) {
    size_t nr = seep_screen_nr_rows(screen);
    bool known = screen->tab == SEEP_TAB_LOG || seep_screen_is_made(screen);
    if (known) // else the drawing finds where the last row is
        row = nr ? SEEP_MIN(row, nr - 1) : 0;
    bool of_table = known && screen->tab != SEEP_TAB_LOG && !screen->made_tree;
    screen->selected = row;
    screen->selected_key = of_table && row < screen->table.nr_rows ? screen->table.rows[row].key : 0;
    screen->detail_first = 0;
    if (screen->detail_known) {
        seep_live_detail_deinit(&screen->detail);
        screen->detail_known = false;
    }
}

// Another table: its first row, whatever that is after the next look.
static void select_first(struct seep_screen *screen) {
    screen->first = 0;
    screen->stale = screen->key_waits = true;
    select_row(screen, 0);
    screen->selected_key = 0;
}

static void move(struct seep_screen *screen, long by) {
    if (screen->detail_has_keys) {
        size_t nr = screen->detail.nr_frames;
        long to = (long)screen->detail_first - by; // the stack is drawn with its innermost frame below
        screen->detail_first = (size_t)SEEP_MIN(SEEP_MAX(to, 0L), nr ? (long)nr - 1 : 0L);
        return;
    }
    long to = (long)screen->selected + by;
    select_row(screen, to < 0 ? 0 : (size_t)to);
}

// ---- what is shown ----

static void show_tab(struct seep_screen *screen, int tab) {
    if (tab < 0 || tab >= SEEP_TAB_NR)
        return;
    screen->tab = tab;
    screen->detail_has_keys = false;
    select_first(screen);
    if (tab == SEEP_TAB_LEAKS && !screen->live->scanned && !screen->is_file)
        seep_screen_say(screen, false, "S scans the memory: the program waits for that long");
}

static void sort_by(struct seep_screen *screen, int sort) {
    screen->sort = sort;
    select_first(screen);
    char text[64];
    snprintf(text, sizeof(text), "by %s", seep_live_sort_names[sort]);
    seep_screen_say(screen, false, text);
}

// The threads that did something, one after the other, and all of them.
static void next_thread(struct seep_screen *screen, int step) {
    uint32_t tids[1024];
    size_t nr = 0, at = 0;
    tids[nr++] = 0;
    const struct seep_session *session = screen->live->look.session;
    for (size_t p = 0; session && p < session->nr_profiles; p++)
        for (uint32_t i = 0; i < session->profiles[p]->nr_threads && nr < SEEP_ARRAY_SIZE(tids); i++) {
            uint32_t tid = session->profiles[p]->threads[i].tid;
            if (tid && session->profiles[p]->threads[i].allocations)
                tids[nr++] = tid;
        }
    for (size_t i = 0; i < nr; i++)
        if (tids[i] == screen->tid)
            at = i;
    screen->tid = tids[(at + nr + (size_t)(step + (int)nr)) % nr];
    select_first(screen);
}

static void change_interval(struct seep_screen *screen, bool longer) {
    static const int64_t steps_ms[] = {100, 200, 500, 1000, 2000, 5000, 10000, 30000, 60000};
    size_t nr = SEEP_ARRAY_SIZE(steps_ms), at = 0;
    while (at + 1 < nr && steps_ms[at] * 1000000 < screen->interval_ns)
        at++;
    if (longer && at + 1 < nr)
        at++;
    else if (!longer && at)
        at--;
    screen->interval_ns = steps_ms[at] * 1000000;
    char text[64];
    snprintf(text, sizeof(text), "a look every %g s", (double)steps_ms[at] / 1000);
    seep_screen_say(screen, false, text);
}

// ---- lines that are typed ----

static void begin_input(struct seep_screen *screen, int input, const char *text) {
    screen->input = input;
    snprintf(screen->typed, sizeof(screen->typed), "%s", text);
}

static void set_filter(struct seep_screen *screen, const char *text) {
    snprintf(screen->filter, sizeof(screen->filter), "%s", text);
    select_first(screen);
}

static int index_of(const char *word, const char *const *names) {
    int found = -1;
    for (int i = 0; *word && names[i]; i++)
        if (strncmp(names[i], word, strlen(word)) == 0)
            found = found < 0 ? i : -2;
    return found;
}

static enum seep_wish unknown(struct seep_screen *screen, const char *what) {
    char text[SEEP_INPUT_MAX + 64];
    snprintf(text, sizeof(text), "%s: not known; ? shows what there is", what);
    seep_screen_say(screen, true, text);
    return SEEP_WISH_NONE;
}

static enum seep_wish wish(struct seep_screen *screen, enum seep_wish wish, const char *argument) {
    snprintf(screen->argument, sizeof(screen->argument), "%s", argument);
    return wish;
}

static enum seep_wish run_command(struct seep_screen *screen, const char *line) {
    static const char *const commands[] = {"filter", "sort",   "mark", "save", "scan",  "quit",  "tree",
                                           "thread", "freeze", "help", "stop", "start", "depth", NULL};
    char word[32] = "", rest[SEEP_INPUT_MAX] = "";
    if (sscanf(line, " %31s %199[^\n]", word, rest) < 1)
        return SEEP_WISH_NONE;
    int tab = index_of(word, seep_tab_names), sort;
    switch (index_of(word, commands)) {
    case 0:
        set_filter(screen, rest);
        return SEEP_WISH_NONE;
    case 1:
        sort = index_of(rest, seep_live_sort_names);
        if (sort < 0)
            return unknown(screen, rest);
        sort_by(screen, sort);
        return SEEP_WISH_NONE;
    case 2:
        return wish(screen, SEEP_WISH_MARK, rest);
    case 3:
        return wish(screen, SEEP_WISH_SAVE, rest);
    case 4:
        return SEEP_WISH_SCAN;
    case 5:
        return SEEP_WISH_QUIT;
    case 6:
        return seep_screen_key(screen, 't');
    case 7:
        screen->tid = (uint32_t)strtoul(rest, NULL, 10);
        screen->stale = true;
        return SEEP_WISH_NONE;
    case 8:
        return seep_screen_key(screen, ' ');
    case 9:
        return seep_screen_key(screen, '?');
    case 10:
    case 11:
        return wish(screen, SEEP_WISH_RECORDING, index_of(word, commands) == 10 ? "stop" : "start");
    case 12:
        return wish(screen, SEEP_WISH_RECORDING, rest);
    default:
        if (tab < 0)
            return unknown(screen, word);
        show_tab(screen, tab);
        return SEEP_WISH_NONE;
    }
}

static enum seep_wish end_input(struct seep_screen *screen) {
    int input = screen->input;
    screen->input = SEEP_INPUT_NONE;
    switch (input) {
    case SEEP_INPUT_COMMAND:
        return run_command(screen, screen->typed);
    case SEEP_INPUT_MARK:
        return wish(screen, SEEP_WISH_MARK, screen->typed);
    case SEEP_INPUT_SAVE:
        return wish(screen, SEEP_WISH_SAVE, screen->typed);
    default:
        return SEEP_WISH_NONE;
    }
}

static enum seep_wish type(struct seep_screen *screen, int key) {
    size_t nr = strlen(screen->typed);
    if (key == SEEP_KEY_ENTER)
        return end_input(screen);
    if (key == SEEP_KEY_ESCAPE) {
        if (screen->input == SEEP_INPUT_FILTER)
            set_filter(screen, "");
        screen->input = SEEP_INPUT_NONE;
        return SEEP_WISH_NONE;
    }
    if (key == SEEP_KEY_BACKSPACE) {
        while (nr && ((unsigned char)screen->typed[--nr] & 0xc0) == 0x80)
            continue;
        screen->typed[nr] = 0;
    } else if (key >= ' ' && key != 0x7f && key < 0x110000 && !(key >= 0x80 && key < 0xa0) &&
               nr + 5 < sizeof(screen->typed)) {
        screen->typed[nr + seep_utf8_put(screen->typed + nr, (uint32_t)key)] = 0;
    } else {
        return SEEP_WISH_NONE;
    }
    if (screen->input == SEEP_INPUT_FILTER)
        set_filter(screen, screen->typed);
    return SEEP_WISH_NONE;
}

// ---- keys ----

static void open_row(struct seep_screen *screen) {
    if (screen->tree && screen->tab == SEEP_TAB_SITES) {
        struct seep_error *error = seep_screen_tree_toggle(&screen->branches, screen->selected);
        if (error)
            seep_screen_say(screen, true, error->message);
        seep_error_destroy(error);
        return;
    }
    screen->no_detail = !screen->no_detail;
}

static void escape(struct seep_screen *screen) {
    if (screen->help)
        screen->help = false;
    else if (screen->detail_has_keys)
        screen->detail_has_keys = false;
    else if (screen->filter[0])
        set_filter(screen, "");
    else
        screen->tid = 0, screen->stale = true;
}

enum seep_wish seep_screen_key(struct seep_screen *screen, int key) {
    screen->message[0] = 0;
    if (screen->input)
        return type(screen, key);
    if (screen->help && seep_screen_help_key(screen, key))
        return SEEP_WISH_NONE;
    if (screen->help && key != 'q') {
        screen->help = false;
        if (key == '?' || key == 'h' || key == SEEP_KEY_ESCAPE)
            return SEEP_WISH_NONE;
    }
    long page = SEEP_MAX((long)screen->nr_shown - 1, 1L);
    switch (key) {
    case 'q':
        return SEEP_WISH_QUIT;
    case '?':
    case 'h':
        screen->help = true;
        screen->help_first = 0;
        break;
    case '/':
        begin_input(screen, SEEP_INPUT_FILTER, screen->filter);
        break;
    case ':':
        begin_input(screen, SEEP_INPUT_COMMAND, "");
        break;
    case 'm':
        begin_input(screen, SEEP_INPUT_MARK, "");
        break;
    case 'w':
        begin_input(screen, SEEP_INPUT_SAVE, "");
        break;
    case 's':
        sort_by(screen, (screen->sort + 1) % SEEP_LIVE_SORT_NR);
        break;
    case 'd':
        if (!screen->live->mark[0])
            seep_screen_say(screen, true, "there is no mark yet: m makes one");
        else
            sort_by(screen,
                    screen->sort == SEEP_LIVE_SORT_SINCE ? SEEP_LIVE_SORT_LIVE : SEEP_LIVE_SORT_SINCE);
        break;
    case 't':
        screen->tree = !screen->tree;
        show_tab(screen, SEEP_TAB_SITES);
        break;
    case 'S':
        return SEEP_WISH_SCAN;
    case 'X':
        return wish(screen, SEEP_WISH_RECORDING,
                    seep_look_is_stopped(&screen->live->look) ? "start" : "stop");
    case ' ':
        screen->frozen = !screen->frozen;
        screen->stale |= !screen->frozen;
        break;
    case '<':
    case '>':
        next_thread(screen, key == '>' ? 1 : -1);
        break;
    case '+':
    case '-':
        change_interval(screen, key == '+');
        break;
    case SEEP_KEY_TAB:
        screen->detail_has_keys = !screen->detail_has_keys && !screen->no_detail && screen->detail_known;
        break;
    case SEEP_KEY_ENTER:
        open_row(screen);
        break;
    case SEEP_KEY_ESCAPE:
        escape(screen);
        break;
    case SEEP_KEY_LEFT:
    case SEEP_KEY_RIGHT:
        show_tab(screen, (screen->tab + (key == SEEP_KEY_RIGHT ? 1 : SEEP_TAB_NR - 1)) % SEEP_TAB_NR);
        break;
    case SEEP_KEY_UP:
    case 'k':
        move(screen, -1);
        break;
    case SEEP_KEY_DOWN:
    case 'j':
        move(screen, 1);
        break;
    case SEEP_KEY_PAGE_UP:
        move(screen, -page);
        break;
    case SEEP_KEY_PAGE_DOWN:
        move(screen, page);
        break;
    case SEEP_KEY_HOME:
        select_row(screen, 0);
        break;
    case SEEP_KEY_END:
        select_row(screen, SIZE_MAX);
        break;
    default:
        if (key >= '1' && key < '1' + SEEP_TAB_NR)
            show_tab(screen, key - '1');
    }
    return SEEP_WISH_NONE;
}

enum seep_wish seep_screen_click(struct seep_screen *screen, const struct seep_canvas *canvas, int x, int y) {
    int action = seep_canvas_action(canvas, x, y);
    if (action < 0 || screen->input)
        return SEEP_WISH_NONE;
    if (action >= SEEP_ACTION_ROW)
        select_row(screen, (size_t)(action - SEEP_ACTION_ROW));
    else if (action >= SEEP_ACTION_KEY)
        return seep_screen_key(screen, action - SEEP_ACTION_KEY);
    else if (action >= SEEP_ACTION_SORT)
        sort_by(screen, action - SEEP_ACTION_SORT);
    else if (action >= SEEP_ACTION_TAB)
        show_tab(screen, action - SEEP_ACTION_TAB);
    return SEEP_WISH_NONE;
}
