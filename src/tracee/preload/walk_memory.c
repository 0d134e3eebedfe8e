// SPDX-License-Identifier: BSD-2-Clause
//
// Which memory of stacks can be read. What was asked is kept in struct seep_thread, as a range of the stack
// that the walk is on, until the program unmaps memory (unmap_epoch).
#include "preload/walk.h"

enum { NEAR = 16 * WALK_PAGE }; // the readable range is extended page by page up to this

bool seep_walk_extend(struct seep_thread *thread, uint64_t address) {
    uint64_t page = address & ~(uint64_t)(WALK_PAGE - 1);
    if (page >= thread->stack_hi && page - thread->stack_hi <= NEAR && thread->stack_hi &&
        pages_readable(thread->stack_hi, page + WALK_PAGE)) {
        thread->stack_hi = page + WALK_PAGE;
        return true;
    }
    if (page < thread->stack_lo && thread->stack_lo - page <= NEAR &&
        pages_readable(page, thread->stack_lo)) {
        thread->stack_lo = page;
        return true;
    }
    if (!sys_readable(page))
        return false;
    thread->stack_lo = page;
    thread->stack_hi = page + WALK_PAGE;
    return true;
}

// Of more threads than these only what this one remembers is looked through.
enum { ASKED_THREADS = 64 };

static bool remembers(const struct seep_thread *thread, uint64_t start, uint64_t end) {
    if (!SEEP_GUARD_IS_IDLE(thread->guard)) // a handler of a signal that interrupted it
        return true;
    const struct seep_memo_slot *slot = thread->slots;
    const struct seep_memo_slot *last =
        thread->memo_end == thread->frames ? slot : thread->memo_end[-1].slots_end;
    for (; slot < last; slot++)
        if ((uintptr_t)slot->address >= start && (uintptr_t)slot->address < end)
            return true;
    return false;
}

void seep_stack_gone(uint64_t start, uint64_t bytes) {
    uint64_t end = start + bytes;
    seep_readable_gone(start, bytes);
    atomic_fetch_add_explicit(&seep_g.unmap_epoch, 1, memory_order_release);
    const struct seep_thread *self = seep_self();
    bool gone = self != &seep_nobody && remembers(self, start, end);
    uint64_t nr =
        seep_image_is_ours() ? SEEP_MIN(seep_g.header->areas[SEEP_AREA_THREADS].used, ASKED_THREADS) : 0;
    for (uint64_t i = 0; i < nr && !gone; i++) {
        const struct seep_thread *other = seep_g.thread_of_slot[i];
        gone = other && __atomic_load_n(&other->stack_lo, __ATOMIC_RELAXED) < end &&
               __atomic_load_n(&other->stack_hi, __ATOMIC_RELAXED) > start;
    }
    if (gone)
        atomic_fetch_add_explicit(&seep_g.mode.modules_epoch, 1, memory_order_release);
}

void seep_walk_forget_readable(struct seep_thread *thread) {
    thread->stack_lo = thread->stack_hi = thread->own_lo = thread->own_hi = 0;
    __builtin_memset(thread->code, 0, sizeof(thread->code));
}
