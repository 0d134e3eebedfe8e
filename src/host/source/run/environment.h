// SPDX-License-Identifier: BSD-2-Clause
// The environment of a traced program: ours with LD_PRELOAD and SEEP_* set. See run.h.
#ifndef SEEP_SOURCE_RUN_ENVIRONMENT_H
#define SEEP_SOURCE_RUN_ENVIRONMENT_H

#include "source/run/run.h"

// Children are ignored by the pid of the one that is not: the process that executes the program writes
// its own over the ten digits that follow.
#define SEEP_ENVIRONMENT_IGNORE "SEEP_CHILDREN=ignore:"

struct seep_environment {
    char **items; // ends with NULL; entries of environ are borrowed
    size_t nr_items;
    size_t capacity;
    char **made; // those that are ours to free
    size_t nr_made;
    size_t made_capacity;
};

// `library` NULL: nothing is preloaded. `emulated`: by what the program is an emulator for, not by itself.
SEEP_MUST_CHECK struct seep_error *seep_environment_init(const struct seep_run_options *options,
                                                         const char *library, bool emulated,
                                                         const char *socket,
                                                         struct seep_environment *ret_environment);
void seep_environment_deinit(struct seep_environment *environment);

#endif
