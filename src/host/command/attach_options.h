// SPDX-License-Identifier: BSD-2-Clause
//
// What the words of `seep attach` say: its options, and what is to be traced.
#ifndef SEEP_COMMAND_ATTACH_OPTIONS_H
#define SEEP_COMMAND_ATTACH_OPTIONS_H

#include <sys/types.h>

#include "command/command.h"
#include "command/watch_options.h"

// What the choices of --backend, --source and --children stand for.
enum { SEEP_ATTACH_BACKEND_AUTO, SEEP_ATTACH_BACKEND_BPF };
enum { SEEP_ATTACH_SOURCE_AUTO, SEEP_ATTACH_SOURCE_FUNCTIONS, SEEP_ATTACH_SOURCE_OTEL };
enum { SEEP_ATTACH_CHILDREN_FOLLOW, SEEP_ATTACH_CHILDREN_IGNORE };

// What the user asked for. Texts are those of the command line.
struct seep_attach_values {
    uint64_t pid;
    const char *command;
    const char *cgroup;
    bool all;
    const char *object;
    const char *prefix;
    bool trace;
    bool faults;
    bool scan;
    int backend;
    int source;
    int children;
    uint64_t buffer;
    bool full_paths;
    bool full_names;
    bool full_stacks;
    bool no_demangle;
    bool no_args;
    int probes;
};

extern const struct seep_option_group seep_attach_group;

struct seep_attach_plan {
    pid_t pid;
    char *const *argv; // instead, as are the next
    const char *cgroup;
    bool all;
    char **words; // malloc'ed with its first: of -c
    const struct seep_watch_values *shown;
    struct seep_watch watch;
};

// SEEP_E_USAGE for what does not go together. Owner: free(ret_plan->words).
SEEP_MUST_CHECK struct seep_error *seep_attach_read_plan(const struct seep_arguments *arguments,
                                                         struct seep_attach_plan *ret_plan);

#endif
