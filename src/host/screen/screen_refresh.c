// SPDX-License-Identifier: BSD-2-Clause
// Makes the contents of the live screen: the table, the tree, and the details of the chosen row. See
// screen_parts.h.
#include "screen/screen_parts.h"

#define ROWS_MOST 1000u

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
                                    .tid = screen->tid,
                                    .no_rows = tree,
                                    .like = &screen->table};
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

void seep_screen_refresh(struct seep_screen *screen, size_t room) {
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

void seep_screen_make_detail(struct seep_screen *screen) {
    if (screen->detail_known || screen->tab == SEEP_TAB_LOG || screen->selected >= screen->table.nr_rows)
        return;
    struct seep_error *error = seep_live_detail_make(screen->live, screen->symbols, &screen->table,
                                                     screen->selected, &screen->detail);
    screen->detail_known = !error;
    if (error)
        seep_screen_say(screen, true, error->message);
    seep_error_destroy(error);
}
