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

#include "preload/preload.h"

// Where a hook was called from; made by SEEP_HOOK_CALLER in the hook itself.
struct seep_caller {
    uint64_t pc; // return address
    uint64_t sp; // after the return
    uint64_t bp; // the caller's
};

// With a frame record in the hook: [fp] is the caller's bp, [fp + 8] the return address. On x86-64 the
// caller's stack goes on where the record ends; elsewhere the compiler knows where.
#if SEEP_ARCH_RECORD_GIVES_SP
#define SEEP_HOOK_CALLER()                                                                                   \
    ({                                                                                                       \
        const uint64_t *fp_ = __builtin_frame_address(0);                                                    \
        (struct seep_caller){.pc = fp_[1], .sp = (uint64_t)(fp_ + 2), .bp = fp_[0]};                         \
    })
#else
#define SEEP_HOOK_CALLER()                                                                                   \
    ({                                                                                                       \
        const uint64_t *fp_ = __builtin_frame_address(0);                                                    \
        (struct seep_caller){                                                                                \
            .pc = seep_arch_strip(fp_[1]), .sp = (uint64_t)__builtin_dwarf_cfa(), .bp = fp_[0]};             \
    })
#endif

// What tells hooks of the same caller at another place of the stack apart; where it is at hand, the hook's
// own frame.
#define SEEP_FRAME_OF(caller) ((caller).sp - (SEEP_ARCH_RECORD_GIVES_SP ? 16 : 0))

// The slow half: walks, grows the memo and the tree. Never 0: SEEP_SITE_UNKNOWN when all else fails.
// The caller as numbers: a struct would be put in memory on the fast path too.
uint32_t seep_stack_walk(struct seep_thread *thread, enum seep_via via, uint64_t pc, uint64_t sp,
                         uint64_t bp);

// The usual walk, stack_fast.c: the node of the stack, with the memo grown; 0: not to be had that way.
uint32_t seep_stack_walk_fast(struct seep_thread *thread, struct seep_caller caller);

SEEP_INLINE bool slot_holds(const struct seep_memo_slot *slot) {
    return SEEP_LIKELY(__atomic_load_n(slot->address, __ATOMIC_RELAXED) == slot->value);
}

// The short way's check: all hold, or not. In fours; below slots[0] lie pads that always do.
SEEP_INLINE bool slots_hold(const struct seep_memo_slot *at, const struct seep_memo_slot *slots) {
    for (; at > slots; at -= 4)
        if (!slot_holds(at - 1) || !slot_holds(at - 2) || !slot_holds(at - 3) || !slot_holds(at - 4))
            return false;
    return true;
}

// 0 when slots [0, nr) hold what they held, else 1 + the index of the innermost that does not.
// By hand unrolled: four instructions a slot, and the loop's own shared by four.
SEEP_INLINE uint32_t slots_changed(const struct seep_memo_slot *slots, uint32_t nr) {
    const struct seep_memo_slot *at = slots + nr;
    for (const struct seep_memo_slot *three = slots + 3; SEEP_LIKELY(at > three);) {
        if (!slot_holds(at - 1))
            return (uint32_t)(at - slots);
        if (!slot_holds(at - 2))
            return (uint32_t)(at - slots) - 1;
        if (!slot_holds(at - 3))
            return (uint32_t)(at - slots) - 2;
        if (!slot_holds(at - 4))
            return (uint32_t)(at - slots) - 3;
        at -= 4;
    }
    for (; at != slots; at--)
        if (!slot_holds(at - 1))
            return (uint32_t)(at - slots);
    return 0;
}

SEEP_INLINE bool memo_state_is(const struct seep_memo_frame *frame, uint64_t pc, uint64_t sp, uint64_t bp) {
    return frame->sp == sp && frame->pc == pc && (!frame->need_bp || frame->bp == bp);
}

#ifdef SEEP_ORACLE
// Test builds: shows the memo's stack to tests/oracle, as the slow half does with what it walked.
void seep_stack_show_memo(const struct seep_thread *thread);
void seep_stack_show_detour(const struct seep_thread *thread, const struct seep_detour *detour);
#else
#define seep_stack_show_memo(thread)           ((void)0)
#define seep_stack_show_detour(thread, detour) ((void)0)
#endif

// ---- detours --------------------------------------------------------------------------------------

// Where one for this caller is, and beside it the other place for it.
SEEP_INLINE struct seep_detour *detours_for(const struct seep_thread *thread, struct seep_caller caller) {
    // A sum: equal steps, as recursion makes them, are spread evenly.
    uint64_t hash = ((SEEP_FRAME_OF(caller) >> 3) + caller.pc) * UINT64_C(0x9e3779b97f4a7c15);
    return &thread->detours[hash >> (64 - SEEP_DETOURS_SHIFT + 1) << 1];
}

SEEP_INLINE bool detour_is_for(const struct seep_detour *detour, struct seep_caller caller) {
    return detour->frame == SEEP_FRAME_OF(caller) && detour->pc == caller.pc;
}

SEEP_INLINE struct seep_detour *detour_at(const struct seep_thread *thread, struct seep_caller caller) {
    struct seep_detour *two = detours_for(thread, caller);
    return detour_is_for(&two[0], caller) ? &two[0] : &two[1];
}

// Whether the present stack is the detour's: its own slots first, for they lie further in.
SEEP_INLINE bool detour_holds(const struct seep_thread *thread, const struct seep_detour *detour,
                              enum seep_via via, struct seep_caller caller) {
    if (!detour_is_for(detour, caller) || detour->via != via ||
        (detour->need_bp && detour->bp != caller.bp) || detour->kept > thread->memo_depth ||
        thread->frames[detour->kept - 1].stamp != detour->stamp ||
        thread->mode.modules_epoch != atomic_load_explicit(&seep_g.mode.modules_epoch, memory_order_relaxed))
        return false;
    for (uint32_t i = detour->nr_slots; i > 0; i--)
        if (!slot_holds(&detour->slots[i - 1]))
            return false;
    return slots_hold(thread->slots + detour->kept_slots, thread->slots);
}

// Keeps the stack that the latest walk has found.
SEEP_INLINE void detour_keep(struct seep_thread *thread, uint32_t site, struct seep_image_counters *counters,
                             struct seep_caller caller) {
    uint32_t kept = thread->walk_kept;
    const struct seep_memo_frame *top = &thread->frames[thread->memo_depth - 1];
    uint32_t kept_slots = kept ? thread->frames[kept - 1].slot_end : 0;
    uint32_t nr_slots = top->slot_end - kept_slots;
    // A thread that allocates little needs no memory for this.
    if (!kept || nr_slots > SEEP_DETOUR_SLOTS || thread->stamp < SEEP_DETOURS_FROM)
        return;
    struct seep_detour *detour = detour_at(thread, caller);
    if (!detour_is_for(detour, caller))
        detour = &detours_for(thread, caller)[thread->stamp & 1];
    detour->frame = SEEP_FRAME_OF(caller);
    detour->pc = caller.pc;
    detour->bp = caller.bp;
    detour->stamp = thread->frames[kept - 1].stamp;
    detour->counters = counters;
    detour->kept = kept;
    detour->site = site;
    detour->via = (uint16_t)thread->top_via;
    detour->need_bp = top->need_bp;
    detour->nr_slots = (uint8_t)nr_slots;
    detour->kept_slots = kept_slots;
    for (uint32_t i = 0; i < nr_slots; i++)
        detour->slots[i] = thread->slots[kept_slots + i];
#ifdef SEEP_ORACLE
    detour->nr_pcs = thread->memo_depth - kept;
    for (uint32_t i = 0; i < detour->nr_pcs; i++)
        detour->pcs[i] = thread->frames[thread->memo_depth - 1 - i].pc & ~SEEP_PC_EXACT;
#endif
}

// Keeps what stack_site has just found, for the short way.
SEEP_INLINE void stack_remember(struct seep_thread *thread, uint32_t site,
                                struct seep_image_counters *counters, struct seep_caller caller) {
    if (SEEP_UNLIKELY(thread->memo_depth == 0 || !counters)) {
        thread->last.frame = 0;
        return;
    }
    const struct seep_memo_frame *top = &thread->frames[thread->memo_depth - 1];
    thread->last = (struct seep_shortcut){
        .frame = SEEP_FRAME_OF(caller),
        .pc = caller.pc,
        .bp = caller.bp,
        .slots_end = thread->slots + top->slot_end,
        .entry = (uint64_t)site << SEEP_ENTRY_SITE_SHIFT,
        .counters = counters,
        .via = thread->top_via | (uint64_t)top->need_bp << 32,
    };
    detour_keep(thread, site, counters, caller);
}

// The site of the stack that called the hook, through `via`.
SEEP_INLINE uint32_t stack_site(struct seep_thread *thread, enum seep_via via, struct seep_caller caller) {
    uint32_t depth = thread->memo_depth;
    if (SEEP_LIKELY(depth != 0)) {
        const struct seep_memo_frame *top = &thread->frames[depth - 1];
        if (SEEP_LIKELY(memo_state_is(top, caller.pc, caller.sp, caller.bp) && thread->top_via == via &&
                        thread->mode.modules_epoch ==
                            atomic_load_explicit(&seep_g.mode.modules_epoch, memory_order_relaxed) &&
                        !slots_changed(thread->slots, top->slot_end))) {
            seep_stack_show_memo(thread);
            return thread->top_site;
        }
    }
    return seep_stack_walk(thread, via, caller.pc, caller.sp, caller.bp);
}

#endif
