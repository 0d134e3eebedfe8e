// SPDX-License-Identifier: BSD-2-Clause
//
// Allocators compared: what `seep run` and `seep replay` have in common.
#ifndef SEEP_COMMAND_ALLOCATOR_OPTIONS_H
#define SEEP_COMMAND_ALLOCATOR_OPTIONS_H

#include <stdio.h>

#include "base/error.h"

struct seep_compared_run {
    char *const *argv;
    const char *allocators; // a list with commas
    uint32_t nr_rounds;
    const char *report; // a file; NULL: standard error, "-": standard output
    bool json, csv;
};

// Runs the program with each allocator in turn and writes the table. *ret_status: the program's.
SEEP_MUST_CHECK struct seep_error *seep_run_compared(const struct seep_compared_run *run, int *ret_status);

// One line on a terminal says which round it is: of `nr_rounds`, and behind these of `nr_most` at most. A
// round beyond `nr_most` erases the line.
void seep_show_rounds(void *data, uint32_t round, uint32_t nr_rounds, uint32_t nr_most);

#endif
