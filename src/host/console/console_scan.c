// SPDX-License-Identifier: BSD-2-Clause
// Reachability of blocks: scan, leaks, holders and whois.
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/numbers.h"
#include "base/sum.h"
#include "console/console_answer.h"
#include "output/grid.h"
#include "output/report_whois.h"
#include "scan/inspect.h"

static int compare_addresses(const void *left, const void *right) {
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

// Blocks that are lost now and were not in the scan before. An address that was allocated again meanwhile
// counts as old.
static struct seep_error *note_lost(struct seep_console *console, const struct seep_profile *profile) {
    size_t nr = 0;
    uint64_t *lost = calloc(SEEP_MAX(profile->nr_blocks, (size_t)1), sizeof(*lost));
    if (!lost)
        return seep_error_no_memory();
    console->lost_new = console->lost_new_bytes = 0;
    for (size_t i = 0; i < profile->nr_blocks; i++) {
        if (seep_profile_block_suppressed(profile, i) ||
            (profile->block_kinds[i] != SEEP_KIND_LOST && profile->block_kinds[i] != SEEP_KIND_INDIRECT))
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

static struct seep_error *put_class(struct seep_grid *grid, const char *name, uint64_t blocks,
                                    uint64_t bytes) {
    struct seep_error *error = seep_grid_text(grid, name);
    if (!error)
        error = seep_grid_number(grid, (int64_t)blocks);
    return error ? error : seep_grid_number(grid, (int64_t)bytes);
}

static struct seep_error *put_leaks(const struct seep_console *console, const char *name,
                                    const struct seep_profile *profile, FILE *out) {
    static const struct seep_grid_column columns[] = {{"class", "class", SEEP_GRID_TEXT},
                                                      {"blocks", "blocks", SEEP_GRID_COUNT},
                                                      {"bytes", "bytes", SEEP_GRID_COUNT},
                                                      {NULL}};
    struct seep_grid grid;
    seep_grid_init(&grid, columns);
    grid.notes = profile->health.notes;
    grid.nr_notes = profile->health.nr_notes;
    struct seep_error *error = NULL;
    const struct seep_leaks *leaks = &profile->leaks;
    for (uint32_t kind = SEEP_KIND_LOST; !error && kind < SEEP_KIND_NR; kind++)
        error = put_class(&grid, seep_kind_name(kind), leaks->blocks[kind], leaks->bytes[kind]);
    if (!error && leaks->suppressed_blocks)
        error = put_class(&grid, "suppressed", leaks->suppressed_blocks, leaks->suppressed_bytes);
    if (!error)
        error = put_class(&grid, "new since the scan before", console->lost_new, console->lost_new_bytes);
    return seep_console_answer(console, out, name, &grid, error);
}

static bool has_scan(const struct seep_session *session) {
    bool known = false;
    for (size_t i = 0; i < session->nr_profiles; i++)
        known |= session->profiles[i]->leaks.known;
    return known;
}

static struct seep_error *run_scan(struct seep_console *console, char *const *words, FILE *out) {
    struct seep_error *error = seep_console_needs_run(console, "scan");
    if (error && (console->live.scanned || has_scan(seep_console_session(console))))
        return seep_error_hint(error, "leaks shows what the last scan found");
    if (error)
        return error;
    struct seep_session *session = NULL;
    TRY(seep_live_source_scan(console->source, &session));
    error = seep_console_suppress(console, session);
    if (error) {
        seep_session_destroy(session);
        return error;
    }
    seep_live_take_scan(&console->live, session, seep_monotonic_ns());
    TRY(note_lost(console, session->profiles[0]));
    if (!console->json)
        fprintf(out, "the program waited %s\n",
                seep_format_duration(session->profiles[0]->leaks.pause_ns).text);
    return put_leaks(console, "scan", session->profiles[0], out);
}

// The last scan, or the one in the file.
static struct seep_error *scanned(struct seep_console *console, const struct seep_session **ret_session) {
    struct seep_session *session = console->live.scanned;
    if (!session && has_scan(seep_console_session(console)))
        session = seep_console_session(console);
    if (!session)
        return seep_error_hint(seep_error_create(SEEP_E_NOT_FOUND, "nothing was scanned yet"),
                               seep_console_runs(console) ? "scan does it: the program waits for that long"
                                                          : "'seep scan' does it while the program runs");
    *ret_session = session;
    return seep_console_suppress(console, session);
}

static struct seep_error *run_leaks(struct seep_console *console, char *const *words, FILE *out) {
    const struct seep_session *session;
    uint64_t top = console->top;
    TRY(scanned(console, &session));
    if (words[0])
        TRY(seep_console_parse_count("leaks", words[0], &top));
    struct seep_console_rows rows = {.name = "leaks",
                                     .by = SEEP_BY_SITE,
                                     .sort = SEEP_LIVE_SORT_LIVE,
                                     .top = top,
                                     .kinds = SEEP_KINDS_UNHELD,
                                     .all_threads = true,
                                     .empty = console->filter[0] ? "nothing is like the filter" : "nothing"};
    return seep_console_put_rows(console, &rows, out);
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
        TRY(seep_console_parse_count("holders", words[0], &top));
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
    return seep_console_answer(console, out, "holders", &grid, error);
}

static struct seep_error *run_whois(struct seep_console *console, char *const *words, FILE *out) {
    char *end = NULL;
    errno = 0;
    uint64_t address = words[0] ? strtoull(words[0], &end, 16) : 0;
    if (!words[0] || *end || end == words[0] || errno)
        return seep_error_create(SEEP_E_USAGE, "whois: an address, as 0x55d0c3a012a0");
    struct seep_whois *whois = NULL;
    struct seep_session *session;
    TRY(seep_console_whole(console, &session));
    // Over a link the pointers to the block are not fetched.
    struct seep_error *error =
        seep_console_runs(console) && !console->source->link
            ? seep_whois_process(console->source->pid, address, 10, console->symbols, &whois)
            : seep_whois_profile(session->profiles[0], address, console->symbols, &whois);
    if (!error && console->json)
        error = seep_whois_json(out, whois);
    else if (!error)
        seep_whois_text(out, whois);
    seep_whois_destroy(whois);
    return error;
}

const struct seep_console_command seep_console_scan_commands[] = {
    {"scan", "", "which blocks are lost: the program waits for that long", false, run_scan},
    {"leaks", "[N]", "the sites that lost most, in the last scan", false, run_leaks},
    {"holders", "[N]", "what holds most, in the last scan", false, run_holders},
    {"whois", "ADDRESS", "the block at an address, and what points to it; stops a running program", false,
     run_whois},
    {NULL},
};
