// SPDX-License-Identifier: BSD-2-Clause
//
// From the kernel's heap to a session, so that what works on programs works on it: two profiles, one of slab,
// per-CPU memory and vmalloc, and one of pages, because the two overlap. Functions come by name from kallsyms
// and are kept in the profile. Which allocator gave a block is the innermost frame of its stack.
#ifndef SEEP_SOURCE_KERNEL_PROFILE_KERNEL_H
#define SEEP_SOURCE_KERNEL_PROFILE_KERNEL_H

#include "source/kernel/kernel_heap.h"
#include "profile/profile.h"
#include "names/kallsyms.h"

const char *seep_kernel_class_name(uint32_t class_of); // of enum seep_kernel_class; NULL: no such class
// The frames that there are, whatever was written in the map.
uint32_t seep_kernel_nr_frames(const struct seep_kernel_site *site);
// The innermost of them that are our own program and what called it: the tracepoint. Others' programs further
// out may allocate as well.
uint32_t seep_kernel_own_frames(const struct seep_kernel_site *site, const struct seep_kallsyms *symbols);

struct seep_kernel_moment {
    int64_t start_ns; // CLOCK_REALTIME, of the tracing
    int64_t duration_ns;
    uint64_t sample; // every Nth was recorded
};

// `heap` was read with its blocks. All of it is copied. O(blocks + frames).
SEEP_MUST_CHECK struct seep_error *seep_session_from_kernel(const struct seep_kernel_heap *heap,
                                                            const struct seep_kallsyms *symbols,
                                                            const struct seep_kernel_moment *moment,
                                                            struct seep_session **ret_session);

#endif
