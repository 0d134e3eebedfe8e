// SPDX-License-Identifier: BSD-2-Clause
// `seep scan PID|CORE`: which live blocks of a traced process are lost, and who holds the others.
#include <stdio.h>

#include "base/large.h"
#include "command/command.h"
#include "command/report_options.h"
#include "scan/scan.h"
#include "session/source.h"
#include "file/session_file.h"

struct scan_values {
    int roots;
    bool unaligned;
    bool cow;
    const char *output;
    const char *trace;
    bool no_args;
};

static const char *const roots_names[] = {"all", "lsan", NULL}; // as enum seep_roots

static const struct seep_option scan_options[] = {
    {"roots", 0, SEEP_OPTION_CHOICE, offsetof(struct scan_values, roots), .choices = roots_names,
     .help = "lsan: memory that the program mapped itself holds nothing (default all: it does)"},
    {"unaligned", 0, SEEP_OPTION_FLAG, offsetof(struct scan_values, unaligned),
     .help = "pointers count wherever they lie, as in packed structures (slower)"},
    {"cow", 0, SEEP_OPTION_FLAG, offsetof(struct scan_values, cow),
     .help = "read a copy-on-write copy of the process: it waits for a fork only"},
    {"output", 'o', SEEP_OPTION_STRING, offsetof(struct scan_values, output), .value = "FILE",
     .help = "save the result in FILE too, for 'seep report'"},
    {"no-args", 0, SEEP_OPTION_FLAG, offsetof(struct scan_values, no_args),
     .help = "without the arguments of programs, but their names: passwords may be among them"},
    {"trace", 0, SEEP_OPTION_STRING, offsetof(struct scan_values, trace), .value = "FILE",
     .help = "of a core file: what was traced of its process (default seep.*.PID.seep beside it, or here)"},
    {NULL},
};

static const struct seep_option_group scan_group = {
    .title = "Options", .options = scan_options, .values_bytes = sizeof(struct scan_values)};

static struct seep_error *open_scanned(const char *operand, const struct scan_values *values,
                                       struct seep_session **ret_session) {
    struct seep_scan_options options = {
        .roots = (enum seep_roots)values->roots, .unaligned = values->unaligned, .cow = values->cow};
    return seep_session_scan(operand, &(struct seep_source_options){.trace = values->trace}, &options,
                             ret_session);
}

static struct seep_error *scan_and_report(const char *operand, const struct scan_values *values,
                                          struct seep_suppress *suppress,
                                          const struct seep_view_options *view) {
    struct seep_symbols *symbols = NULL;
    struct seep_session *session = NULL;
    struct seep_error *err = seep_report_symbols_of_text(view, operand, &symbols);
    if (!err)
        err = open_scanned(operand, values, &session);
    if (!err && values->output)
        err = seep_session_save(session, values->output);
    if (!err)
        err = seep_suppress_apply(suppress, session, symbols);
    if (!err)
        err = seep_report_selected(stdout, session, symbols, view, values->output);
    seep_session_destroy(session);
    seep_symbols_destroy(symbols);
    return err;
}

static struct seep_error *run_scan(const struct seep_arguments *arguments, int *ret_status) {
    const struct scan_values *values = seep_arguments_values(arguments, &scan_group);
    const struct seep_view_options *view = seep_arguments_values(arguments, &seep_report_group);
    (void)ret_status;
    struct seep_error *err = seep_report_check(view);
    if (err)
        return err;
    if (values->no_args)
        seep_process_drop_args();
    seep_large_keep();
    struct seep_suppress suppress = SEEP_SUPPRESS_INIT;
    err = seep_suppress_read(arguments, &suppress);
    if (!err)
        err = scan_and_report(arguments->operands[0], values, &suppress, view);
    seep_suppress_deinit(&suppress);
    return err;
}

const struct seep_command seep_command_scan = {
    .name = "scan",
    .summary = "lost, indirectly lost, possibly lost, reachable: and who holds it",
    .usage = "[options] PID|CORE|FILE",
    .about =
        "PID is a process that is being traced. It is stopped while its memory is read, and goes on as it\n"
        "was; the report says for how long. CORE is a core file of a traced process, by the kernel or gcore; "
        "what\n"
        "was traced of it is in the trace that 'seep run' saved when it ended. FILE is a trace of a process "
        "that\n"
        "was scanned: what was found is shown again.\n",
    .groups = (const struct seep_option_group *const[]){&scan_group, &seep_report_group, &seep_suppress_group,
                                                        NULL},
    .examples =
        (const struct seep_example[]){
            {"seep scan 1234", "what is lost, and who holds the rest"},
            {"seep scan 1234 --kind lost,indirect", "only what is lost"},
            {"seep scan 1234 --kind lost --blocks --json", "each lost block, for programs"},
            {"seep scan core --trace app.seep", "the same of a process that crashed"},
            {"seep scan 1234 -o app.seep", "save it as well; seep report app.seep shows it again"},
            {NULL},
        },
    .operand = "PID|CORE|FILE",
    .min_operands = 1,
    .max_operands = 1,
    .run = run_scan,
};
