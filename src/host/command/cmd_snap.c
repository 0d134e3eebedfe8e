// SPDX-License-Identifier: BSD-2-Clause
// `seep snap PID`: saves the state of a traced process, without stopping or signalling it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/command.h"
#include "command/trace_name.h"
#include "analysis/account.h"
#include "file/session_file.h"
#include "session/session_open.h"

struct snap_values {
    const char *output;
    bool no_args;
};

static const struct seep_option snap_options[] = {
    {"output", 'o', SEEP_OPTION_STRING, offsetof(struct snap_values, output), .value = "FILE",
     .help = "save in FILE (default seep.%e.%p.snap.seep: %e program, %p pid; -: standard output)"},
    {"no-args", 0, SEEP_OPTION_FLAG, offsetof(struct snap_values, no_args),
     .help = "without the arguments of programs, but their names: passwords may be among them"},
    {NULL},
};

static const struct seep_option_group snap_group = {
    .title = "Options", .options = snap_options, .values_bytes = sizeof(struct snap_values)};

static struct seep_error *save(const struct seep_session *session, const char *pattern) {
    if (pattern && strcmp(pattern, "-") == 0)
        return seep_session_save(session, "-");
    const struct seep_process *process = &session->profiles[0]->process;
    char *name;
    struct seep_error *err =
        seep_trace_name(pattern ? pattern : SEEP_TRACE_NAME_SNAP, process->name, process->pid, &name);
    if (err)
        return err;
    char *saved = NULL;
    err = pattern ? seep_session_save(session, name) : seep_session_save_beside(session, name, &saved);
    if (!err)
        printf("%s\n", saved ? saved : name);
    free(saved);
    free(name);
    return err;
}

static struct seep_error *run_snap(const struct seep_arguments *arguments, int *ret_status) {
    const struct snap_values *values = seep_arguments_values(arguments, &snap_group);
    const char *operand = arguments->operands[0];
    bool is_pid;
    pid_t pid;
    struct seep_error *err = seep_parse_pid(operand, &is_pid, &pid);
    if (err)
        return err;
    if (!is_pid)
        return seep_error_create(SEEP_E_USAGE, "PID is a number, not '%s'", operand);
    if (values->no_args)
        seep_process_drop_args();
    struct seep_session *session = NULL;
    err = seep_session_from_pid(pid, &session);
    if (err)
        return err;
    // What the kernel counts is of use later, and no reason to be without the rest.
    seep_error_destroy(seep_account_take(session->profiles[0], pid));
    err = save(session, values->output);
    seep_session_destroy(session);
    return err;
}

const struct seep_command seep_command_snap = {
    .name = "snap",
    .summary = "save the state of a traced process, without stopping it",
    .usage = "[options] PID",
    .about =
        "PID is a process that 'seep run' or the preloaded library traces. Prints the name of the file.\n",
    .groups = (const struct seep_option_group *const[]){&snap_group, NULL},
    .examples =
        (const struct seep_example[]){
            {"seep snap 1234", "save it in seep.<name>.1234.snap.seep"},
            {"seep snap 1234 -o - | seep report -", "look at it at once"},
            {NULL},
        },
    .operand = "PID",
    .min_operands = 1,
    .max_operands = 1,
    .run = run_snap,
};
