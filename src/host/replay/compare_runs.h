// SPDX-License-Identifier: BSD-2-Clause
//
// Runs a program itself, untraced, with one allocator after the other, in rounds, and says what they cost
// against the first: the figures of a replay, as far as the kernel tells them of a process.
#ifndef SEEP_REPLAY_COMPARE_RUNS_H
#define SEEP_REPLAY_COMPARE_RUNS_H

#include "replay/compare.h"

struct seep_compare_runs_options {
    char *const *argv; // ends with NULL
    const char *const *names;
    size_t nr_names;
    uint32_t nr_rounds; // that count; one more comes before them
    void *data;
    // May be NULL. A round beyond `nr_most` is the end.
    void (*progress)(void *data, uint32_t round, uint32_t nr_rounds, uint32_t nr_most);
};

// What the program writes is seen of its first run, with the first allocator; *ret_status is that run's
// status, or a shell's where it could not be run. Each run reads the same standard input.
// Errors: no such program or allocator, a program that nothing can be preloaded into; a run that ends in
// another way than the first, as an allocator's crash.
SEEP_MUST_CHECK struct seep_error *seep_compare_runs(const struct seep_compare_runs_options *options,
                                                     struct seep_comparison *ret_comparison, int *ret_status);

#endif
