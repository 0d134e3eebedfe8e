// SPDX-License-Identifier: BSD-2-Clause
// The rows of a live screen, see live_table.h.
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/regex_size.h"
#include "base/sum.h"
#include "live/live_table.h"

const char *const seep_live_sort_names[SEEP_LIVE_SORT_NR + 1] = {
    [SEEP_LIVE_SORT_LIVE] = "live",
    [SEEP_LIVE_SORT_RATE] = "rate",
    [SEEP_LIVE_SORT_SINCE] = "since",
    [SEEP_LIVE_SORT_BLOCKS] = "blocks",
    [SEEP_LIVE_SORT_ALLOCATIONS] = "allocations",
    [SEEP_LIVE_SORT_TEMPORARY] = "temporary",
};

// ---- figures of one site at the moments ----

static struct seep_live_figures at_moment(const struct seep_live_moment *moment, uint32_t site) {
    return site < moment->nr_sites ? moment->sites[site] : (struct seep_live_figures){0};
}

static int64_t change(uint64_t now, uint64_t before) {
    return (int64_t)(now - before);
}

static const struct seep_life *life_at(const struct seep_live *live, uint32_t process) {
    return live->lives[live->life_of[process]];
}

struct measured {
    const struct seep_live *live;
    int sort;
};

static int64_t measure(const void *data, uint32_t process, uint32_t site) {
    const struct measured *measured = data;
    const struct seep_life *life = life_at(measured->live, process);
    struct seep_live_figures now = at_moment(&life->last, site), before = at_moment(&life->before, site);
    if (!life->before_ns)
        before = measured->sort == SEEP_LIVE_SORT_RATE ? now : (struct seep_live_figures){0};
    switch (measured->sort) {
    case SEEP_LIVE_SORT_RATE:
        return change(now.live_bytes, before.live_bytes);
    case SEEP_LIVE_SORT_SINCE:
        return change(now.live_bytes, at_moment(&life->mark, site).live_bytes);
    case SEEP_LIVE_SORT_BLOCKS:
        return change(now.live_blocks, 0);
    case SEEP_LIVE_SORT_ALLOCATIONS:
        return change(now.allocations, before.allocations);
    case SEEP_LIVE_SORT_TEMPORARY:
        return change(now.temporary, before.temporary);
    default:
        return change(now.live_bytes, 0);
    }
}

// ---- the filter ----

// A text that is no regular expression, as one that is being typed, or too large a one, is looked for as it
// stands.
static bool filter_compile(const char *text, regex_t *ret_regex) {
    if (seep_regex_is_small(text) && regcomp(ret_regex, text, REG_EXTENDED | REG_ICASE | REG_NOSUB) == 0)
        return true;
    char literal[512];
    size_t nr = 0;
    for (; *text && nr + 3 < sizeof(literal); text++) {
        if (strchr("\\^$.[]|()*+?{}", *text))
            literal[nr++] = '\\';
        literal[nr++] = *text;
    }
    literal[nr] = 0;
    return regcomp(ret_regex, literal, REG_EXTENDED | REG_ICASE | REG_NOSUB) == 0;
}

// ---- names ----

static struct seep_error *name_of_node(struct seep_view *view, uint32_t node, const char **ret_where,
                                       const char **ret_brief) {
    uint32_t frame;
    unsigned inlined;
    const struct seep_symbol *symbol;
    *ret_where = "(stack not recorded)";
    struct seep_error *error = seep_stacks_self(view->stacks, node, true, &frame, &inlined);
    if (error || frame == SEEP_NO_FRAME)
        return error;
    error = seep_stacks_resolve(view->stacks, frame, &symbol);
    if (error)
        return error;
    struct seep_view_frame shown = seep_view_frame_of(view, frame, symbol, inlined);
    *ret_brief = shown.name;
    if (shown.name && shown.line)
        *ret_brief = seep_arena_printf(&view->arena, "%s:%u", shown.name, shown.line);
    if (shown.name && shown.file && shown.line)
        *ret_where = seep_arena_printf(&view->arena, "%s (%s:%u)", shown.name, shown.file, shown.line);
    else if (shown.name)
        *ret_where = seep_arena_printf(&view->arena, "%s [%s]", shown.name, shown.module);
    else
        *ret_where = *ret_brief =
            seep_arena_printf(&view->arena, "%s+0x%llx", shown.module, (unsigned long long)shown.offset);
    return *ret_where ? NULL : seep_error_no_memory();
}

// Who called what a row is of, further out; NULL: no function of another name did.
static struct seep_error *caller_of(struct seep_view *view, uint32_t node, const char *where,
                                    const char **ret_caller, const char **ret_brief) {
    const struct seep_stack_node *nodes = view->stacks->nodes;
    *ret_caller = *ret_brief = NULL;
    while (node && (node = nodes[node].parent)) {
        const char *caller = NULL, *brief = NULL;
        struct seep_error *error = name_of_node(view, node, &caller, &brief);
        if (error)
            return error;
        if (strcmp(caller, where) == 0)
            continue;
        *ret_caller = caller;
        *ret_brief = brief;
        return NULL;
    }
    return NULL;
}

static uint64_t hash_of_text(const char *text) {
    return seep_hash_bytes(text, strlen(text));
}

// Rows of one name: each gets its caller, and its number where that is not enough.
static struct seep_error *tell_apart(struct seep_view *view, struct seep_live_row *rows, size_t nr) {
    struct seep_error *error = NULL;
    for (int turn = 0; !error && turn < 2; turn++) {
        struct seep_map count = SEEP_MAP_INIT;
        for (size_t i = 0; !error && i < nr; i++) {
            uint64_t *place = seep_map_at(&count, hash_of_text(rows[i].where), NULL);
            if (!place)
                error = seep_error_no_memory();
            else
                ++*place;
        }
        for (size_t i = 0; !error && i < nr; i++) {
            struct seep_live_row *row = &rows[i];
            const uint64_t *of_name = seep_map_at(&count, hash_of_text(row->where), NULL);
            const char *caller = NULL, *caller_brief = NULL;
            if (!of_name || *of_name < 2)
                continue;
            if (!turn)
                error = caller_of(view, row->row->node, row->where, &caller, &caller_brief);
            if (error || (!turn && !caller))
                continue;
            const char *where = turn ? seep_arena_printf(&view->arena, "%s, site %u", row->where, row->site)
                                     : seep_arena_printf(&view->arena, "%s, from %s", row->where, caller);
            const char *brief = NULL;
            if (row->brief && turn)
                brief = seep_arena_printf(&view->arena, "%s, site %u", row->brief, row->site);
            else if (row->brief && caller_brief)
                brief = seep_arena_printf(&view->arena, "%s, %s", row->brief, caller_brief);
            row->brief = brief;
            row->where = where ? where : row->where;
            error = where ? NULL : seep_error_no_memory();
        }
        seep_map_deinit(&count);
    }
    return error;
}

// ---- what is added to rows ----

struct added {
    int64_t change_bytes; // since the look before
    uint64_t allocations; // since then; where that is not known, of all time
    uint64_t temporary;
    int64_t since_bytes;
    int64_t since_blocks;
    uint64_t most;
    bool known; // the look before was of it, too
    double seconds;
};

static void add_site(struct added *added, struct seep_live_row *row, const struct seep_life *life,
                     uint32_t process, uint32_t site) {
    struct seep_live_figures now = at_moment(&life->last, site), before = at_moment(&life->before, site),
                             mark = at_moment(&life->mark, site);
    if (life->before_ns) {
        added->known = true;
        added->seconds = (double)(life->last_ns - life->before_ns) / 1e9;
        seep_add_signed(&added->change_bytes, change(now.live_bytes, before.live_bytes));
        now.allocations -= SEEP_MIN(before.allocations, now.allocations);
        now.temporary -= SEEP_MIN(before.temporary, now.temporary);
    }
    seep_add_up(&added->allocations, now.allocations);
    seep_add_up(&added->temporary, now.temporary);
    seep_add_signed(&added->since_bytes, change(now.live_bytes, mark.live_bytes));
    seep_add_signed(&added->since_blocks, change(now.live_blocks, mark.live_blocks));
    if (!row->site || now.live_bytes > added->most) {
        row->site = site;
        row->process = process;
        added->most = now.live_bytes;
    }
}

static void add_thread(struct added *added, const struct seep_life *life, uint32_t thread) {
    if (thread >= life->last.nr_threads)
        return;
    struct seep_live_figures zero = {0}, now = life->last.threads[thread];
    struct seep_live_figures before = thread < life->before.nr_threads ? life->before.threads[thread] : zero;
    struct seep_live_figures mark = thread < life->mark.nr_threads ? life->mark.threads[thread] : zero;
    added->since_bytes = change(now.live_bytes, mark.live_bytes) - change(now.freed_bytes, mark.freed_bytes);
    added->since_blocks = change(now.allocations, mark.allocations) - change(now.frees, mark.frees);
    added->known = life->before_ns != 0;
    if (!added->known)
        return;
    added->seconds = (double)(life->last_ns - life->before_ns) / 1e9;
    added->change_bytes =
        change(now.live_bytes, before.live_bytes) - change(now.freed_bytes, before.freed_bytes);
    added->allocations = now.allocations - SEEP_MIN(before.allocations, now.allocations);
}

// Looks that follow one another at once say nothing of a second.
#define RATE_LEAST_S 0.04

static void finish_row(const struct seep_live *live, const struct added *added, struct seep_live_row *row,
                       bool of_thread) {
    row->per_s_known = added->known && added->seconds >= RATE_LEAST_S && !live->look.ended;
    if (row->per_s_known) {
        row->bytes_per_s = (double)added->change_bytes / added->seconds;
        row->allocations_per_s = (double)added->allocations / added->seconds;
    }
    row->since_known = live->mark[0] != 0;
    row->since_bytes = added->since_bytes;
    row->since_blocks = added->since_blocks;
    uint64_t nr = added->allocations, temporary = added->temporary;
    if (!nr || of_thread || !row->per_s_known) { // too little since the look before: the share of all time
        nr = row->row->counters.allocations;
        temporary = row->row->counters.temporary;
    }
    row->temporary_percent = nr && row->row->known & SEEP_KNOWN_TEMPORARY
                                 ? (int)(100.0 * (double)SEEP_MIN(temporary, nr) / (double)nr)
                                 : -1;
}

// ---- trends ----

// The series of the lives go side by side along that of the longest.
struct runner {
    const struct seep_series *series;
    int64_t start_ns;
    uint32_t next;
    uint64_t *live; // by site
    const uint32_t *site_rows;
    uint32_t nr_sites;
};

static void run_until(struct runner *runner, int64_t until_ns, uint64_t *sums) {
    while (runner->next < runner->series->nr_snapshots &&
           runner->start_ns + runner->series->snapshots[runner->next].at_ns <= until_ns) {
        const struct seep_snapshot *snapshot = &runner->series->snapshots[runner->next++];
        for (uint32_t i = 0; i < snapshot->nr_sites; i++) {
            uint32_t site = snapshot->sites[i].site;
            if (site >= runner->nr_sites)
                continue;
            uint32_t row = runner->site_rows[site];
            if (row)
                sums[row - 1] += snapshot->sites[i].live_bytes - runner->live[site];
            runner->live[site] = snapshot->sites[i].live_bytes;
        }
    }
}

static struct seep_error *add_trends(const struct seep_live *live, struct seep_live_table *table) {
    size_t nr = table->view->nr_processes, longest = 0;
    struct runner *runners = calloc(SEEP_MAX(nr, (size_t)1), sizeof(*runners));
    uint64_t *sums = calloc(SEEP_MAX(table->nr_rows, (size_t)1), sizeof(*sums));
    struct seep_error *error = runners && sums ? NULL : seep_error_no_memory();
    for (size_t p = 0; !error && p < nr; p++) {
        const struct seep_life *life = life_at(live, (uint32_t)p);
        runners[p] = (struct runner){.series = &life->series,
                                     .start_ns = life->start_realtime_ns,
                                     .site_rows = table->view->site_rows[p],
                                     .nr_sites = table->session->profiles[p]->nr_sites};
        runners[p].live = calloc(SEEP_MAX(runners[p].nr_sites, 1u), sizeof(*runners[p].live));
        if (!runners[p].live)
            error = seep_error_no_memory();
        if (life->series.nr_snapshots > runners[longest].series->nr_snapshots)
            longest = p;
    }
    double times[SEEP_LIVE_POINTS];
    uint32_t nr_times = error || !nr ? 0 : SEEP_MIN(runners[longest].series->nr_snapshots, SEEP_LIVE_POINTS);
    for (uint32_t t = 0; t < nr_times; t++) {
        int64_t at_ns = runners[longest].series->snapshots[t].at_ns;
        times[t] = (double)at_ns / 1e9;
        // Looks are of one moment to within what a look takes.
        for (size_t p = 0; p < nr; p++)
            run_until(&runners[p], runners[longest].start_ns + at_ns + (p == longest ? 0 : 100000000), sums);
        for (size_t i = 0; i < table->nr_rows; i++)
            table->rows[i].trend[table->rows[i].nr_trend++] = sums[i];
    }
    for (size_t i = 0; nr_times >= SEEP_TREND_LEAST && i < table->nr_rows; i++) {
        double values[SEEP_LIVE_POINTS];
        for (uint32_t t = 0; t < nr_times; t++)
            values[t] = (double)table->rows[i].trend[t];
        struct seep_trend trend;
        seep_trend_judge(times, values, nr_times, &trend);
        table->rows[i].verdict = trend.verdict;
    }
    for (size_t p = 0; runners && p < nr; p++)
        free(runners[p].live);
    free(runners);
    free(sums);
    return error;
}

// ---- the table ----

static uint64_t key_of(const struct seep_live_table *table, const struct seep_live_row *row) {
    if (row->row->key)
        return seep_hash_bytes(row->row->key, strlen(row->row->key));
    const struct seep_process *process = &table->session->profiles[row->process]->process;
    return seep_hash64(seep_hash64((uint64_t)process->pid << 32 | row->site) ^
                       (uint64_t)process->start_realtime_ns);
}

static double thread_key(const struct seep_live_row *row, int sort) {
    switch (sort) {
    case SEEP_LIVE_SORT_RATE:
        return row->bytes_per_s;
    case SEEP_LIVE_SORT_SINCE:
        return (double)row->since_bytes;
    case SEEP_LIVE_SORT_BLOCKS:
        return (double)row->row->live_blocks;
    case SEEP_LIVE_SORT_ALLOCATIONS:
        return row->per_s_known ? row->allocations_per_s : (double)row->row->counters.allocations;
    case SEEP_LIVE_SORT_TEMPORARY:
        return (double)row->row->counters.temporary;
    default:
        return (double)row->row->live_bytes;
    }
}

static int compare_threads(const void *left, const void *right, void *sort) {
    double a = thread_key(left, *(int *)sort), b = thread_key(right, *(int *)sort);
    return (a < b) - (a > b);
}

static struct seep_error *fill_rows(const struct seep_live *live, const struct seep_live_query *query,
                                    struct seep_live_table *table) {
    struct seep_view *view = table->view;
    struct added *added = calloc(SEEP_MAX(view->nr_rows, (size_t)1), sizeof(*added));
    table->rows = calloc(SEEP_MAX(view->nr_rows, (size_t)1), sizeof(*table->rows));
    if (!added || !table->rows) {
        free(added);
        return seep_error_no_memory();
    }
    table->nr_rows = view->nr_rows;
    table->nr_rows_all = view->nr_rows_all;
    bool of_look = table->session == live->look.session, of_thread = query->by == SEEP_BY_THREAD;
    for (size_t i = 0; i < view->nr_rows; i++)
        table->rows[i].row = &view->rows[i];
    for (size_t p = 0; p < view->nr_processes; p++)
        for (uint32_t s = 1; s < table->session->profiles[p]->nr_sites; s++) {
            uint32_t row = view->site_rows[p][s];
            if (!row)
                continue;
            if (of_look) {
                add_site(&added[row - 1], &table->rows[row - 1], life_at(live, (uint32_t)p), (uint32_t)p, s);
            } else if (!table->rows[row - 1].site) {
                table->rows[row - 1].site = s;
                table->rows[row - 1].process = (uint32_t)p;
            }
        }
    struct seep_error *error = NULL;
    for (size_t i = 0; !error && i < view->nr_rows; i++) {
        struct seep_live_row *row = &table->rows[i];
        if (of_thread && row->row->nr_shares) {
            row->process = row->row->shares[0].process;
            if (of_look)
                add_thread(&added[i], life_at(live, row->process), row->row->thread);
        }
        if (of_look)
            finish_row(live, &added[i], row, of_thread);
        else
            row->temporary_percent = -1;
        row->where = query->by == SEEP_BY_FUNCTION ? seep_stacks_name_shown(view->stacks, row->row->key)
                                                   : row->row->key;
        if (query->by == SEEP_BY_SITE)
            error = name_of_node(view, row->row->node, &row->where, &row->brief);
        if (query->by == SEEP_BY_PROCESS && row->row->nr_shares) {
            const struct seep_process *process =
                &table->session->profiles[row->row->shares[0].process]->process;
            row->brief = seep_arena_printf(&view->arena, "%u %s", (unsigned)process->pid, process->name);
        }
        row->key = key_of(table, row);
    }
    free(added);
    if (!error && query->by == SEEP_BY_SITE)
        error = tell_apart(view, table->rows, view->nr_rows);
    if (!error && of_look && !of_thread)
        error = add_trends(live, table);
    return error;
}

// Rows of threads and processes are few: they are sorted and cut here, and filtered by their names.
static void cut_threads(const struct seep_live_query *query, const regex_t *filter,
                        struct seep_live_table *table) {
    size_t nr = 0;
    for (size_t i = 0; i < table->nr_rows; i++)
        if (!filter || regexec(filter, table->rows[i].where, 0, NULL, 0) == 0)
            table->rows[nr++] = table->rows[i];
    int sort = query->sort;
    qsort_r(table->rows, nr, sizeof(*table->rows), compare_threads, &sort);
    table->nr_rows_all = nr;
    table->nr_rows = query->top ? SEEP_MIN(nr, query->top) : nr;
}

static struct seep_error *make(const struct seep_live *live, struct seep_symbols *symbols,
                               const struct seep_live_query *query, regex_t *filter, regex_t *thread,
                               struct seep_live_table *table) {
    struct measured measured = {live, query->sort};
    bool few = query->by == SEEP_BY_THREAD || query->by == SEEP_BY_PROCESS;
    bool of_look = table->session == live->look.session;
    struct seep_view_options options = seep_view_options_default;
    options.by = query->by;
    options.top = few ? 0 : query->top;
    options.full_paths = query->full_paths;
    options.any = few ? NULL : filter;
    options.thread = few ? NULL : thread;
    options.kinds = query->kinds;
    options.sort = query->kinds ? SEEP_SORT_LEAKED : SEEP_SORT_LIVE;
    // What one thread did has no past: its rows are in the order of what it has now.
    if (of_look && !few && !thread && !query->kinds && query->sort != SEEP_LIVE_SORT_LIVE) {
        options.measure = measure;
        options.measure_data = &measured;
    }
    const struct seep_live_table *like = query->like;
    if (like && like->view && like->session == table->session && like->at_ns == table->at_ns)
        options.like = like->view;
    struct seep_error *error = seep_view_create(table->session, SIZE_MAX, symbols, &options, &table->view);
    if (!error && !query->no_rows)
        error = fill_rows(live, query, table);
    if (error)
        return error;
    table->view->options.measure = NULL; // its data is gone
    if (few)
        cut_threads(query, filter, table);
    return NULL;
}

// What was scanned on demand, or what the session has of a scan.
static const struct seep_session *scanned_session(const struct seep_live *live) {
    for (size_t i = 0; !live->scanned && live->look.session && i < live->look.session->nr_profiles; i++)
        if (live->look.session->profiles[i]->leaks.known)
            return live->look.session;
    return live->scanned;
}

struct seep_error *seep_live_table_make(const struct seep_live *live, struct seep_symbols *symbols,
                                        const struct seep_live_query *query,
                                        struct seep_live_table *ret_table) {
    struct seep_live_table table = {.session = query->kinds ? scanned_session(live) : live->look.session};
    table.at_ns = table.session == live->look.session ? live->look.at_ns : live->scanned_ns;
    if (!table.session) {
        *ret_table = table;
        return NULL;
    }
    regex_t filter, thread;
    bool filtered = query->filter && *query->filter && filter_compile(query->filter, &filter);
    char tid[16];
    snprintf(tid, sizeof(tid), "^%u$", (unsigned)query->tid);
    bool of_thread = query->tid && regcomp(&thread, tid, REG_EXTENDED | REG_NOSUB) == 0;
    struct seep_error *error =
        make(live, symbols, query, filtered ? &filter : NULL, of_thread ? &thread : NULL, &table);
    if (filtered)
        regfree(&filter);
    if (of_thread)
        regfree(&thread);
    if (error) {
        seep_live_table_deinit(&table);
        return error;
    }
    table.view->options.any = table.view->options.thread = NULL;
    *ret_table = table;
    return NULL;
}

void seep_live_table_deinit(struct seep_live_table *table) {
    seep_view_destroy(table->view);
    free(table->rows);
    *table = (struct seep_live_table){NULL};
}
