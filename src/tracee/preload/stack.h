// SPDX-License-Identifier: BSD-2-Clause
//
// Stacks: from the frame of a hook to a site. The fast path is the validated memo: each thread keeps
// its last unwound stack with the stack words ("slots") that were read to unwind it. Unwinding is a
// pure function of (pc, sp, bp where needed) and of the slots it reads; so if the innermost state is
// the recorded one and every slot still holds the recorded value, the stack is the recorded one.
//
// Safety: slots are checked from the innermost outward and the check stops at the first difference.
// As long as all slots so far agree, the state reached is the program's true state, so the next
// slot is memory that the program itself will return through: it is mapped.
//
// Cost of a hit: per slot two loads and a compare, all independent of one another.
// Proof: tests/oracle compares every sample with a plain unwinder.
#ifndef SEEP_PRELOAD_STACK_H
#define SEEP_PRELOAD_STACK_H

#include "preload/recent.h"

// A function that uses vector registers, and may be called with a stack that is not aligned.
#ifdef __x86_64__
#define SEEP_ALIGNS_STACK __attribute__((force_align_arg_pointer))
#else
#define SEEP_ALIGNS_STACK
#endif

// The slow half: walks, grows the memo and the tree. Never 0: SEEP_SITE_UNKNOWN when all else fails. May take
// rules_lock and tree_lock, one after the other.
// The caller as numbers: a struct would be put in memory on the fast path too.
SEEP_ALIGNS_STACK uint32_t seep_stack_walk(struct seep_thread *thread, enum seep_via via, uint64_t pc,
                                           uint64_t sp, uint64_t bp);

// Memory at `start` cannot be read any more. What threads believe to be readable is asked again; and where
// the frames that they remember may lie there (a stack that another was entered from), they forget them.
void seep_stack_gone(uint64_t start, uint64_t bytes);

// NULL when the slots up to `at` hold what they held, else one past the innermost that does not.
// By hand unrolled: four instructions a slot, and the loop's own shared by four.
SEEP_INLINE const struct seep_memo_slot *slots_changed(const struct seep_memo_slot *at,
                                                       const struct seep_memo_slot *slots) {
    for (const struct seep_memo_slot *three = slots + 3; SEEP_LIKELY(at > three); at -= 4) {
        if (!slot_holds(at - 1))
            return at;
        if (!slot_holds(at - 2))
            return at - 1;
        if (!slot_holds(at - 3))
            return at - 2;
        if (!slot_holds(at - 4))
            return at - 3;
    }
    for (; at != slots; at--)
        if (!slot_holds(at - 1))
            return at;
    return NULL;
}

// Whether the walk is at the remembered frame in the same state, so that all frames behind it are the same.
SEEP_INLINE bool memo_state_is(const struct seep_memo_frame *frame, uint64_t pc, uint64_t sp, uint64_t bp) {
    return frame->sp == sp && frame->pc == pc && (!frame->need_bp || frame->bp == bp);
}

#ifdef SEEP_ORACLE
// Test builds: shows a stack that was not walked to tests/oracle, as the slow half does with what it walked.
void seep_stack_show_memo(const struct seep_thread *thread);
void seep_stack_show_recent(const struct seep_thread *thread, const struct seep_recent *recent);
#else
#define seep_stack_show_memo(thread)           ((void)0)
#define seep_stack_show_recent(thread, recent) ((void)0)
#endif

// The site of the stack that called the hook, through `via`.
SEEP_INLINE uint32_t stack_site(struct seep_thread *thread, enum seep_via via, struct seep_caller caller) {
    if (SEEP_LIKELY(thread->memo_end != thread->frames)) {
        const struct seep_memo_frame *top = thread->memo_end - 1;
        if (SEEP_LIKELY(memo_state_is(top, caller.pc, caller.sp, caller.bp) && thread->top_via == via &&
                        thread->mode.modules_epoch ==
                            atomic_load_explicit(&seep_g.mode.modules_epoch, memory_order_relaxed) &&
                        !slots_changed(top->slots_end, thread->slots))) {
            seep_stack_show_memo(thread);
            return thread->top_site;
        }
    }
    return seep_stack_walk(thread, via, caller.pc, caller.sp, caller.bp);
}

// The same, not inline, for who does not ask often: record_slow.c.
uint32_t seep_stack_site(struct seep_thread *thread, enum seep_via via, struct seep_caller caller);

#endif
