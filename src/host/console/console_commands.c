// SPDX-License-Identifier: BSD-2-Clause
// What each command of the console answers, see console.h.
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/numbers.h"
#include "base/sum.h"
#include "console/console.h"
#include "file/session_file.h"
#include "output/format.h"
#include "output/grid.h"
#include "output/report.h"
#include "output/report_whois.h"
#include "profile/health.h"
#include "scan/inspect.h"
#include "session/session_open.h"

#define TRY(call)                                                                                            \
    do {                                                                                                     \
        struct seep_error *try_error = (call);                                                               \
        if (try_error)                                                                                       \
            return try_error;                                                                                \
    } while (0)

// ---- helpers ----

static struct seep_error *parse_count(const char *what, const char *text, uint64_t *ret_value) {
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (end == text || *end || errno || *text == '-')
        return seep_error_create(SEEP_E_USAGE, "%s: a number, not '%s'", what, text);
    *ret_value = value;
    return NULL;
}

static struct seep_error *put_grid(const struct seep_console *console, FILE *out, const char *name,
                                   const struct seep_grid *grid) {
    if (console->json)
        return seep_grid_put_json(out, grid, name);
    seep_grid_put_text(out, grid);
    return NULL;
}

// Makes it, prints it, and lets it go.
static struct seep_error *answer(const struct seep_console *console, FILE *out, const char *name,
                                 struct seep_grid *grid, struct seep_error *error) {
    if (!error)
        error = put_grid(console, out, name, grid);
    seep_grid_deinit(grid);
    return error;
}

static struct seep_session *session_of(const struct seep_console *console) {
    return console->live.look.session;
}

// With blocks, mappings and marks, which do not come over a link with each look.
static struct seep_error *whole_of(struct seep_console *console, struct seep_session **ret_session) {
    struct seep_session *whole = NULL;
    *ret_session = session_of(console);
    if (console->whole && console->paused) {
        *ret_session = console->whole;
        return NULL;
    }
    TRY(seep_live_source_whole(console->source, &whole));
    if (!whole)
        return NULL;
    seep_session_destroy(console->whole);
    *ret_session = console->whole = whole;
    return NULL;
}

static bool runs(const struct seep_console *console) {
    return console->source->is_pid && !console->live.look.ended;
}

static struct seep_error *needs_run(const struct seep_console *console, const char *what) {
    if (runs(console))
        return NULL;
    return seep_error_create(SEEP_E_UNSUPPORTED, "%s: there is no process that runs", what);
}

// For JSON, an object that says what was done; for people the sentence.
static struct seep_error *done(const struct seep_console *console, FILE *out, const char *name,
                               const char *text) {
    static const struct seep_grid_column columns[] = {{"done", "done", SEEP_GRID_TEXT}, {NULL}};
    if (!console->json) {
        seep_put_escaped(out, text);
        fputc('\n', out);
        return NULL;
    }
    struct seep_grid grid;
    seep_grid_init(&grid, columns);
    grid.one = true;
    return answer(console, out, name, &grid, seep_grid_text(&grid, text));
}

// ---- status ----

static const char *state_of(const struct seep_console *console) {
    return !console->source->is_pid   ? "file"
           : console->live.look.ended ? "ended"
           : seep_look_is_stopped(&console->live.look)
               ? console->paused ? "running, recording is stopped, looks are paused"
                                 : "running, recording is stopped"
           : console->paused ? "running, looks are paused"
                             : "running";
}

static struct seep_error *run_status(struct seep_console *console, char *const *words, FILE *out) {
    static const struct seep_grid_column columns[] = {
        {"program", "program", SEEP_GRID_TEXT},
        {"pid", "pid", SEEP_GRID_TEXT},
        {"state", "state", SEEP_GRID_TEXT},
        {"processes", "processes", SEEP_GRID_COUNT},
        {"live_bytes", "live bytes", SEEP_GRID_COUNT},
        {"live_blocks", "live blocks", SEEP_GRID_COUNT},
        {"peak_bytes", "peak bytes", SEEP_GRID_COUNT},
        {"allocations", "allocations", SEEP_GRID_COUNT},
        {"frees", "frees", SEEP_GRID_COUNT},
        {"temporary", "temporary", SEEP_GRID_COUNT},
        {"rss_bytes", "resident bytes", SEEP_GRID_COUNT},
        {"health", "health", SEEP_GRID_TEXT},
        {NULL},
    };
    const struct seep_session *session = session_of(console);
    const struct seep_process *process = &session->profiles[0]->process;
    const struct seep_live_totals *totals = &console->live.totals;
    enum seep_verdict verdict = seep_profiles_verdict(session->profiles, session->nr_profiles);
    char pid[16];
    snprintf(pid, sizeof(pid), "%" PRIu32, process->pid);
    struct seep_grid grid;
    seep_grid_init(&grid, columns);
    grid.one = true;
    struct seep_error *error = seep_grid_text(&grid, process->name);
    if (!error)
        error = seep_grid_text(&grid, pid);
    if (!error)
        error = seep_grid_text(&grid, state_of(console));
    const struct {
        bool known;
        uint64_t value;
    } numbers[] = {{true, session->nr_profiles}, {true, totals->live_bytes},
                   {true, totals->live_blocks},  {session->nr_profiles == 1, totals->peak_bytes},
                   {true, totals->allocations},  {true, totals->frees},
                   {true, totals->temporary},    {totals->rss_bytes != 0, totals->rss_bytes}};
    for (size_t i = 0; !error && i < SEEP_ARRAY_SIZE(numbers); i++)
        error = seep_grid_number_if(&grid, numbers[i].known, (int64_t)numbers[i].value);
    if (!error)
        error = seep_grid_text(&grid, seep_verdict_name(verdict));
    return answer(console, out, "status", &grid, error);
}

// ---- rows ----

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
    // A site is known by its number in its process.
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

static struct seep_error *put_rows(struct seep_console *console, const char *name, int by, int sort,
                                   uint64_t top, uint32_t kinds, FILE *out) {
    struct seep_live_query query = {.by = by,
                                    .sort = sort,
                                    .top = top,
                                    .filter = console->filter,
                                    .tid = by == SEEP_BY_THREAD || kinds ? 0 : console->tid,
                                    .kinds = kinds};
    struct seep_live_table table;
    TRY(seep_live_table_make(&console->live, console->symbols, &query, &table));
    struct seep_grid grid;
    seep_grid_init(&grid, row_columns);
    grid.empty = console->filter[0] ? "nothing is like the filter" : "nothing";
    struct seep_error *error = NULL;
    bool several = table.session && table.session->nr_profiles > 1;
    for (size_t i = 0; !error && i < table.nr_rows; i++)
        error = put_row(&grid, &table.rows[i], by == SEEP_BY_SITE, several);
    grid.nr_more = table.nr_rows_all - table.nr_rows;
    error = answer(console, out, name, &grid, error);
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
            TRY(parse_count(name, *words, &top));
    }
    return put_rows(console, name, by, sort, top, 0, out);
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

// ---- one site ----

static struct seep_error *parse_site(const struct seep_session *session, const char *text,
                                     const struct seep_profile **ret_profile, uint32_t *ret_process,
                                     uint32_t *ret_site) {
    unsigned process = 0, site = 0;
    int end = 0;
    text += *text == '#';
    if ((sscanf(text, "%u:%u%n", &process, &site, &end) != 2 || text[end]) &&
        (process = 0, sscanf(text, "%u%n", &site, &end) != 1 || text[end]))
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "'%s' is no site", text),
                               "a number, as sites shows it");
    if (process >= session->nr_profiles || !site || site >= session->profiles[process]->nr_sites)
        return seep_error_create(SEEP_E_NOT_FOUND, "there is no site %s", text);
    *ret_profile = session->profiles[process];
    *ret_process = process;
    *ret_site = site;
    return NULL;
}

static int64_t is_site(const void *data, uint32_t process, uint32_t site) {
    return site == *(const uint32_t *)data;
}

static struct seep_error *run_stack(struct seep_console *console, char *const *words, FILE *out) {
    static const struct seep_grid_column columns[] = {
        {"function", "function", SEEP_GRID_TEXT}, {"file", "file", SEEP_GRID_TEXT},
        {"line", "line", SEEP_GRID_PLAIN},        {"module", "module", SEEP_GRID_TEXT},
        {"offset", "offset", SEEP_GRID_ADDRESS},  {NULL}};
    const struct seep_profile *profile;
    uint32_t process, site, more = 0;
    if (!words[0])
        return seep_error_create(SEEP_E_USAGE, "stack: of which site?");
    TRY(parse_site(session_of(console), words[0], &profile, &process, &site));
    struct seep_view_options options = seep_view_options_default;
    options.top = 1;
    options.measure = is_site;
    options.measure_data = &site;
    struct seep_view *view = NULL;
    TRY(seep_view_create(session_of(console), process, console->symbols, &options, &view));
    const struct seep_view_frame *frames = NULL;
    size_t nr = 0;
    struct seep_error *error =
        view->nr_rows ? seep_view_frames(view, &view->rows[0], &frames, &nr, &more) : NULL;
    struct seep_grid grid;
    seep_grid_init(&grid, columns);
    for (size_t i = 0; !error && i < nr; i++) {
        error = seep_grid_text(&grid, frames[i].name);
        if (!error)
            error = seep_grid_text(&grid, frames[i].file);
        if (!error)
            error = seep_grid_number_if(&grid, frames[i].line, frames[i].line);
        if (!error)
            error = seep_grid_text(&grid, frames[i].module);
        if (!error)
            error = seep_grid_number(&grid, (int64_t)frames[i].offset);
    }
    grid.nr_more = more;
    error = answer(console, out, "stack", &grid, error);
    seep_view_destroy(view);
    return error;
}

struct sized {
    const struct seep_profile *profile;
    size_t block;
};

static int compare_sized(const void *left, const void *right) {
    const struct sized *a = left, *b = right;
    uint64_t x = a->profile->blocks[a->block].size, y = b->profile->blocks[b->block].size;
    return (x < y) - (x > y);
}

static const struct seep_grid_column block_columns[] = {{"address", "address", SEEP_GRID_ADDRESS},
                                                        {"size", "size", SEEP_GRID_COUNT},
                                                        {"age_s", "age", SEEP_GRID_NS},
                                                        {"kind", "class", SEEP_GRID_TEXT},
                                                        {"pid", "pid", SEEP_GRID_TEXT},
                                                        {"site", "site", SEEP_GRID_TEXT},
                                                        {NULL}};

struct block_row {
    uint64_t address, size, site;
    int64_t age_ns;
    const char *kind;
    uint32_t pid;
};

static struct seep_error *put_block(struct seep_grid *grid, const struct block_row *row) {
    char pid[16], number[24];
    snprintf(pid, sizeof(pid), "%" PRIu32, row->pid);
    snprintf(number, sizeof(number), "%" PRIu64, row->site);
    TRY(seep_grid_number(grid, (int64_t)row->address));
    TRY(seep_grid_number(grid, (int64_t)row->size));
    TRY(seep_grid_number_if(grid, row->age_ns >= 0, row->age_ns));
    TRY(seep_grid_text(grid, row->kind));
    TRY(seep_grid_text(grid, pid));
    return seep_grid_text(grid, number);
}

// Of all blocks of what is there, or of those of one site.
static struct seep_error *put_blocks_of(struct seep_grid *grid, const struct seep_session *session,
                                        const struct seep_profile *only, uint32_t site, uint64_t top,
                                        uint64_t first) {
    size_t nr = 0, capacity = 0;
    for (size_t p = 0; p < session->nr_profiles; p++)
        for (size_t i = 0; i < session->profiles[p]->nr_blocks && (!only || session->profiles[p] == only);
             i++)
            capacity += !only || session->profiles[p]->blocks[i].site == site;
    struct sized *all = calloc(SEEP_MAX(capacity, (size_t)1), sizeof(*all));
    if (!all)
        return seep_error_no_memory();
    for (size_t p = 0; p < session->nr_profiles; p++)
        for (size_t i = 0; i < session->profiles[p]->nr_blocks && (!only || session->profiles[p] == only);
             i++)
            if (!only || session->profiles[p]->blocks[i].site == site)
                all[nr++] = (struct sized){session->profiles[p], i};
    qsort(all, nr, sizeof(*all), compare_sized);
    size_t begin = (size_t)SEEP_MIN(first, (uint64_t)nr);
    size_t shown = top ? (size_t)SEEP_MIN(nr - begin, top) : nr - begin;
    grid->nr_more = nr - begin - shown;
    struct seep_error *error = NULL;
    for (size_t i = begin; !error && i < begin + shown; i++) {
        const struct seep_profile *profile = all[i].profile;
        const struct seep_block *block = &profile->blocks[all[i].block];
        struct block_row row = {
            .address = block->address,
            .size = block->size,
            .site = block->site,
            .age_ns = block->age_ns,
            .kind = profile->block_kinds ? seep_kind_name(profile->block_kinds[all[i].block]) : NULL,
            .pid = profile->process.pid};
        error = put_block(grid, &row);
    }
    free(all);
    return error;
}

// The other side has them, and sends what is shown.
#define PAGE_BLOCKS 1000u
static struct seep_error *put_blocks_far(struct seep_console *console, struct seep_grid *grid,
                                         const struct seep_profile *only, uint32_t site, uint64_t top,
                                         uint64_t first) {
    const struct seep_session *session = session_of(console);
    uint64_t process = 0, nr_all = 0;
    while (only && session->profiles[process] != only)
        process++;
    for (uint64_t shown = 0; !*console->stop;) {
        struct seep_wire_block *blocks = NULL;
        size_t nr = 0;
        uint64_t most = top ? SEEP_MIN(top - shown, (uint64_t)PAGE_BLOCKS) : PAGE_BLOCKS;
        struct seep_error *error = seep_live_source_blocks(console->source, process, only ? site : 0,
                                                           first + shown, most, &blocks, &nr, &nr_all);
        for (size_t i = 0; !error && i < nr; i++) {
            bool known = blocks[i].process < session->nr_profiles;
            struct block_row row = {.address = blocks[i].address,
                                    .size = blocks[i].size,
                                    .site = blocks[i].site,
                                    .age_ns = blocks[i].age_ns,
                                    .pid = known ? session->profiles[blocks[i].process]->process.pid : 0};
            error = put_block(grid, &row);
        }
        free(blocks);
        if (error)
            return error;
        shown += nr;
        uint64_t beyond = SEEP_MIN(first, nr_all) + shown;
        grid->nr_more = nr_all > beyond ? (size_t)(nr_all - beyond) : 0;
        if (nr < most || (top && shown >= top))
            break;
    }
    return NULL;
}

// The largest blocks, of a site or of all. Over a link a scan's classes are of the whole that was fetched for
// it.
static struct seep_error *run_blocks(struct seep_console *console, char *const *words, FILE *out) {
    const struct seep_profile *only = NULL;
    struct seep_session *session = session_of(console);
    uint32_t process = 0, site = 0;
    uint64_t top = console->top, first = 0;
    if (words[0] && strcmp(words[0], "0") != 0)
        TRY(parse_site(session, words[0], &only, &process, &site));
    if (words[0] && words[1])
        TRY(parse_count("blocks", words[1], &top));
    if (words[0] && words[1] && words[2])
        TRY(parse_count("blocks", words[2], &first));
    struct seep_grid grid;
    seep_grid_init(&grid, block_columns);
    grid.empty = "no block is known";
    struct seep_error *error = console->source->link ? put_blocks_far(console, &grid, only, site, top, first)
                                                     : put_blocks_of(&grid, session, only, site, top, first);
    return answer(console, out, "blocks", &grid, error);
}

// ---- scans ----

static int compare_addresses(const void *left, const void *right) {
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

// What is lost now and was not in the scan before. An address that was given out again meanwhile counts as
// old.
static struct seep_error *note_lost(struct seep_console *console, const struct seep_profile *profile) {
    size_t nr = 0;
    uint64_t *lost = calloc(SEEP_MAX(profile->nr_blocks, (size_t)1), sizeof(*lost));
    if (!lost)
        return seep_error_no_memory();
    console->lost_new = console->lost_new_bytes = 0;
    for (size_t i = 0; i < profile->nr_blocks; i++) {
        if (profile->block_kinds[i] != SEEP_KIND_LOST && profile->block_kinds[i] != SEEP_KIND_INDIRECT)
            continue;
        lost[nr++] = profile->blocks[i].address;
        if (console->nr_lost &&
            bsearch(&lost[nr - 1], console->lost, console->nr_lost, sizeof(*lost), compare_addresses))
            continue;
        console->lost_new++;
        seep_add_up(&console->lost_new_bytes, profile->blocks[i].size);
    }
    free(console->lost); // by address, as the blocks are
    console->lost = lost;
    console->nr_lost = nr;
    return NULL;
}

static struct seep_error *put_leaks(const struct seep_console *console, const char *name,
                                    const struct seep_profile *profile, FILE *out) {
    static const struct seep_grid_column columns[] = {{"class", "class", SEEP_GRID_TEXT},
                                                      {"blocks", "blocks", SEEP_GRID_COUNT},
                                                      {"bytes", "bytes", SEEP_GRID_COUNT},
                                                      {NULL}};
    struct seep_grid grid;
    seep_grid_init(&grid, columns);
    struct seep_error *error = NULL;
    for (uint32_t kind = SEEP_KIND_LOST; !error && kind < SEEP_KIND_NR; kind++) {
        error = seep_grid_text(&grid, seep_kind_name(kind));
        if (!error)
            error = seep_grid_number(&grid, (int64_t)profile->leaks.blocks[kind]);
        if (!error)
            error = seep_grid_number(&grid, (int64_t)profile->leaks.bytes[kind]);
    }
    if (!error)
        error = seep_grid_text(&grid, "new since the scan before");
    if (!error)
        error = seep_grid_number(&grid, (int64_t)console->lost_new);
    if (!error)
        error = seep_grid_number(&grid, (int64_t)console->lost_new_bytes);
    return answer(console, out, name, &grid, error);
}

static struct seep_error *run_scan(struct seep_console *console, char *const *words, FILE *out) {
    TRY(needs_run(console, "scan"));
    struct seep_session *session = NULL;
    TRY(seep_live_source_scan(console->source, &session));
    seep_live_take_scan(&console->live, session, seep_monotonic_ns());
    TRY(note_lost(console, session->profiles[0]));
    if (!console->json)
        fprintf(out, "the program waited %s\n",
                seep_format_duration(session->profiles[0]->leaks.pause_ns).text);
    return put_leaks(console, "scan", session->profiles[0], out);
}

// The last scan, or what a file has of one.
static struct seep_error *scanned(const struct seep_console *console,
                                  const struct seep_session **ret_session) {
    const struct seep_session *session = console->live.scanned;
    for (size_t i = 0; !session && i < session_of(console)->nr_profiles; i++)
        if (session_of(console)->profiles[i]->leaks.known)
            session = session_of(console);
    if (!session)
        return seep_error_hint(seep_error_create(SEEP_E_NOT_FOUND, "nothing was scanned yet"),
                               runs(console) ? "scan does it: the program waits for that long"
                                             : "'seep scan' does it while the program runs");
    *ret_session = session;
    return NULL;
}

static struct seep_error *run_leaks(struct seep_console *console, char *const *words, FILE *out) {
    const struct seep_session *session;
    uint64_t top = console->top;
    TRY(scanned(console, &session));
    if (words[0])
        TRY(parse_count("leaks", words[0], &top));
    return put_rows(console, "leaks", SEEP_BY_SITE, SEEP_LIVE_SORT_LIVE, top, SEEP_KINDS_UNHELD, out);
}

static struct seep_error *run_holders(struct seep_console *console, char *const *words, FILE *out) {
    static const struct seep_grid_column columns[] = {{"bytes", "bytes", SEEP_GRID_COUNT},
                                                      {"blocks", "blocks", SEEP_GRID_COUNT},
                                                      {"held_by", "held by", SEEP_GRID_TEXT},
                                                      {NULL}};
    const struct seep_session *session;
    uint64_t top = console->top;
    TRY(scanned(console, &session));
    if (words[0])
        TRY(parse_count("holders", words[0], &top));
    struct seep_grid grid;
    seep_grid_init(&grid, columns);
    grid.empty = "nothing is held";
    struct seep_error *error = NULL;
    for (uint32_t p = 0; !error && p < session->nr_profiles; p++) {
        const struct seep_leaks *leaks = &session->profiles[p]->leaks;
        struct seep_view_options options = seep_view_options_default;
        options.top = 1;
        struct seep_view *view = NULL;
        error = seep_view_create(session, p, console->symbols, &options, &view);
        for (uint32_t i = 0; !error && i < leaks->nr_holders && (!top || i < top); i++) {
            const char *text = NULL;
            error = seep_grid_number(&grid, (int64_t)leaks->holders[i].bytes);
            if (!error)
                error = seep_grid_number(&grid, (int64_t)leaks->holders[i].blocks);
            if (!error)
                error = seep_view_chain(view, p, leaks->holders[i].chain, &text, NULL);
            if (!error)
                error = seep_grid_text(&grid, text);
        }
        seep_view_destroy(view);
    }
    return answer(console, out, "holders", &grid, error);
}

static struct seep_error *run_whois(struct seep_console *console, char *const *words, FILE *out) {
    char *end = NULL;
    errno = 0;
    uint64_t address = words[0] ? strtoull(words[0], &end, 16) : 0;
    if (!words[0] || *end || end == words[0] || errno)
        return seep_error_create(SEEP_E_USAGE, "whois: an address, as 0x55d0c3a012a0");
    struct seep_whois *whois = NULL;
    struct seep_session *session;
    TRY(whole_of(console, &session));
    // Who points to it is not asked over a link.
    struct seep_error *error =
        runs(console) && !console->source->link
            ? seep_whois_process(console->source->pid, address, 10, console->symbols, &whois)
            : seep_whois_profile(session->profiles[0], address, console->symbols, &whois);
    if (!error && console->json)
        error = seep_whois_json(out, whois);
    else if (!error)
        seep_whois_text(out, whois);
    seep_whois_destroy(whois);
    return error;
}

// ---- marks ----

static struct seep_error *run_mark(struct seep_console *console, char *const *words, FILE *out) {
    char name[SEEP_MARK_NAME_MAX + 1], text[256];
    TRY(needs_run(console, "mark"));
    if (words[0] && (strlen(words[0]) > SEEP_MARK_NAME_MAX || !*words[0] || strpbrk(words[0], "@#")))
        return seep_error_create(SEEP_E_USAGE, "mark: a name has 1 to %u bytes, and no @ and no #",
                                 SEEP_MARK_NAME_MAX);
    if (words[0])
        snprintf(name, sizeof(name), "%s", words[0]);
    else
        snprintf(name, sizeof(name), "m%u", ++console->nr_marks);
    TRY(seep_live_mark(&console->live, name));
    TRY(seep_live_source_mark(console->source, name));
    snprintf(text, sizeof(text), "since is counted from '%.100s' now", name);
    return done(console, out, "mark", text);
}

static struct seep_error *run_reset(struct seep_console *console, char *const *words, FILE *out) {
    TRY(seep_live_mark(&console->live, "reset"));
    return done(console, out, "reset", "since is counted from now; the program's own counts go on");
}

static struct seep_error *run_diff(struct seep_console *console, char *const *words, FILE *out) {
    if (words[0])
        TRY(seep_live_mark_of_profile(&console->live, words[0]));
    else if (!console->live.mark[0])
        TRY(seep_live_mark_of_profile(&console->live, ""));
    return put_rows(console, "diff", SEEP_BY_SITE, SEEP_LIVE_SORT_SINCE, console->top, 0, out);
}

// ---- growth ----

static void sleep_ms(const struct seep_console *console, int64_t ms) {
    for (; ms > 0 && !*console->stop; ms -= 50) {
        struct timespec time = {0, SEEP_MIN(ms, INT64_C(50)) * 1000000};
        nanosleep(&time, NULL);
    }
}

static struct seep_error *run_growth(struct seep_console *console, char *const *words, FILE *out) {
    uint64_t count = 20, ms = 250;
    if (words[0])
        TRY(parse_count("growth", words[0], &count));
    if (words[0] && words[1])
        TRY(parse_count("growth", words[1], &ms));
    for (uint64_t i = 0; i < count && runs(console) && !console->paused && !*console->stop; i++) {
        sleep_ms(console, (int64_t)SEEP_MIN(SEEP_MAX(ms, UINT64_C(10)), UINT64_C(3600000)));
        struct seep_look look;
        seep_look_make(console->source, &console->live.look, &look);
        TRY(seep_live_take(&console->live, &look));
    }
    struct seep_live_query query = {
        .by = SEEP_BY_SITE, .sort = SEEP_LIVE_SORT_LIVE, .filter = console->filter};
    struct seep_live_table table;
    TRY(seep_live_table_make(&console->live, console->symbols, &query, &table));
    struct seep_grid grid;
    seep_grid_init(&grid, row_columns);
    grid.empty = "nothing grows without bound";
    struct seep_error *error = NULL;
    bool several = table.session->nr_profiles > 1;
    for (size_t i = 0; !error && i < table.nr_rows; i++) {
        struct seep_live_row *row = &table.rows[i];
        // A file has the looks that were made when it was saved.
        if (!row->verdict && row->row->growth)
            row->verdict = row->row->growth->trend.verdict;
        if (row->verdict == SEEP_TREND_GROWING)
            error = put_row(&grid, row, true, several);
    }
    error = answer(console, out, "growth", &grid, error);
    seep_live_table_deinit(&table);
    return error;
}

// ---- the process ----

static struct seep_error *run_proc(struct seep_console *console, char *const *words, FILE *out) {
    static const struct seep_grid_column columns[] = {
        {"pid", "pid", SEEP_GRID_TEXT},         {"ppid", "parent", SEEP_GRID_TEXT},
        {"program", "program", SEEP_GRID_TEXT}, {"start", "start", SEEP_GRID_TEXT},
        {"duration_s", "time", SEEP_GRID_NS},   {"threads", "threads", SEEP_GRID_COUNT},
        {"sites", "sites", SEEP_GRID_COUNT},    {"events", "events", SEEP_GRID_COUNT},
        {"exe", "executable", SEEP_GRID_TEXT},  {NULL}};
    struct seep_grid grid;
    seep_grid_init(&grid, columns);
    struct seep_error *error = NULL;
    const struct seep_session *session = session_of(console);
    for (size_t i = 0; !error && i < session->nr_profiles; i++) {
        const struct seep_profile *profile = session->profiles[i];
        char pid[16], ppid[16];
        snprintf(pid, sizeof(pid), "%" PRIu32, profile->process.pid);
        snprintf(ppid, sizeof(ppid), "%" PRIu32, profile->process.ppid);
        const char *const texts[] = {pid, ppid, profile->process.name,
                                     seep_format_time(profile->process.start_realtime_ns).text};
        for (size_t t = 0; !error && t < SEEP_ARRAY_SIZE(texts); t++)
            error = seep_grid_text(&grid, texts[t]);
        const int64_t numbers[] = {profile->process.duration_ns, profile->nr_threads,
                                   profile->nr_sites ? profile->nr_sites - 1 : 0,
                                   (int64_t)profile->health.events};
        for (size_t n = 0; !error && n < SEEP_ARRAY_SIZE(numbers); n++)
            error = seep_grid_number(&grid, numbers[n]);
        if (!error)
            error = seep_grid_text(&grid, profile->process.exe);
    }
    return answer(console, out, "proc", &grid, error);
}

static struct seep_error *run_maps(struct seep_console *console, char *const *words, FILE *out) {
    static const struct seep_grid_column columns[] = {
        {"start", "start", SEEP_GRID_ADDRESS}, {"end", "end", SEEP_GRID_ADDRESS},
        {"pid", "pid", SEEP_GRID_TEXT},        {"kind", "what", SEEP_GRID_TEXT},
        {"name", "name", SEEP_GRID_TEXT},      {NULL}};
    struct seep_grid grid;
    seep_grid_init(&grid, columns);
    struct seep_error *error = NULL;
    struct seep_session *session;
    TRY(whole_of(console, &session));
    for (size_t p = 0; !error && p < session->nr_profiles; p++) {
        const struct seep_profile *profile = session->profiles[p];
        char pid[16], name[32];
        snprintf(pid, sizeof(pid), "%" PRIu32, profile->process.pid);
        for (uint32_t i = 0; !error && i < profile->nr_modules + profile->nr_mappings; i++) {
            bool module = i < profile->nr_modules;
            const struct seep_mapping *mapped = module ? NULL : &profile->mappings[i - profile->nr_modules];
            if (module && (!i || profile->modules[i].unloaded_ns >= 0))
                continue;
            if (mapped)
                snprintf(name, sizeof(name), "site %" PRIu32, mapped->site);
            error = seep_grid_number(&grid, (int64_t)(module ? profile->modules[i].start_rt : mapped->start));
            if (!error)
                error = seep_grid_number(
                    &grid, (int64_t)(module ? profile->modules[i].end_rt : mapped->start + mapped->bytes));
            if (!error)
                error = seep_grid_text(&grid, pid);
            if (!error)
                error = seep_grid_text(&grid, module ? "module" : "mapping");
            if (!error)
                error = seep_grid_text(&grid, module ? profile->modules[i].path : name);
        }
    }
    return answer(console, out, "maps", &grid, error);
}

// ---- settings ----

static struct seep_error *run_show(struct seep_console *console, char *const *words, FILE *out) {
    static const struct seep_grid_column columns[] = {{"top", "top", SEEP_GRID_COUNT},
                                                      {"sort", "sort", SEEP_GRID_TEXT},
                                                      {"filter", "filter", SEEP_GRID_TEXT},
                                                      {"thread", "thread", SEEP_GRID_TEXT},
                                                      {"mark", "mark", SEEP_GRID_TEXT},
                                                      {"looks", "looks", SEEP_GRID_TEXT},
                                                      {NULL}};
    struct seep_grid grid;
    seep_grid_init(&grid, columns);
    grid.one = true;
    char tid[16] = "all";
    if (console->tid)
        snprintf(tid, sizeof(tid), "%" PRIu32, console->tid);
    const char *const texts[] = {seep_live_sort_names[console->sort],
                                 console->filter[0] ? console->filter : "none", tid,
                                 console->live.mark[0] ? console->live.mark : "none",
                                 console->paused ? "paused" : "before each command"};
    struct seep_error *error = seep_grid_number(&grid, (int64_t)console->top);
    for (size_t i = 0; !error && i < SEEP_ARRAY_SIZE(texts); i++)
        error = seep_grid_text(&grid, texts[i]);
    return answer(console, out, "show", &grid, error);
}

static struct seep_error *run_filter(struct seep_console *console, char *const *words, FILE *out) {
    if (words[0] && strlen(words[0]) >= sizeof(console->filter))
        return seep_error_create(SEEP_E_USAGE, "filter: that is too long");
    snprintf(console->filter, sizeof(console->filter), "%s", words[0] ? words[0] : "");
    return done(console, out, "filter",
                console->filter[0] ? "only what is like that is shown" : "all is shown");
}

static struct seep_error *control(struct seep_console *console, FILE *out, const char *name,
                                  const struct seep_image_control *asked) {
    bool done_now = false;
    char text[128];
    TRY(needs_run(console, name));
    TRY(seep_live_source_control(console->source, &console->live.look, asked, &done_now));
    seep_live_describe_control(asked, done_now, text, sizeof(text));
    return done(console, out, name, text);
}

static struct seep_error *run_stop(struct seep_console *console, char *const *words, FILE *out) {
    return control(console, out, "stop", &(struct seep_image_control){.recording = SEEP_RECORDING_STOP});
}

static struct seep_error *run_start(struct seep_console *console, char *const *words, FILE *out) {
    return control(console, out, "start", &(struct seep_image_control){.recording = SEEP_RECORDING_START});
}

static struct seep_error *set_depth(struct seep_console *console, uint64_t depth, FILE *out) {
    if (depth < 1 || depth > SEEP_CONTROL_DEPTH_MOST)
        return seep_error_create(SEEP_E_USAGE, "set depth: 1 to %u frames", SEEP_CONTROL_DEPTH_MOST);
    return control(console, out, "set", &(struct seep_image_control){.depth = (uint32_t)depth});
}

static struct seep_error *run_set(struct seep_console *console, char *const *words, FILE *out) {
    const char *key = words[0], *value = key ? words[1] : NULL;
    uint64_t number = 0;
    if (!key || !value)
        return seep_error_create(SEEP_E_USAGE,
                                 "set: top N, sort KEY, filter RE, thread TID, depth N, or json on|off");
    if (strcmp(key, "filter") == 0)
        return run_filter(console, words + 1, out);
    if (strcmp(key, "depth") == 0) {
        TRY(parse_count("depth", value, &number));
        return set_depth(console, number, out);
    }
    if (strcmp(key, "top") == 0) {
        TRY(parse_count("top", value, &console->top));
    } else if (strcmp(key, "thread") == 0) {
        TRY(parse_count("thread", strcmp(value, "all") == 0 ? "0" : value, &number));
        console->tid = (uint32_t)SEEP_MIN(number, (uint64_t)UINT32_MAX);
    } else if (strcmp(key, "json") == 0) {
        console->json = strcmp(value, "on") == 0;
    } else if (strcmp(key, "sort") == 0) {
        int found = -1;
        for (int i = 0; seep_live_sort_names[i]; i++)
            if (strcmp(seep_live_sort_names[i], value) == 0)
                found = i;
        if (found < 0)
            return seep_error_create(SEEP_E_USAGE,
                                     "sort: live, rate, since, blocks, allocations or temporary");
        console->sort = found;
    } else {
        return seep_error_create(SEEP_E_USAGE,
                                 "set: there is no '%s' (top, sort, filter, thread, depth or json)", key);
    }
    return run_show(console, words, out);
}

static struct seep_error *run_pause(struct seep_console *console, char *const *words, FILE *out) {
    console->paused = true;
    return done(console, out, "pause", "all commands are of the last look now; the program runs on");
}

static struct seep_error *run_resume(struct seep_console *console, char *const *words, FILE *out) {
    console->paused = false;
    return done(console, out, "resume", "a look is made before each command");
}

// ---- files and the end ----

static struct seep_error *run_dump(struct seep_console *console, char *const *words, FILE *out) {
    struct seep_view_options options = seep_view_options_default;
    options.top = console->top;
    if (words[0])
        TRY(parse_count("dump", words[0], &options.top));
    options.json = console->json;
    struct seep_session *session;
    TRY(whole_of(console, &session));
    return seep_report_write(out, session, console->symbols, &options, NULL);
}

static struct seep_error *run_save(struct seep_console *console, char *const *words, FILE *out) {
    struct seep_session *session;
    TRY(whole_of(console, &session));
    const struct seep_process *process = &session->profiles[0]->process;
    char *name = NULL, *saved = NULL, *text = NULL;
    const char *program = process->name[strcspn(process->name, "/")] ? "program" : process->name;
    for (size_t i = 0; console->source->is_pid && session == session_of(console) && i < session->nr_profiles;
         i++)
        TRY(seep_series_give(&console->live.lives[console->live.life_of[i]]->series, session->profiles[i]));
    if (asprintf(&name, words[0] ? "%s" : "seep.%s.%" PRIu32 ".snap.seep", words[0] ? words[0] : program,
                 process->pid) < 0)
        return seep_error_no_memory();
    struct seep_error *error = seep_session_save_beside(session, name, &saved);
    if (!error && asprintf(&text, "saved: seep report %s", saved) < 0)
        error = seep_error_no_memory();
    if (!error)
        error = done(console, out, "save", text);
    free(text);
    free(saved);
    free(name);
    return error;
}

static struct seep_error *run_quit(struct seep_console *console, char *const *words, FILE *out) {
    console->quit = true;
    return NULL;
}

static struct seep_error *run_help(struct seep_console *console, char *const *words, FILE *out) {
    static const struct seep_grid_column columns[] = {{"name", "command", SEEP_GRID_TEXT},
                                                      {"usage", "", SEEP_GRID_TEXT},
                                                      {"help", "", SEEP_GRID_TEXT},
                                                      {NULL}};
    struct seep_error *error = NULL;
    const struct seep_console_command *only = words[0] ? seep_console_find(words[0], &error) : NULL;
    if (error)
        return error;
    struct seep_grid grid;
    seep_grid_init(&grid, columns);
    for (const struct seep_console_command *at = seep_console_commands; !error && at->name; at++) {
        if (only && at != only)
            continue;
        error = seep_grid_text(&grid, at->name);
        if (!error)
            error = seep_grid_text(&grid, at->usage);
        if (!error)
            error = seep_grid_text(&grid, at->help);
    }
    if (error || console->json)
        return answer(console, out, "help", &grid, error);
    for (const struct seep_console_command *at = seep_console_commands; at->name; at++)
        if (!only || at == only)
            fprintf(out, "  %-10s %-18s %s\n", at->name, at->usage, at->help);
    seep_grid_deinit(&grid);
    if (!only)
        fputs("A beginning of a name is enough where it is no other's. COMMAND > FILE writes the answer "
              "there.\n",
              out);
    return NULL;
}

const struct seep_console_command seep_console_commands[] = {
    {"status", "", "what this is, its totals, how far they can be trusted", false, run_status},
    {"sites", "[N] [KEY]", "the sites that have most", false, run_sites},
    {"functions", "[N] [KEY]", "the same by function", false, run_functions},
    {"lines", "[N] [KEY]", "by line of the source", false, run_lines},
    {"modules", "[N] [KEY]", "by module", false, run_modules},
    {"threads", "[N] [KEY]", "by thread", false, run_threads},
    {"processes", "[N] [KEY]", "by process", false, run_processes},
    {"top", "[N] [KEY]", "the same as sites", false, run_sites},
    {"stack", "SITE", "the stack of a site", false, run_stack},
    {"blocks", "[SITE [N [FIRST]]]", "the largest live blocks, of a site or of all (0); from the FIRST on",
     false, run_blocks},
    {"scan", "", "which blocks are lost: the program waits for that long", false, run_scan},
    {"leaks", "[N]", "the sites that lost most, in the last scan", false, run_leaks},
    {"holders", "[N]", "what holds most, in the last scan", false, run_holders},
    {"whois", "ADDRESS", "which block is there; of what runs who points to it: it waits for that long", false,
     run_whois},
    {"mark", "[NAME]", "name this moment, in the image too", false, run_mark},
    {"diff", "[MARK]", "what came since the mark", false, run_diff},
    {"reset", "", "count what came from now on", false, run_reset},
    {"growth", "[N [MS]]", "look N times (20), every MS (250), and say what grows", false, run_growth},
    {"proc", "", "the processes: parent, start, threads", false, run_proc},
    {"maps", "", "modules, and mappings of the program", false, run_maps},
    {"filter", "[RE]", "only what has a function, file or module like this; without RE: all", true,
     run_filter},
    {"stop", "", "record no allocations from now on", false, run_stop},
    {"start", "", "record them again", false, run_start},
    {"set", "KEY VALUE",
     "top N, sort KEY, filter RE, thread TID, json on|off; depth N of the program's stacks", true, run_set},
    {"show", "", "what is set", true, run_show},
    {"pause", "", "no new looks: all commands are of the last one", true, run_pause},
    {"resume", "", "a look before each command again", true, run_resume},
    {"dump", "[N]", "the report", false, run_dump},
    {"save", "[FILE]", "save it as a trace", false, run_save},
    {"detach", "", "leave; the program goes on", true, run_quit},
    {"quit", "", "the same", true, run_quit},
    {"help", "[COMMAND]", "this", true, run_help},
    {NULL},
};
