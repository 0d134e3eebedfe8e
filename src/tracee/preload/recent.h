// SPDX-License-Identifier: BSD-2-Clause
//
// The stacks that a thread recorded lately (struct seep_recent): looked up, validated, kept. Only the thread
// itself calls these, with its guard taken; none of them takes a lock or makes a system call.
#ifndef SEEP_PRELOAD_RECENT_H
#define SEEP_PRELOAD_RECENT_H

#include "preload/caller.h"

// Whether the stack still has the remembered word.
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

// A sum: equal steps, as recursion makes them, are spread evenly.
SEEP_INLINE struct seep_recent *recent_set(const struct seep_thread *thread, struct seep_caller caller) {
    uint32_t hash = ((uint32_t)(SEEP_FRAME_OF(caller) >> 3) + (uint32_t)caller.pc) * UINT32_C(0x9e3779b1);
    return thread->recents + (hash >> (32 - SEEP_RECENTS_SHIFT) & thread->recents_mask);
}

// The walk that begins, or other code that changes the memo, says so: then none need stand.
SEEP_INLINE void recent_none(struct seep_thread *thread) {
    thread->last = &thread->recents[1 << SEEP_RECENTS_SHIFT];
}

// Whether the thread remembers a call at all.
SEEP_INLINE bool recent_may_be(const struct seep_thread *thread) {
    return thread->last->frame != 0;
}

// Whether it is the same call: same frame, same return address.
SEEP_INLINE bool recent_is_of(const struct seep_recent *recent, struct seep_caller caller) {
    return recent->frame == SEEP_FRAME_OF(caller) && SEEP_LIKELY(recent->pc == caller.pc);
}

// Whether what it was made on is still the memo's; what `last` was made on always is.
SEEP_INLINE bool recent_stands(const struct seep_thread *thread, const struct seep_recent *recent) {
    return SEEP_LIKELY(recent->kept < thread->memo_end && recent->kept->stamp == recent->stamp);
}

// Whether that stack is the present one: its own words first, for they lie further in.
SEEP_INLINE bool recent_holds(const struct seep_thread *thread, const struct seep_recent *recent,
                              enum seep_via via, struct seep_caller caller) {
    const seep_stack_word *words = (const seep_stack_word *)SEEP_FRAME_OF(caller);
    if (SEEP_UNLIKELY(recent->via != (uint32_t)via) &&
        (recent->via != (via | SEEP_NEED_BP) || recent->bp != SEEP_HOOK_BP(caller)))
        return false;
    for (uint32_t i = 0; i < recent->nr_own; i += 2)
        if (__atomic_load_n(&words[recent->own_at[i]], __ATOMIC_RELAXED) != recent->own[i] ||
            __atomic_load_n(&words[recent->own_at[i + 1]], __ATOMIC_RELAXED) != recent->own[i + 1])
            return false;
    return slots_hold(recent->kept_end, thread->slots);
}

// The present stack, if it was recorded lately; else NULL, and the long way need not ask again. The caller
// has seen to it that no code has gone away since the memo was made.
SEEP_INLINE const struct seep_recent *recent_find(struct seep_thread *thread, enum seep_via via,
                                                  struct seep_caller caller) {
    const struct seep_recent *recent = thread->last;
    if (recent_is_of(recent, caller) && recent_holds(thread, recent, via, caller))
        return recent;
    recent = recent_set(thread, caller);
    for (const struct seep_recent *end = recent + SEEP_RECENT_WAYS; recent != end; recent++)
        if (recent_is_of(recent, caller) && recent_stands(thread, recent) &&
            recent_holds(thread, recent, via, caller)) {
            thread->last = recent;
            return recent;
        }
    __asm__("" : "+r"(thread)); // what is asked of it again need not be kept until here
    recent_none(thread);
    return NULL;
}

// Of what the latest walk left of the memo, the innermost frame that leaves as many words as fit to the
// recent stack itself: the more are its own, the longer it stands. NULL: there is none.
SEEP_INLINE const struct seep_memo_frame *recent_kept(const struct seep_thread *thread,
                                                      const struct seep_memo_frame *top) {
    const struct seep_memo_frame *kept = thread->walk_kept;
    if (SEEP_UNLIKELY(!kept) || top->slots_end - kept->slots_end > SEEP_RECENT_SLOTS)
        return NULL;
    while (kept != thread->frames && top->slots_end - kept[-1].slots_end <= SEEP_RECENT_SLOTS)
        kept--;
    return kept;
}

// Copies the memo's slots [from, end). false: one is too far away.
SEEP_INLINE bool recent_own(struct seep_recent *recent, const struct seep_memo_slot *from,
                            const struct seep_memo_slot *end) {
    const uint64_t frame = recent->frame;
    uint64_t farthest = 0;
    uint32_t nr = 0;
    while (end != from) {
        end--;
        uint64_t at = ((uintptr_t)end->address - frame) / SEEP_ARCH_WORD;
        farthest |= at;
        recent->own_at[nr] = (uint16_t)at;
        recent->own[nr++] = end->value;
    }
    if (nr % 2) {
        recent->own_at[nr] = recent->own_at[nr - 1];
        recent->own[nr] = recent->own[nr - 1];
    }
    recent->nr_own = nr + nr % 2;
    return SEEP_LIKELY(farthest <= UINT16_MAX);
}

// Keeps what stack_site has just found, for the short way.
SEEP_INLINE void stack_remember(struct seep_thread *thread, uint32_t site,
                                struct seep_image_counters *counters, struct seep_caller caller) {
    if (SEEP_UNLIKELY(thread->memo_end == thread->frames || !counters))
        return;
    struct seep_recent *set = recent_set(thread, caller);
    struct seep_recent *recent = &set[++set->turn % SEEP_RECENT_WAYS];
    const struct seep_memo_frame *top = thread->memo_end - 1;
    const struct seep_memo_frame *kept = recent_kept(thread, top);
    recent->frame = SEEP_FRAME_OF(caller);
    recent->pc = caller.pc;
    recent->bp = caller.bp;
    recent->via = thread->top_via | top->need_bp << 31;
    recent->entry = (uint64_t)site << SEEP_ENTRY_SITE_SHIFT;
    recent->counters = counters;
#ifdef SEEP_ORACLE
    recent->nr_pcs = 0;
    for (const struct seep_memo_frame *own = top; kept && own != kept; own--)
        recent->pcs[recent->nr_pcs++] = own->pc & ~SEEP_PC_EXACT;
#endif
    if (!kept || !recent_own(recent, kept->slots_end, top->slots_end)) {
        kept = top;
        recent->nr_own = 0;
    }
    recent->kept = kept;
    recent->kept_end = kept->slots_end;
    recent->stamp = kept->stamp;
    thread->last = recent;
}

#endif
