// SPDX-License-Identifier: BSD-2-Clause
// What the tool asks of a running program, see control.h.
#include "preload/control.h"
#include "preload/call_counts.h"

_Static_assert(SEEP_CONTROL_DEPTH_MOST == SEEP_MAX_DEPTH, "the tool asks for no more than there may be");

static void set_stopped(bool stopped) {
    if (stopped) {
        seep_g.was_stopped = true;
        __atomic_fetch_or(&seep_g.header->flags, SEEP_FLAG_STOPPED | SEEP_FLAG_WAS_STOPPED, __ATOMIC_RELAXED);
        atomic_fetch_or_explicit(&seep_g.mode.special, SEEP_SPECIAL_STOPPED, memory_order_relaxed);
        return;
    }
    __atomic_fetch_and(&seep_g.header->flags, ~SEEP_FLAG_STOPPED, __ATOMIC_RELAXED);
    atomic_fetch_and_explicit(&seep_g.mode.special, ~(uint32_t)SEEP_SPECIAL_STOPPED, memory_order_relaxed);
}

// The nodes in the memos are of the old depth: they end, as when code has gone away.
static void set_depth(uint32_t depth) {
    if (depth < 1 || depth > SEEP_MAX_DEPTH ||
        depth == atomic_load_explicit(&seep_g.depth, memory_order_relaxed))
        return;
    atomic_store_explicit(&seep_g.depth, depth, memory_order_relaxed);
    __atomic_store_n(&seep_g.header->depth_limit, depth, __ATOMIC_RELAXED);
    atomic_fetch_add_explicit(&seep_g.mode.modules_epoch, 1, memory_order_release);
}

// One thread at a time, so that what was asked last is done last; a thread that finds another at it goes on.
void seep_control_take(void) {
    if (!seep_lock_take(&seep_g.threads_lock))
        return;
    struct seep_image_header *header = seep_g.header;
    uint64_t asked = __atomic_load_n(&header->control, __ATOMIC_RELAXED);
    if (!calls_only()) {
        set_stopped(asked & SEEP_CONTROL_STOPPED);
        set_depth(SEEP_CONTROL_DEPTH(asked));
        __atomic_store_n(&header->control_done, asked, __ATOMIC_RELEASE);
    }
    atomic_store_explicit(&seep_g.control_done, asked, memory_order_relaxed);
    seep_lock_release(&seep_g.threads_lock);
}

// Its header is its parent's as it was a little after the fork; what the child does is what stood at the
// fork.
void seep_control_inherit(struct seep_image_header *header) {
    header->control = header->control_done = atomic_load_explicit(&seep_g.control_done, memory_order_relaxed);
    header->depth_limit = atomic_load_explicit(&seep_g.depth, memory_order_relaxed);
    header->flags = (header->flags & ~(SEEP_FLAG_STOPPED | SEEP_FLAG_WAS_STOPPED)) |
                    (allocations_pass() ? SEEP_FLAG_STOPPED : 0) |
                    (seep_g.was_stopped ? SEEP_FLAG_WAS_STOPPED : 0);
}
