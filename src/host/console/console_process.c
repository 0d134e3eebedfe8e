// SPDX-License-Identifier: BSD-2-Clause
// Facts about the processes: status, proc and maps.
#include <inttypes.h>

#include "base/numbers.h"
#include "console/console_answer.h"
#include "output/grid.h"
#include "profile/verdict.h"

static const char *state_of(const struct seep_console *console) {
    return !console->source->is_pid   ? "file"
           : console->live.look.ended ? "ended"
           : seep_look_is_stopped(&console->live.look)
               ? console->paused ? "running, recording is stopped, looks are paused"
                                 : "running, recording is stopped"
           : console->paused ? "running, looks are paused"
                             : "running";
}

// Why the figures are not complete, by the first process with the verdict of all. Not known where they are.
static struct seep_error *put_why(struct seep_grid *grid, const struct seep_session *session,
                                  enum seep_verdict verdict) {
    if (verdict == SEEP_VERDICT_COMPLETE)
        return seep_grid_text(grid, NULL);
    size_t i = 0;
    while (seep_profile_verdict(session->profiles[i]) != verdict)
        i++;
    const char *why = seep_profile_why_incomplete(session->profiles[i], &grid->arena);
    if (why && session->nr_profiles > 1)
        why = seep_arena_printf(&grid->arena, "process %d: %s", (int)session->profiles[i]->process.pid, why);
    return why ? seep_grid_text(grid, why) : seep_error_no_memory();
}

static struct seep_error *run_status(struct seep_console *console, char *const *words, FILE *out) {
    static const struct seep_grid_column columns[] = {
        {"program", "program", SEEP_GRID_TEXT},
        {"pid", "pid", SEEP_GRID_TEXT},
        {"state", "state", SEEP_GRID_TEXT},
        {"processes", "processes", SEEP_GRID_COUNT},
        {"unseen_processes", "not seen", SEEP_GRID_RARE},
        {"live_bytes", "live bytes", SEEP_GRID_COUNT},
        {"live_blocks", "live blocks", SEEP_GRID_COUNT},
        {"peak_bytes", "peak bytes", SEEP_GRID_COUNT},
        {"allocations", "allocations", SEEP_GRID_COUNT},
        {"frees", "frees", SEEP_GRID_COUNT},
        {"temporary", "temporary", SEEP_GRID_COUNT},
        {"rss_bytes", "resident bytes", SEEP_GRID_COUNT},
        {"health", "health", SEEP_GRID_TEXT},
        {"why", "why", SEEP_GRID_TEXT},
        {NULL},
    };
    const struct seep_session *session = seep_console_session(console);
    const struct seep_process *process = &session->profiles[0]->process;
    const struct seep_live_totals *totals = &console->live.totals;
    enum seep_verdict verdict = seep_profiles_verdict(session->profiles, session->nr_profiles);
    struct seep_grid grid;
    seep_grid_init(&grid, columns);
    grid.one = true;
    struct seep_error *error = seep_grid_text(&grid, process->name);
    if (!error)
        error = seep_grid_id(&grid, process->pid);
    if (!error)
        error = seep_grid_text(&grid, state_of(console));
    const struct {
        bool known;
        uint64_t value;
    } numbers[] = {{true, session->nr_profiles},
                   {console->source->is_pid, console->live.look.nr_unseen},
                   {true, totals->live_bytes},
                   {true, totals->live_blocks},
                   {session->nr_profiles == 1, totals->peak_bytes},
                   {true, totals->allocations},
                   {true, totals->frees},
                   {true, totals->temporary},
                   {totals->rss_bytes != 0, totals->rss_bytes}};
    for (size_t i = 0; !error && i < SEEP_ARRAY_SIZE(numbers); i++)
        error = seep_grid_number_if(&grid, numbers[i].known, (int64_t)numbers[i].value);
    if (!error)
        error = seep_grid_text(&grid, seep_verdict_name(verdict));
    if (!error)
        error = put_why(&grid, session, verdict);
    return seep_console_answer(console, out, "status", &grid, error);
}

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
    const struct seep_session *session = seep_console_session(console);
    for (size_t i = 0; !error && i < session->nr_profiles; i++) {
        const struct seep_profile *profile = session->profiles[i];
        error = seep_grid_id(&grid, profile->process.pid);
        if (!error)
            error = seep_grid_id(&grid, profile->process.ppid);
        if (!error)
            error = seep_grid_text(&grid, profile->process.name);
        if (!error)
            error = seep_grid_text(&grid, seep_format_time(profile->process.start_realtime_ns).text);
        const int64_t numbers[] = {profile->process.duration_ns, profile->nr_threads,
                                   profile->nr_sites ? profile->nr_sites - 1 : 0,
                                   (int64_t)profile->health.events};
        for (size_t n = 0; !error && n < SEEP_ARRAY_SIZE(numbers); n++)
            error = seep_grid_number(&grid, numbers[n]);
        if (!error)
            error = seep_grid_text(&grid, profile->process.exe);
    }
    return seep_console_answer(console, out, "proc", &grid, error);
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
    TRY(seep_console_whole(console, &session));
    for (size_t p = 0; !error && p < session->nr_profiles; p++) {
        const struct seep_profile *profile = session->profiles[p];
        char name[32];
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
                error = seep_grid_id(&grid, profile->process.pid);
            if (!error)
                error = seep_grid_text(&grid, module ? "module" : "mapping");
            if (!error)
                error = seep_grid_text(&grid, module ? profile->modules[i].path : name);
        }
    }
    return seep_console_answer(console, out, "maps", &grid, error);
}

const struct seep_console_command seep_console_process_commands[] = {
    {"status", "", "what this is, its totals, how far they can be trusted", false, run_status},
    {"proc", "", "the processes: parent, start, threads", false, run_proc},
    {"maps", "", "modules, and mappings of the program", false, run_maps},
    {NULL},
};
