// SPDX-License-Identifier: BSD-2-Clause
// What several commands need for their answers, see console_answer.h.
#include <errno.h>
#include <stdlib.h>

#include "console/console_answer.h"
#include "output/format.h"
#include "output/grid.h"

struct seep_error *seep_console_parse_count(const char *what, const char *text, uint64_t *ret_value) {
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

struct seep_error *seep_console_answer(const struct seep_console *console, FILE *out, const char *name,
                                       struct seep_grid *grid, struct seep_error *error) {
    if (!error)
        error = put_grid(console, out, name, grid);
    seep_grid_deinit(grid);
    return error;
}

struct seep_session *seep_console_session(const struct seep_console *console) {
    return console->live.look.session;
}

struct seep_error *seep_console_whole(struct seep_console *console, struct seep_session **ret_session) {
    struct seep_session *whole = NULL;
    *ret_session = seep_console_session(console);
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

struct seep_error *seep_console_suppress(const struct seep_console *console, struct seep_session *session) {
    return console->suppress && !session->nr_suppressions ? console->suppress(session, console->symbols)
                                                          : NULL;
}

bool seep_console_runs(const struct seep_console *console) {
    return console->source->is_pid && !console->live.look.ended;
}

struct seep_error *seep_console_needs_run(const struct seep_console *console, const char *what) {
    if (seep_console_runs(console))
        return NULL;
    if (console->source->is_pid)
        return seep_error_hint(seep_error_create(SEEP_E_UNSUPPORTED, "%s: the program no longer runs", what),
                               "ask what was seen of it: help lists the commands");
    return seep_error_hint(seep_error_create(SEEP_E_UNSUPPORTED, "%s: no process is running", what),
                           "name one: seep connect PID");
}

struct seep_error *seep_console_done(const struct seep_console *console, FILE *out, const char *name,
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
    return seep_console_answer(console, out, name, &grid, seep_grid_text(&grid, text));
}
