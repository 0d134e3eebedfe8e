// SPDX-License-Identifier: BSD-2-Clause
//
// The other names of the kernel's caches: SLUB keeps one cache for several of the same size and kind, and
// knows it by the name of the first. /sys/kernel/slab has a link of each name to the one that it is.
#ifndef SEEP_SOURCE_KERNEL_KERNEL_CACHES_H
#define SEEP_SOURCE_KERNEL_KERNEL_CACHES_H

#include "base/arena.h"
#include "base/error.h"

struct seep_kernel_caches;

// `folder`: NULL: /sys/kernel/slab. Where it cannot be read, no cache has another name.
SEEP_MUST_CHECK struct seep_error *seep_kernel_caches_read(const char *folder,
                                                           struct seep_kernel_caches **ret_caches);
void seep_kernel_caches_destroy(struct seep_kernel_caches *caches); // takes NULL

// "kiocb, fsnotify_mark and 3 more", in the arena; NULL: it has no other, or out of memory.
const char *seep_kernel_caches_aliases(const struct seep_kernel_caches *caches, const char *name,
                                       struct seep_arena *arena);

#endif
