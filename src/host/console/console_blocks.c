// SPDX-License-Identifier: BSD-2-Clause
// One site: its stack and its blocks, or the largest blocks of all.
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/sum.h"
#include "console/console_answer.h"
#include "output/grid.h"

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
    TRY(parse_site(seep_console_session(console), words[0], &profile, &process, &site));
    struct seep_view_options options = seep_view_options_default;
    options.top = 1;
    options.measure = is_site;
    options.measure_data = &site;
    struct seep_view *view = NULL;
    TRY(seep_view_create(seep_console_session(console), process, console->symbols, &options, &view));
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
    error = seep_console_answer(console, out, "stack", &grid, error);
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
    TRY(seep_grid_number(grid, (int64_t)row->address));
    TRY(seep_grid_number(grid, (int64_t)row->size));
    TRY(seep_grid_number_if(grid, row->age_ns >= 0, row->age_ns));
    TRY(seep_grid_text(grid, row->kind));
    TRY(seep_grid_id(grid, row->pid));
    return seep_grid_id(grid, row->site);
}

// Which blocks are shown. Without `view`: all. Else those of each site that `sites` shows in one row with
// this site, as of forked processes.
struct wanted {
    struct seep_view *view;
    uint32_t process, site;
};

static struct seep_error *want_row(struct seep_console *console, uint32_t process, uint32_t site,
                                   struct wanted *ret_wanted) {
    struct seep_view_options options = seep_view_options_default;
    options.top = 0;
    *ret_wanted = (struct wanted){NULL, process, site};
    return seep_view_create(seep_console_session(console), SIZE_MAX, console->symbols, &options,
                            &ret_wanted->view);
}

static bool is_wanted(const struct wanted *wanted, size_t process, uint32_t site) {
    if (!wanted->view)
        return true;
    uint32_t *const *rows = wanted->view->site_rows;
    uint32_t row = rows[wanted->process][wanted->site]; // 0: in none
    return row ? rows[process][site] == row : process == wanted->process && site == wanted->site;
}

// Takes the blocks that are wanted into `all`. If `all` is NULL, counts them only.
static size_t take_blocks(const struct seep_session *session, const struct wanted *wanted,
                          struct sized *all) {
    size_t nr = 0;
    for (size_t p = 0; p < session->nr_profiles; p++)
        for (size_t i = 0; i < session->profiles[p]->nr_blocks; i++) {
            if (!is_wanted(wanted, p, session->profiles[p]->blocks[i].site))
                continue;
            if (all)
                all[nr] = (struct sized){session->profiles[p], i};
            nr++;
        }
    return nr;
}

static struct seep_error *put_blocks_of(struct seep_grid *grid, const struct seep_session *session,
                                        const struct wanted *wanted, uint64_t top, uint64_t first) {
    size_t nr = take_blocks(session, wanted, NULL);
    struct sized *all = calloc(SEEP_MAX(nr, (size_t)1), sizeof(*all));
    if (!all)
        return seep_error_no_memory();
    take_blocks(session, wanted, all);
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

// ---- the server has the blocks ----

#define PAGE_BLOCKS 1000u

struct far {
    struct seep_wire_block *blocks; // malloc'ed
    size_t nr;
    size_t capacity;
    uint64_t nr_all; // that there are of the sites
};

// Appends the blocks [first, first + most) of a site (0: of all), in pages. `most` 0: all of them.
static struct seep_error *fetch(struct seep_console *console, uint64_t process, uint64_t site, uint64_t first,
                                uint64_t most, struct far *far) {
    uint64_t nr_of_site = 0;
    for (uint64_t got = 0; !*console->stop;) {
        struct seep_wire_block *blocks = NULL;
        size_t nr = 0;
        uint64_t wanted = most ? SEEP_MIN(most - got, (uint64_t)PAGE_BLOCKS) : PAGE_BLOCKS;
        TRY(seep_live_source_blocks(console->source, process, site, first + got, wanted, &blocks, &nr,
                                    &nr_of_site));
        bool fits = seep_grow(&far->blocks, &far->capacity, far->nr + nr, sizeof(*far->blocks));
        if (fits && nr)
            memcpy(far->blocks + far->nr, blocks, nr * sizeof(*blocks));
        free(blocks);
        if (!fits)
            return seep_error_no_memory();
        far->nr += nr;
        got += nr;
        if (nr < wanted || (most && got >= most))
            break;
    }
    seep_add_up(&far->nr_all, nr_of_site);
    return NULL;
}

static int compare_far(const void *left, const void *right) {
    const struct seep_wire_block *a = left, *b = right;
    if (a->size != b->size)
        return a->size < b->size ? 1 : -1;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return (a->address > b->address) - (a->address < b->address);
}

// The largest of several sites are among the largest of each.
static struct seep_error *fetch_row(struct seep_console *console, const struct wanted *wanted, uint64_t most,
                                    struct far *far) {
    const struct seep_session *session = seep_console_session(console);
    struct seep_error *error = NULL;
    for (size_t p = 0; p < session->nr_profiles; p++)
        for (uint32_t s = 1; !error && s < session->profiles[p]->nr_sites; s++)
            if (session->profiles[p]->sites[s].live_blocks && is_wanted(wanted, p, s))
                error = fetch(console, p, s, 0, most, far);
    if (far->nr)
        qsort(far->blocks, far->nr, sizeof(*far->blocks), compare_far);
    return error;
}

static struct seep_error *put_blocks_far(struct seep_console *console, struct seep_grid *grid,
                                         const struct wanted *wanted, uint64_t top, uint64_t first) {
    const struct seep_session *session = seep_console_session(console);
    struct far far = {NULL};
    uint64_t most = top && first <= UINT64_MAX - top ? first + top : 0;
    struct seep_error *error =
        wanted->view ? fetch_row(console, wanted, most, &far) : fetch(console, 0, 0, first, top, &far);
    size_t begin = wanted->view ? (size_t)SEEP_MIN(first, (uint64_t)far.nr) : 0;
    size_t shown = top ? (size_t)SEEP_MIN((uint64_t)(far.nr - begin), top) : far.nr - begin;
    for (size_t i = begin; !error && i < begin + shown; i++) {
        const struct seep_wire_block *block = &far.blocks[i];
        bool known = block->process < session->nr_profiles;
        struct block_row row = {.address = block->address,
                                .size = block->size,
                                .site = block->site,
                                .age_ns = block->age_ns,
                                .pid = known ? session->profiles[block->process]->process.pid : 0};
        error = put_block(grid, &row);
    }
    free(far.blocks);
    uint64_t beyond = SEEP_MIN(first, far.nr_all) + shown;
    grid->nr_more = far.nr_all > beyond ? (size_t)(far.nr_all - beyond) : 0;
    return error;
}

// The largest blocks, of a site or of all.
static struct seep_error *run_blocks(struct seep_console *console, char *const *words, FILE *out) {
    const struct seep_profile *profile;
    struct seep_session *session = seep_console_session(console);
    struct wanted wanted = {NULL};
    uint32_t process = 0, site = 0;
    uint64_t top = console->top, first = 0;
    if (words[0] && strcmp(words[0], "0") != 0)
        TRY(parse_site(session, words[0], &profile, &process, &site));
    if (words[0] && words[1])
        TRY(seep_console_parse_count("blocks", words[1], &top));
    if (words[0] && words[1] && words[2])
        TRY(seep_console_parse_count("blocks", words[2], &first));
    if (site)
        TRY(want_row(console, process, site, &wanted));
    struct seep_grid grid;
    seep_grid_init(&grid, block_columns);
    grid.empty = "no block is known";
    struct seep_error *error = console->source->link ? put_blocks_far(console, &grid, &wanted, top, first)
                                                     : put_blocks_of(&grid, session, &wanted, top, first);
    seep_view_destroy(wanted.view);
    return seep_console_answer(console, out, "blocks", &grid, error);
}

const struct seep_console_command seep_console_block_commands[] = {
    {"stack", "SITE", "the stack of a site", false, run_stack},
    {"blocks", "[SITE [N [FIRST]]]", "the largest live blocks, of a site or of all (0); from the FIRST on",
     false, run_blocks},
    {NULL},
};
