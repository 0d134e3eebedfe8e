// SPDX-License-Identifier: BSD-2-Clause
//
// What the tool asks of a running program: to record no allocations for a while, or stacks of another depth
// (header.control of image/layout.h). The library looks at that word where an operation goes the long way,
// and then makes all operations go it that are concerned; the hot path knows nothing of it. A process that
// shares the image may write there, too: what is out of range is not done.
//
// Releases are recorded on while allocations are not, so blocks that lived before are freed exactly when they
// are. A block that was allocated meanwhile is unknown when it is freed, and no wrong release.
#ifndef SEEP_PRELOAD_CONTROL_H
#define SEEP_PRELOAD_CONTROL_H

#include "preload/preload.h"

// Carries out the tool's last request, unless another thread is doing so. Context: takes threads_lock.
void seep_control_take(void);
// Of a child of fork: its image, not yet in its place, begins with what was asked of the parent.
void seep_control_inherit(struct seep_image_header *header);

// Not while a lock of ours is held.
SEEP_INLINE void control_look(void) {
    uint64_t asked = __atomic_load_n(&seep_g.header->control, __ATOMIC_RELAXED);
    if (SEEP_UNLIKELY(asked != atomic_load_explicit(&seep_g.control_done, memory_order_relaxed)))
        seep_control_take();
}

// Whether the tool has stopped the tracing: new blocks are not recorded, frees are.
SEEP_INLINE bool allocations_pass(void) {
    return atomic_load_explicit(&seep_g.mode.special, memory_order_relaxed) & SEEP_SPECIAL_STOPPED;
}

#endif
