// SPDX-License-Identifier: BSD-2-Clause
//
// jemalloc, tcmalloc and mimalloc have functions of their own beside malloc (mallocx, tc_malloc, mi_malloc),
// by which a program allocates and frees past the hooks. How their names begin, as they stand in tables of
// symbols.
#ifndef SEEP_PROCESS_BESIDE_MALLOC_H
#define SEEP_PROCESS_BESIDE_MALLOC_H

#include <stdbool.h>
#include <stddef.h>

#include "core/attr.h"

#define SEEP_BESIDE_NR 3u // allocators; a set of them is a number with a bit for each

struct seep_beside {
    const char *library;   // how the name of its file begins
    const char *names[20]; // how functions that allocate or free begin; NULL behind the last
};
extern const struct seep_beside seep_besides[SEEP_BESIDE_NR];

// Whether a function whose name begins with `start`, one of `names`, and goes on with `rest`, only asks:
// tc_malloc_size.
bool seep_beside_only_asks(const char *start, const char *rest, size_t nr_bytes);

// The allocators that have a function of that name which allocates or frees.
unsigned seep_beside_of_name(const char *name);
// The allocator whose library lies at the path.
unsigned seep_beside_of_path(const char *path);

#endif
