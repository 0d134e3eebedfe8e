// SPDX-License-Identifier: BSD-2-Clause
// `seep sql FILE 'select ...'`: questions in SQL to a trace; without a statement a prompt.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command/command.h"
#include "command/events_of.h"
#include "command/report_options.h"
#include "command/warn.h"
#include "output/sql.h"
#include "session/recording_rebuild.h"
#include "session/session_at_mark.h"

struct sql_values {
    bool csv;
    bool json;
    bool no_demangle;
};

#define AT(field) offsetof(struct sql_values, field)

static const struct seep_option_group sql_group = {
    .title = "Options",
    .options =
        (const struct seep_option[]){
            {"csv", 0, SEEP_OPTION_FLAG, AT(csv),
             .help = "rows as CSV (default: a table on a terminal, else columns with tabs between them)"},
            {"json", 0, SEEP_OPTION_FLAG, AT(json), .help = "rows as JSON objects"},
            {"no-demangle", 0, SEEP_OPTION_FLAG, AT(no_demangle),
             .help = "symbol names as they are in the file"},
            {NULL},
        },
    .values_bytes = sizeof(struct sql_values),
};

// ---- asking ------------------------------------------------------------------------------------------

// Ctrl-C at the prompt ends a statement, or drops the line, and not the session.
static struct seep_sql *asked;

static void stop_asked(int number) {
    (void)number;
    seep_sql_stop(asked);
}

// `flags` 0: a line that is read ends, too. SA_RESTART: what is written is written whole.
static void catch_interrupts(int flags) {
    struct sigaction action = {.sa_handler = stop_asked, .sa_flags = flags};
    sigaction(SIGINT, &action, NULL);
}

static struct seep_error *ask(struct seep_sql *sql, const char *statements, enum seep_sql_form form) {
    struct seep_error *error = seep_sql_run(sql, statements, form, stdout);
    fflush(stdout);
    return error;
}

// Lines until one ends with a semicolon. A statement that is wrong does not end the session.
static struct seep_error *converse(struct seep_sql *sql, enum seep_sql_form form) {
    bool shows = isatty(STDIN_FILENO);
    asked = sql;
    char *line = NULL, *whole = NULL;
    size_t capacity = 0, used = 0;
    struct seep_error *error = NULL;
    for (;;) {
        if (shows) {
            catch_interrupts(0); // who sees the prompt may press Ctrl-C
            fputs(used ? "   ...> " : "seep> ", stderr);
        }
        errno = 0;
        ssize_t nr = getline(&line, &capacity, stdin);
        if (nr <= 0 && shows && errno == EINTR) {
            clearerr(stdin);
            fputc('\n', stderr);
            used = 0;
            continue;
        }
        if (nr <= 0)
            break;
        char *larger = realloc(whole, used + (size_t)nr + 1);
        if (!larger) {
            error = seep_error_no_memory();
            break;
        }
        whole = larger;
        memcpy(whole + used, line, (size_t)nr + 1);
        used += (size_t)nr;
        while (used && strchr(" \t\r\n", whole[used - 1]))
            whole[--used] = 0;
        if (strcmp(whole, ".quit") == 0 || strcmp(whole, ".exit") == 0) {
            used = 0;
            break;
        }
        bool ends = used && (whole[used - 1] == ';' || whole[0] == '.');
        if (!ends)
            continue;
        if (shows)
            catch_interrupts(SA_RESTART);
        struct seep_error *wrong = ask(sql, whole, form);
        used = 0;
        if (wrong && !shows) {
            error = wrong;
            break;
        }
        if (wrong)
            seep_command_fail(wrong);
    }
    if (!error && used && !shows)
        error = ask(sql, whole, form);
    if (shows)
        signal(SIGINT, SIG_DFL);
    free(line);
    free(whole);
    return error;
}

// With the blocks, where they are kept: of a mark or a peak only their number and bytes are.
struct sites {
    struct seep_session *session;
    const char *source;
    struct seep_symbols *symbols;
    struct seep_view_options options;
};

static struct seep_error *make_sites(const void *data, struct seep_view **ret_view) {
    const struct sites *sites = data;
    struct seep_view_options options = sites->options;
    options.blocks = true;
    struct seep_error *error = seep_view_create(sites->session, SIZE_MAX, sites->symbols, &options, ret_view);
    if (!error || error->code != SEEP_E_UNSUPPORTED)
        return error;
    seep_error_destroy(error);
    options.blocks = false;
    return seep_view_create(sites->session, SIZE_MAX, sites->symbols, &options, ret_view);
}

static struct seep_error *add_births(const void *data) {
    const struct sites *sites = data;
    return seep_rebuild_births(sites->session, sites->source);
}

static struct seep_error *answer(const struct seep_arguments *arguments, const struct sites *sites,
                                 struct seep_view *view, struct seep_event_file *file) {
    const struct sql_values *values = seep_arguments_values(arguments, &sql_group);
    enum seep_sql_form form = values->json            ? SEEP_SQL_JSON
                              : values->csv           ? SEEP_SQL_CSV
                              : isatty(STDOUT_FILENO) ? SEEP_SQL_TABLE
                                                      : SEEP_SQL_TEXT;
    struct seep_event_source events = seep_events_of(file);
    struct seep_summary summary = {.source = arguments->operands[0]};
    const struct seep_sql_sites on_demand = {make_sites, add_births, sites};
    struct seep_sql *sql = NULL;
    struct seep_error *error = seep_sql_open(view, &on_demand, &summary, &events, &sql);
    if (error)
        return error;
    error = arguments->nr_operands > 1 ? ask(sql, arguments->operands[1], form) : converse(sql, form);
    seep_sql_close(sql);
    return error;
}

// What needs no name: those of files and functions take longer than to find a moment in a recording.
static struct seep_error *make_processes(const struct sites *sites, struct seep_view **ret_view) {
    struct seep_view_options options = sites->options;
    options.each_stack = true;
    options.no_names = true;
    return seep_view_create(sites->session, SIZE_MAX, sites->symbols, &options, ret_view);
}

static size_t notes_of(const struct seep_session *session) {
    size_t nr = 0;
    for (size_t i = 0; i < session->nr_profiles; i++)
        nr += session->profiles[i]->health.nr_notes;
    return nr;
}

// Whether events are counted to find missing ones. Counting in a larger file takes longer than the query.
static bool is_counted(const char *source) {
    enum { BYTES_MOST = 32 << 20 };
    struct stat status;
    return stat(source, &status) == 0 && status.st_size <= BYTES_MOST;
}

static struct seep_error *run_sql(const struct seep_arguments *arguments, int *ret_status) {
    const struct sql_values *values = seep_arguments_values(arguments, &sql_group);
    struct sites sites = {.source = arguments->operands[0], .options = seep_view_options_default};
    sites.options.top = 0;
    sites.options.all_rows = true;
    sites.options.full_paths = true;
    sites.options.no_demangle = values->no_demangle;
    if (seep_sql_lacks)
        return seep_error_hint(
            seep_error_create(SEEP_E_UNSUPPORTED, "sql: seep was built without %s", seep_sql_lacks),
            "install it and build again; 'seep info' lists what is there");
    const char *source = arguments->operands[0];
    struct seep_session *session = NULL;
    struct seep_view *view = NULL;
    struct seep_event_file *file = NULL;
    struct seep_error *error = seep_at_mark_open(source, &session);
    if (!error)
        seep_warn_incomplete(session);
    sites.session = session;
    if (!error)
        error = seep_report_symbols(&sites.options, source, &sites.symbols);
    if (!error)
        error = make_processes(&sites, &view);
    if (!error && seep_event_file_is_one(source))
        error = seep_event_file_open(source, &file);
    if (!error && file)
        seep_event_file_index_at(file, session->event_index_off);
    if (!error)
        error = answer(arguments, &sites, view, file);
    size_t nr_notes = error ? 0 : notes_of(session);
    if (!error && file)
        error = seep_event_file_note(file, session->profiles[0]);
    if (!error && file && is_counted(source))
        error = seep_events_note_dropped(file, session);
    if (!error && notes_of(session) > nr_notes) // found while events were read
        seep_warn_incomplete(session);
    seep_event_file_close(file);
    seep_view_destroy(view);
    seep_symbols_destroy(sites.symbols);
    seep_session_destroy(session);
    return error;
}

const struct seep_command seep_command_sql = {
    .name = "sql",
    .summary = "ask a trace in SQL: sites, frames, blocks, and the events of a recording",
    .usage = "[options] FILE|PID ['SELECT ...']",
    .about = "Without a statement they are read from standard input, each up to its semicolon. '.tables' "
             "and\n"
             "'.schema' show the tables, '.quit' ends. Nothing is imported: events are read from the chunks "
             "of the file, by time where it is "
             "asked for.\n",
    .groups = (const struct seep_option_group *const[]){&sql_group, NULL},
    .examples =
        (const struct seep_example[]){
            {"seep sql app.seep 'select text, live_bytes from site natural join site_text order by 2 desc "
             "limit 5'",
             "the sites that hold most, each with its stack"},
            {"seep sql app.seep 'select kind, count(*), sum(size) from event where at_ns between 1e9 and 2e9 "
             "group by 1'",
             "what happened in one second of a recording"},
            {"seep sql app.seep .schema", "the tables"},
            {NULL},
        },
    .prints = true,
    .operand = "FILE|PID",
    .min_operands = 1,
    .max_operands = 2,
    .run = run_sql,
};
