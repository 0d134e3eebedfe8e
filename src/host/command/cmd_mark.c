// SPDX-License-Identifier: BSD-2-Clause
// `seep mark PID NAME`: names this moment of a traced process, to diff against later.
#include <string.h>

#include "command/command.h"
#include "image/layout.h"
#include "session/mark_live.h"
#include "session/source.h"

static struct seep_error *check_name(const char *name) {
    if (!*name)
        return seep_error_create(SEEP_E_USAGE, "mark: the name is empty");
    if (strlen(name) > SEEP_MARK_NAME_MAX)
        return seep_error_create(SEEP_E_USAGE, "mark: a name has at most %u bytes, this one has %zu",
                                 SEEP_MARK_NAME_MAX, strlen(name));
    if (strpbrk(name, "@#"))
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "mark: '%s': a name has no @ and no #", name),
                               "they stand before a name, and before its number: app.seep@loaded#2");
    return NULL;
}

static struct seep_error *run_mark(const struct seep_arguments *arguments, int *ret_status) {
    const char *operand = arguments->operands[0];
    const char *name = arguments->operands[1];
    bool is_pid;
    pid_t pid;
    struct seep_error *error = seep_parse_pid(operand, &is_pid, &pid);
    if (!error && !is_pid)
        error = seep_error_create(SEEP_E_USAGE, "PID is a number, not '%s'", operand);
    if (!error)
        error = check_name(name);
    return error ? error : seep_mark_live(pid, name);
}

const struct seep_command seep_command_mark = {
    .name = "mark",
    .summary = "name this moment of a traced process, to diff against later",
    .usage = "PID NAME",
    .about = "The mark keeps what each site has now; it is in the process's image, and in every trace saved "
             "of it.\n"
             "The process is not stopped. Programs make marks of their own with seep_mark() of seep.h.\n",
    .groups = NULL,
    .examples =
        (const struct seep_example[]){
            {"seep mark 1234 warm", "name this moment 'warm'"},
            {"seep diff 1234@warm 1234", "what has come since"},
            {NULL},
        },
    .operand = "PID NAME",
    .min_operands = 2,
    .max_operands = 2,
    .run = run_mark,
};
