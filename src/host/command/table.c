// SPDX-License-Identifier: BSD-2-Clause
//
// The table of commands (SEEP_COMMANDS of command.h), and looking a name up in it.
#include <string.h>

#include "command/command.h"

#define ROW(name) &seep_command_##name,
const struct seep_command *const seep_commands[] = {SEEP_COMMANDS(ROW) NULL};

const struct seep_command *seep_command_find(const char *name) {
    for (const struct seep_command *const *at = seep_commands; *at; at++)
        if (strcmp((*at)->name, name) == 0)
            return *at;
    return NULL;
}

// A mode of `seep run` that is typed as a command.
static bool is_mode(const char *name) {
    return strcmp(name, "record") == 0 || strcmp(name, "count") == 0 || strcmp(name, "log") == 0;
}

struct seep_error *seep_command_unknown(const char *name) {
    const char *names[64] = {NULL};
    for (size_t i = 0; seep_commands[i] && i + 1 < SEEP_ARRAY_SIZE(names); i++)
        names[i] = seep_commands[i]->name;
    const char *nearest = seep_nearest(name, names);
    struct seep_error *error = seep_error_create(SEEP_E_USAGE, "unknown command '%s'", name);
    if (is_mode(name))
        return seep_error_hint(error, "it is a mode: 'seep run --mode %s PROG'", name);
    if (nearest)
        return seep_error_hint(error, "did you mean '%s'? see 'seep help'", nearest);
    return seep_error_hint(error, "see 'seep help'");
}

static char runner_seep[] = "seep", runner_run[] = "run", runner_quiet[] = "-q", runner_end[] = "--";
char *const seep_runner[] = {runner_seep, runner_run, runner_quiet, runner_end, NULL};
