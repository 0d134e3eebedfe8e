// SPDX-License-Identifier: BSD-2-Clause
//
// Memory that a runtime takes in large pieces and gives out by itself. What is in a piece is not seen block
// by block, unless a variable of the environment tells the runtime to use malloc.
#ifndef SEEP_PROFILE_RUNTIME_MEMORY_H
#define SEEP_PROFILE_RUNTIME_MEMORY_H

#include "profile/profile.h"

// Whose pieces are known.
enum seep_runtime {
    SEEP_RUNTIME_PYTHON,
    SEEP_RUNTIME_PHP,
    SEEP_RUNTIME_GLIB,
    SEEP_RUNTIME_NR,
};

// How messages name them.
struct seep_runtime_memory {
    const char *name;    // of the runtime
    const char *pieces;  // what it calls them
    const char *setting; // NAME=VALUE for the environment: it uses malloc
    bool is_mapped;      // the pieces; else they are blocks of the heap
};

// By enum seep_runtime.
extern const struct seep_runtime_memory seep_runtime_memory[SEEP_RUNTIME_NR];

// Bytes of the runtime's pieces in a derived profile: what is live; of mapped pieces each place's most. 0:
// none.
uint64_t seep_runtime_bytes(const struct seep_profile *profile, enum seep_runtime runtime);

#endif
