// SPDX-License-Identifier: BSD-2-Clause
// `seep report FILE|PID`: what is in a saved trace, or in a traced process while it runs.
#include "command/command.h"
#include "command/reporting.h"
#include "model/account.h"
#include "model/session_open.h"

static struct seep_error *run_report(const struct seep_arguments *arguments, int *ret_status) {
    const struct seep_view_options *options = seep_arguments_values(arguments, &seep_report_group);
    const char *source = arguments->operands[0];
    struct seep_error *error = seep_report_check(options);
    if (error)
        return error;
    struct seep_suppress suppress = SEEP_SUPPRESS_INIT;
    struct seep_session *session = NULL;
    error = seep_suppress_read(arguments, &suppress);
    if (!error)
        error = seep_session_open_some(source, options->pid, options->program, &session);
    pid_t pid;
    bool is_pid = false;
    if (!error && options->rss)
        error = seep_parse_pid(source, &is_pid, &pid);
    if (!error && is_pid)
        error = seep_account_take(session->profiles[0], pid);
    if (!error)
        error = seep_report_session(stdout, session, &suppress, options, source);
    seep_suppress_deinit(&suppress);
    seep_session_destroy(session);
    return error;
}

const struct seep_command seep_command_report = {
    .name = "report",
    .summary = "what is in a trace or a traced process, as text, JSON or CSV",
    .usage = "[options] FILE|PID",
    .about =
        "FILE is a trace that 'seep run' or 'seep snap' made; PID is a process that is being traced: it is\n"
        "not stopped. A name of digits only is a PID; write ./123 for a file.\n",
    .groups = (const struct seep_option_group *const[]){&seep_report_group, &seep_suppress_group, NULL},
    .examples =
        (const struct seep_example[]){
            {"seep report app.1234.seep", "the ten sites that hold most memory"},
            {"seep report 1234 --sort temporary --top 5",
             "what a running process allocates only to free at once"},
            {"seep report app.1234.seep --by function --module libparse",
             "functions that allocate, within one library"},
            {"seep report app.1234.seep --blocks --min-size 1M", "the live blocks of a mebibyte and more"},
            {"seep report app.1234.seep --json", "for programs: all sites, with complete stacks"},
            {NULL},
        },
    .operand = "FILE|PID",
    .min_operands = 1,
    .max_operands = 1,
    .run = run_report,
};
