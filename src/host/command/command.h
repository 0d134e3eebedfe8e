// SPDX-License-Identifier: BSD-2-Clause
//
// The commands. To add one: cmd_<name>.c with one `const struct seep_command seep_command_<name>`,
// its line in SEEP_COMMANDS below. That gives dispatch, help, --help, completion and the nearest-name hint.
//
// main.c parses the options, answers --help, prints the error that `run` returns (one line on
// stderr; exit status 2 for SEEP_E_USAGE, else 1) and checks that standard output was written.
#ifndef SEEP_COMMAND_COMMAND_H
#define SEEP_COMMAND_COMMAND_H

#include "command/options.h"

struct seep_example {
    const char *line; // "seep report app.seep --top 3"; NULL ends a table
    const char *what; // one line
};

// What an option of a shared group means to one command, for help and completion.
struct seep_option_meant {
    const char *name;           // NULL ends a table
    bool refused;               // the command says why; not shown
    const char *help;           // NULL: as in the group
    const char *const *choices; // NULL: as in the group; else some of those
};

#define SEEP_OPERANDS_ANY INT32_MAX

struct seep_command {
    const char *name;
    const char *summary; // one line, no full stop: the list of `seep help`
    const char *usage;   // what follows "seep <name> ": "[options] FILE|PID"
    const char *about;   // what --help says beyond that: lines, each ending with \n; may be NULL
    const struct seep_option_group *const
        *groups;                           // ends with NULL; may be NULL; at most SEEP_OPTION_GROUPS_MAX
    const struct seep_option_meant *meant; // where it differs from the groups; may be NULL
    const struct seep_example *examples;   // at least one
    bool prints;         // its result goes to standard output, and no option names a file for it
    const char *operand; // names of the operands that must be there, by spaces, for messages
    int min_operands;
    int max_operands;
    bool stop_at_operand; // the first operand ends the options: `seep run prog --its-own`
    // *ret_status is 0 on entry: the exit status when there is no error.
    struct seep_error *(*run)(const struct seep_arguments *arguments, int *ret_status);
};

// A line each, in the order of `seep help`. A command that is not built is not here.
#define SEEP_COMMANDS(X)                                                                                     \
    X(run)                                                                                                   \
    X(attach)                                                                                                \
    X(kernel)                                                                                                \
    X(snap)                                                                                                  \
    X(report)                                                                                                \
    X(mark)                                                                                                  \
    X(diff)                                                                                                  \
    X(growth)                                                                                                \
    X(top)                                                                                                   \
    X(connect)                                                                                               \
    X(history)                                                                                               \
    X(shrink)                                                                                                \
    X(sql)                                                                                                   \
    X(scan)                                                                                                  \
    X(whois)                                                                                                 \
    X(check)                                                                                                 \
    X(export)                                                                                                \
    X(import)                                                                                                \
    X(html)                                                                                                  \
    X(plot)                                                                                                  \
    X(serve)                                                                                                 \
    X(replay)                                                                                                \
    X(advise)                                                                                                \
    X(service)                                                                                               \
    X(info)                                                                                                  \
    X(help)

#define SEEP_COMMAND_DECLARE(name) extern const struct seep_command seep_command_##name;
SEEP_COMMANDS(SEEP_COMMAND_DECLARE)

// The same as a table that ends with NULL.
extern const struct seep_command *const seep_commands[];

const struct seep_command *seep_command_find(const char *name); // NULL: no such command
// SEEP_E_USAGE, with what to type: for a mode of `seep run` that, else the nearest name.
SEEP_MUST_CHECK struct seep_error *seep_command_unknown(const char *name);

// "seep: <message> (<hint>)" in one line on stderr; takes the error. Returns the exit status.
int seep_command_fail(struct seep_error *error);

// What runs another program traced, for session/started_program.h.
extern char *const seep_runner[];

// Help texts, on standard output.
void seep_help_commands(void);
void seep_help_command(const struct seep_command *command);

#endif
