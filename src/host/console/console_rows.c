// SPDX-License-Identifier: BSD-2-Clause
// The rows with the largest figures: by site, function, line, module, thread and process.
#include <inttypes.h>
#include <string.h>

#include "console/console_answer.h"
#include "output/grid.h"

static const struct seep_grid_column row_columns[] = {
    {"site", "site", SEEP_GRID_TEXT}, // of rows by site "#12"
    {"live_bytes", "live bytes", SEEP_GRID_COUNT},
    {"live_blocks", "blocks", SEEP_GRID_COUNT},
    {"bytes_per_s", "bytes/s", SEEP_GRID_CHANGE},
    {"since_bytes", "since mark", SEEP_GRID_CHANGE},
    {"since_blocks", "blocks since", SEEP_GRID_CHANGE},
    {"allocations", "allocations", SEEP_GRID_COUNT},
    {"allocations_per_s", "alloc/s", SEEP_GRID_COUNT},
    {"temporary_percent", "tmp", SEEP_GRID_PERCENT},
    {"trend", "trend", SEEP_GRID_TEXT},
    {"where", "where", SEEP_GRID_TEXT},
    {NULL},
};

static struct seep_error *put_row(struct seep_grid *grid, const struct seep_live_row *row, bool by_site,
                                  bool several) {
    char site[48] = "";
    // A site is identified by its number in its process.
    if (by_site && several)
        snprintf(site, sizeof(site), "%" PRIu32 ":%" PRIu32, row->process, row->site);
    else if (by_site)
        snprintf(site, sizeof(site), "%" PRIu32, row->site);
    const struct seep_view_row *of = row->row;
    TRY(seep_grid_text(grid, by_site ? site : NULL));
    TRY(seep_grid_number(grid, of->live_bytes));
    TRY(seep_grid_number(grid, of->live_blocks));
    TRY(seep_grid_number_if(grid, row->per_s_known, (int64_t)row->bytes_per_s));
    TRY(seep_grid_number_if(grid, row->since_known, row->since_bytes));
    TRY(seep_grid_number_if(grid, row->since_known, row->since_blocks));
    TRY(seep_grid_number_if(grid, of->known & SEEP_KNOWN_ALLOCATIONS, (int64_t)of->counters.allocations));
    TRY(seep_grid_number_if(grid, row->per_s_known, (int64_t)(row->allocations_per_s + 0.5)));
    TRY(seep_grid_number_if(grid, row->temporary_percent >= 0, row->temporary_percent));
    TRY(seep_grid_text(grid, row->verdict ? seep_trend_name(row->verdict) : NULL));
    return seep_grid_text(grid, row->where);
}

struct seep_error *seep_console_put_rows(struct seep_console *console, const struct seep_console_rows *rows,
                                         FILE *out) {
    struct seep_live_query query = {.by = rows->by,
                                    .sort = rows->sort,
                                    .top = rows->top,
                                    .filter = console->filter,
                                    .tid = rows->all_threads ? 0 : console->tid,
                                    .kinds = rows->kinds};
    struct seep_live_table table;
    TRY(seep_live_table_make(&console->live, console->symbols, &query, &table));
    struct seep_grid grid;
    seep_grid_init(&grid, row_columns);
    grid.empty = rows->empty;
    struct seep_error *error = NULL;
    bool several = table.session && table.session->nr_profiles > 1;
    for (size_t i = 0; !error && i < table.nr_rows; i++) {
        struct seep_live_row *row = &table.rows[i];
        // A file has the looks that were made when it was saved.
        if (rows->growing && !row->verdict && row->row->growth)
            row->verdict = row->row->growth->trend.verdict;
        if (!rows->growing || row->verdict == SEEP_TREND_GROWING)
            error = put_row(&grid, row, rows->by == SEEP_BY_SITE, several);
    }
    grid.nr_more = table.nr_rows_all - table.nr_rows;
    error = seep_console_answer(console, out, rows->name, &grid, error);
    seep_live_table_deinit(&table);
    return error;
}

static struct seep_error *rows_of(struct seep_console *console, const char *name, int by, char *const *words,
                                  FILE *out) {
    uint64_t top = console->top;
    int sort = console->sort;
    for (; *words; words++) {
        int found = -1;
        for (int i = 0; seep_live_sort_names[i]; i++)
            if (strncmp(seep_live_sort_names[i], *words, strlen(*words)) == 0)
                found = found < 0 ? i : -2;
        if (found >= 0)
            sort = found;
        else
            TRY(seep_console_parse_count(name, *words, &top));
    }
    struct seep_console_rows rows = {.name = name,
                                     .by = by,
                                     .sort = sort,
                                     .top = top,
                                     .all_threads = by == SEEP_BY_THREAD,
                                     .empty = console->filter[0] ? "nothing is like the filter" : "nothing"};
    return seep_console_put_rows(console, &rows, out);
}

static struct seep_error *run_sites(struct seep_console *console, char *const *words, FILE *out) {
    return rows_of(console, "sites", SEEP_BY_SITE, words, out);
}

static struct seep_error *run_functions(struct seep_console *console, char *const *words, FILE *out) {
    return rows_of(console, "functions", SEEP_BY_FUNCTION, words, out);
}

static struct seep_error *run_lines(struct seep_console *console, char *const *words, FILE *out) {
    return rows_of(console, "lines", SEEP_BY_LINE, words, out);
}

static struct seep_error *run_threads(struct seep_console *console, char *const *words, FILE *out) {
    return rows_of(console, "threads", SEEP_BY_THREAD, words, out);
}

static struct seep_error *run_processes(struct seep_console *console, char *const *words, FILE *out) {
    return rows_of(console, "processes", SEEP_BY_PROCESS, words, out);
}

static struct seep_error *run_modules(struct seep_console *console, char *const *words, FILE *out) {
    return rows_of(console, "modules", SEEP_BY_MODULE, words, out);
}

const struct seep_console_command seep_console_row_commands[] = {
    {"sites", "[N] [KEY]", "the sites that have most", false, run_sites},
    {"functions", "[N] [KEY]", "the same by function", false, run_functions},
    {"lines", "[N] [KEY]", "by line of the source", false, run_lines},
    {"modules", "[N] [KEY]", "by module", false, run_modules},
    {"threads", "[N] [KEY]", "by thread", false, run_threads},
    {"processes", "[N] [KEY]", "by process", false, run_processes},
    {"top", "[N] [KEY]", "the same as sites", false, run_sites},
    {NULL},
};
