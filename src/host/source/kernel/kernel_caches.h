// SPDX-License-Identifier: BSD-2-Clause
//
// The other names of the kernel's caches: SLUB merges caches of the same size and kind, and keeps the name of
// the first. In /sys/kernel/slab each name is a link; names of one cache have the same target.
#ifndef SEEP_SOURCE_KERNEL_KERNEL_CACHES_H
#define SEEP_SOURCE_KERNEL_KERNEL_CACHES_H

#include "base/arena.h"
#include "base/error.h"

struct seep_kernel_caches;

// `folder`: NULL is /sys/kernel/slab. If it cannot be read, no cache has another name, and that is no error.
SEEP_MUST_CHECK struct seep_error *seep_kernel_caches_read(const char *folder,
                                                           struct seep_kernel_caches **ret_caches);
void seep_kernel_caches_destroy(struct seep_kernel_caches *caches); // takes NULL

// "cred, pid", after six names "and 3 more"; in the arena. NULL: no other name, or out of memory.
const char *seep_kernel_caches_aliases(const struct seep_kernel_caches *caches, const char *name,
                                       struct seep_arena *arena);

#endif
