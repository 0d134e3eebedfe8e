// SPDX-License-Identifier: BSD-2-Clause
//
// One allocator of the list of --allocator: a library, or glibc with a tunable.
#ifndef SEEP_REPLAY_ALLOCATOR_CHOICE_H
#define SEEP_REPLAY_ALLOCATOR_CHOICE_H

#include "base/error.h"

#define SEEP_ALLOCATORS_MAX 16u

struct seep_allocator_choice {
    const char *name; // as it was asked for; borrowed
    char *preload;    // "LD_PRELOAD=...", or NULL
    char *tunables;   // "GLIBC_TUNABLES=...", or NULL
};

// glibc, a name or path as seep_allocator_find() takes them, or glibc:TUNABLE=VALUE. `own`: the program may
// bring an allocator, so glibc is preloaded too.
SEEP_MUST_CHECK struct seep_error *seep_allocator_choose(const char *name, bool own,
                                                         struct seep_allocator_choice *ret_choice);
void seep_allocator_choice_deinit(struct seep_allocator_choice *choice);

// Splits a list with commas in place: names[SEEP_ALLOCATORS_MAX] point into it.
SEEP_MUST_CHECK struct seep_error *seep_allocators_split(char *list, const char **names, size_t *ret_nr);

#endif
