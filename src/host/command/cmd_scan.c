// SPDX-License-Identifier: BSD-2-Clause
// `seep scan PID`: which live blocks of a traced process are lost, and who holds the others.
#include "command/command.h"
#include "command/reporting.h"
#include "model/session_file.h"
#include "model/session_open.h"
#include "scan/scan.h"
#include "ui/report.h"

struct scan_values {
    int roots;
    bool unaligned;
    const char *output;
};

static const char *const roots_names[] = {"all", "lsan", NULL}; // as enum seep_roots

static const struct seep_option scan_options[] = {
    {"roots", 0, SEEP_OPTION_CHOICE, offsetof(struct scan_values, roots), .choices = roots_names,
     .help = "lsan: memory that the program mapped itself holds nothing (default all: it does)"},
    {"unaligned", 0, SEEP_OPTION_FLAG, offsetof(struct scan_values, unaligned),
     .help = "pointers count wherever they lie, as in packed structures (slower)"},
    {"output", 'o', SEEP_OPTION_STRING, offsetof(struct scan_values, output), .value = "FILE",
     .help = "save the result in FILE too, for 'seep report'"},
    {NULL},
};

static const struct seep_option_group scan_group = {
    .title = "Options", .options = scan_options, .values_bytes = sizeof(struct scan_values)};

static struct seep_error *scan_and_report(pid_t pid, const struct scan_values *values,
                                          struct seep_suppress *suppress,
                                          const struct seep_view_options *view) {
    struct seep_scan_options options = {.roots = (enum seep_roots)values->roots,
                                        .unaligned = values->unaligned};
    struct seep_symbols *symbols = NULL;
    struct seep_session *session = NULL;
    struct seep_error *err = seep_report_symbols(view, &symbols);
    if (!err)
        err = seep_scan_process(pid, &options, symbols, &session);
    if (!err && values->output)
        err = seep_session_save(session, values->output);
    if (!err)
        err = seep_suppress_apply(suppress, session, symbols);
    if (!err)
        err = seep_report_write(stdout, session, symbols, view, values->output);
    seep_session_destroy(session);
    seep_symbols_destroy(symbols);
    return err;
}

static struct seep_error *run_scan(const struct seep_arguments *arguments, int *ret_status) {
    const struct scan_values *values = seep_arguments_values(arguments, &scan_group);
    const struct seep_view_options *view = seep_arguments_values(arguments, &seep_report_group);
    const char *operand = arguments->operands[0];
    bool is_pid;
    pid_t pid;
    struct seep_error *err = seep_report_check(view);
    if (!err)
        err = seep_parse_pid(operand, &is_pid, &pid);
    if (err)
        return err;
    if (!is_pid)
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "PID is a number, not '%s'", operand),
                               "a scan needs the memory of the process; 'seep report' shows a saved one");
    struct seep_suppress suppress = SEEP_SUPPRESS_INIT;
    err = seep_suppress_read(arguments, &suppress);
    if (!err)
        err = scan_and_report(pid, values, &suppress, view);
    seep_suppress_deinit(&suppress);
    return err;
}

const struct seep_command seep_command_scan = {
    .name = "scan",
    .summary = "lost, indirectly lost, possibly lost, reachable: and who holds it",
    .usage = "[options] PID",
    .about =
        "PID is a process that is being traced. It is stopped while its memory is read, and goes on as it\n"
        "was; the report says for how long.\n",
    .groups = (const struct seep_option_group *const[]){&scan_group, &seep_report_group, &seep_suppress_group,
                                                        NULL},
    .examples =
        (const struct seep_example[]){
            {"seep scan 1234", "what is lost, and who holds the rest"},
            {"seep scan 1234 --kind lost,indirect", "only what is lost"},
            {"seep scan 1234 --kind lost --blocks --json", "each lost block, for programs"},
            {"seep scan 1234 -o app.seep", "save it as well; seep report app.seep shows it again"},
            {NULL},
        },
    .operand = "PID",
    .min_operands = 1,
    .max_operands = 1,
    .run = run_scan,
};
