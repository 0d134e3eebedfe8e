// SPDX-License-Identifier: BSD-2-Clause
//
// jemalloc, tcmalloc and mimalloc have functions of their own beside malloc (mallocx, tc_malloc, mi_malloc).
// What a program allocates and frees by them passes the hooks. A program that may call them has their names
// in its table of symbols.
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

// Whether a function only asks, as tc_malloc_size does. Its name is `start`, one of `names`, and `rest`
// behind it.
bool seep_beside_only_asks(const char *start, const char *rest, size_t nr_bytes);

// The allocators that allocate or free by a function of that name.
unsigned seep_beside_of_name(const char *name);
// The allocator whose library lies at the path.
unsigned seep_beside_of_path(const char *path);

#endif
