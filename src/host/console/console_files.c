// SPDX-License-Identifier: BSD-2-Clause
// The report, and the trace that is saved.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "console/console_answer.h"
#include "file/session_file.h"
#include "output/format.h"
#include "output/report.h"

static struct seep_error *run_dump(struct seep_console *console, char *const *words, FILE *out) {
    struct seep_view_options options = seep_view_options_default;
    options.top = console->top;
    if (words[0])
        TRY(seep_console_parse_count("dump", words[0], &options.top));
    options.json = console->json;
    struct seep_session *session;
    TRY(seep_console_whole(console, &session));
    // The look at a process that runs has no leaks, and lends what is in it to the next one.
    bool stays = !seep_console_runs(console) || session == console->whole;
    if (stays)
        TRY(seep_console_suppress(console, session));
    const char *source = console->source->link ? NULL : console->source->name;
    return seep_report_write(out, session, console->symbols, &options, source);
}

static struct seep_error *run_save(struct seep_console *console, char *const *words, FILE *out) {
    struct seep_session *session;
    TRY(seep_console_whole(console, &session));
    const struct seep_process *process = &session->profiles[0]->process;
    char *name = NULL, *saved = NULL, *text = NULL;
    for (size_t i = 0;
         console->source->is_pid && session == seep_console_session(console) && i < session->nr_profiles; i++)
        TRY(seep_series_give(&console->live.lives[console->live.life_of[i]]->series, session->profiles[i]));
    char *program = seep_name_for_file(process->name);
    bool made = program && asprintf(&name, words[0] ? "%s" : "seep.%s.%" PRIu32 ".snap.seep",
                                    words[0] ? words[0] : program, process->pid) >= 0;
    free(program);
    if (!made)
        return seep_error_no_memory();
    struct seep_error *error = seep_session_save_beside(session, name, &saved);
    char *operand = error ? NULL : seep_shell_operand(saved);
    if (!error && (!operand || asprintf(&text, "saved: seep report %s", operand) < 0))
        error = seep_error_no_memory();
    free(operand);
    if (!error)
        error = seep_console_done(console, out, "save", text);
    free(text);
    free(saved);
    free(name);
    return error;
}

const struct seep_console_command seep_console_file_commands[] = {
    {"dump", "[N]", "the report", false, run_dump},
    {"save", "[FILE]", "save it as a trace", false, run_save},
    {NULL},
};
