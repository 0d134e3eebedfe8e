// SPDX-License-Identifier: BSD-2-Clause
//
// From the kernel's heap to a session, so that what works on programs works on it: two profiles, first that
// of slab, per-CPU memory and vmalloc, then that of pages, because the two overlap. Functions come by name
// from kallsyms and are kept in the profile. Which allocator gave a block is the innermost frame of its
// stack. The threads of the profiles are the processes that allocated.
#ifndef SEEP_SOURCE_KERNEL_PROFILE_KERNEL_H
#define SEEP_SOURCE_KERNEL_PROFILE_KERNEL_H

#include "source/kernel/kernel_caches.h"
#include "source/kernel/kernel_heap.h"
#include "profile/profile.h"
#include "names/kallsyms.h"

struct seep_kernel_tracing {
    int64_t start_ns; // CLOCK_REALTIME, of the tracing
    int64_t duration_ns;
    uint64_t sample;                         // every Nth was recorded
    const struct seep_kernel_caches *caches; // NULL: other names of caches are not known
};

// All of `heap` is copied. O(blocks + frames).
SEEP_MUST_CHECK struct seep_error *seep_session_from_kernel(const struct seep_kernel_heap *heap,
                                                            const struct seep_kallsyms *symbols,
                                                            const struct seep_kernel_tracing *moment,
                                                            struct seep_session **ret_session);

#endif
