// SPDX-License-Identifier: BSD-2-Clause
//
// The one table of commands: a line each, in the order in which `seep help` shows them. A command
// that is not built is not here.
#include <string.h>

#include "command/command.h"

const struct seep_command *const seep_commands[] = {
    &seep_command_run,   &seep_command_attach, &seep_command_kernel,
    &seep_command_snap,  &seep_command_report, &seep_command_mark,
    &seep_command_diff,  &seep_command_growth, &seep_command_scan,
    &seep_command_whois, &seep_command_check,  &seep_command_export,
    &seep_command_html,  &seep_command_serve,  &seep_command_service,
    &seep_command_info,  &seep_command_help,   NULL,
};

const struct seep_command *seep_command_find(const char *name) {
    for (const struct seep_command *const *at = seep_commands; *at; at++)
        if (strcmp((*at)->name, name) == 0)
            return *at;
    return NULL;
}

struct seep_error *seep_command_unknown(const char *name) {
    const char *names[64] = {NULL};
    for (size_t i = 0; seep_commands[i] && i + 1 < SEEP_ARRAY_SIZE(names); i++)
        names[i] = seep_commands[i]->name;
    const char *nearest = seep_nearest(name, names);
    struct seep_error *error = seep_error_create(SEEP_E_USAGE, "unknown command '%s'", name);
    if (nearest)
        return seep_error_hint(error, "did you mean '%s'? see 'seep help'", nearest);
    return seep_error_hint(error, "see 'seep help'");
}
