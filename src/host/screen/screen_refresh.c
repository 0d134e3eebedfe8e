// SPDX-License-Identifier: BSD-2-Clause
// Makes the contents of the live screen: the table, the tree, and the details of the chosen row. See
// screen_parts.h.
#include <string.h>

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

static void take_table(struct seep_screen *screen, struct seep_screen_job *job) {
    drop_detail(screen);
    seep_screen_tree_clear(&screen->branches);
    seep_live_table_deinit(&screen->table);
    screen->table = job->made;
    screen->made_tab = job->tab;
    screen->made_tree = job->tree;
    screen->nr_wanted = job->query.top;
    seep_live_forget(screen->live);
    struct seep_error *error = job->error;
    if (!error)
        error = seep_screen_tree_take(&screen->branches, &job->made_tree);
    if (error)
        seep_screen_say(screen, true, error->message);
    seep_error_destroy(error);
    if (!screen->stale) {
        screen->key_waits = false;
        follow_selected(screen);
    }
}

static void take_job(struct seep_screen *screen) {
    struct seep_screen_job job = screen->job;
    screen->making = false;
    screen->job = (struct seep_screen_job){NULL};
    if (!job.of_row && (!job.error || job.made.session)) {
        take_table(screen, &job);
        return;
    }
    screen->key_waits &= job.of_row;
    if (job.error)
        seep_screen_say(screen, true, job.error->message);
    else if (job.row == screen->selected && !screen->stale)
        screen->detail = job.made_detail, screen->detail_known = true;
    else
        seep_live_detail_deinit(&job.made_detail);
    seep_error_destroy(job.error);
}

static bool finish_within(struct seep_screen *screen, int64_t most_ns) {
    if (screen->making && seep_screen_maker_wait(screen->maker, most_ns))
        take_job(screen);
    return !screen->making;
}

void seep_screen_finish(struct seep_screen *screen) {
    (void)finish_within(screen, INT64_MAX);
}

static void start_job(struct seep_screen *screen) {
    screen->job.live = screen->live;
    screen->job.symbols = screen->symbols;
    screen->making = true;
    if (!screen->maker) {
        seep_screen_job_do(&screen->job);
        take_job(screen);
        return;
    }
    seep_screen_maker_start(screen->maker, &screen->job);
    (void)finish_within(screen, screen->patience_ns);
}

static void start_table(struct seep_screen *screen, size_t nr_rows) {
    struct seep_screen_job *job = &screen->job;
    bool tree = screen->tree && screen->tab == SEEP_TAB_SITES;
    *job = (struct seep_screen_job){.tab = screen->tab, .tree = tree};
    memcpy(job->filter, screen->filter, sizeof(screen->filter));
    job->query = (struct seep_live_query){.by = by_of_tab(screen->tab),
                                          .sort = screen->sort,
                                          .top = tree ? 0 : nr_rows,
                                          .filter = job->filter,
                                          .tid = screen->tid,
                                          .no_rows = tree,
                                          .like = &screen->table};
    if (screen->tab == SEEP_TAB_LEAKS)
        job->query.kinds = SEEP_KINDS_UNHELD;
    if (screen->tab == SEEP_TAB_THREADS || screen->tab == SEEP_TAB_LEAKS)
        job->query.tid = 0;
    screen->stale = false;
    start_job(screen);
}

void seep_screen_refresh(struct seep_screen *screen, size_t room) {
    if (!finish_within(screen, 0) || screen->tab == SEEP_TAB_LOG)
        return;
    size_t need = SEEP_MIN(SEEP_MAX(screen->selected, screen->first), (size_t)ROWS_MOST) + 2 * room + 20;
    bool more = need > screen->nr_wanted && screen->table.nr_rows < screen->table.nr_rows_all &&
                screen->nr_wanted < ROWS_MOST;
    if (screen->stale || more)
        start_table(screen, SEEP_MIN(SEEP_MAX(need, (size_t)100), (size_t)ROWS_MOST));
}

void seep_screen_make_detail(struct seep_screen *screen) {
    if (screen->making || screen->detail_known || screen->tab == SEEP_TAB_LOG ||
        !seep_screen_is_made(screen) || screen->selected >= screen->table.nr_rows)
        return;
    screen->job = (struct seep_screen_job){.of_row = true, .table = &screen->table, .row = screen->selected};
    start_job(screen);
}
