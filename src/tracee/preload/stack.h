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

extern const char __ehdr_start[] __attribute__((visibility("hidden"))); // of this library, both the linker's
extern const char _end[] __attribute__((visibility("hidden")));

SEEP_INLINE bool seep_is_own_code(uint64_t pc) {
    return pc >= (uintptr_t)__ehdr_start && pc < (uintptr_t)_end;
}

// The frame record whose return address is the first one outside of this library.
SEEP_INLINE const seep_stack_word *seep_frame_of_hook(const seep_stack_word *frame) {
    for (int i = 0; i < 6; i++, frame = (const seep_stack_word *)(uintptr_t)frame[0])
        if (!seep_is_own_code(seep_arch_strip(frame[1])))
            break;
    return frame;
}

// Arguments that lie on the stack, and calls through a register of the caller's, keep a hook from ending with
// a jump: functions of the library stand between, each with a frame record.
#ifdef __i386__
#define SEEP_HOOK_FRAME() seep_frame_of_hook(__builtin_frame_address(0))
#else
#define SEEP_HOOK_FRAME() __builtin_frame_address(0)
#endif

// With a frame record in the hook: [fp] is the caller's bp, the word behind it the return address. On x86-64
// the caller's stack goes on where the record ends; elsewhere the compiler knows where.
#if SEEP_ARCH_RECORD_GIVES_SP
#define SEEP_HOOK_CALLER()                                                                                   \
    ({                                                                                                       \
        const seep_stack_word *fp_ = SEEP_HOOK_FRAME();                                                      \
        (struct seep_caller){.pc = fp_[1], .sp = (uintptr_t)(fp_ + 2), .bp = fp_[0]};                        \
    })
#elif defined(__powerpc64__)
// On Power a hook ends with a call; on other CPUs it ends with a jump. The back chain leads to the caller.
// Each frame of the library has its caller's r31 right below the beginning of the next frame.
#define SEEP_HOOK_CALLER()                                                                                   \
    seep_caller_by_links((const uint64_t *)__builtin_dwarf_cfa(), (uintptr_t)__builtin_return_address(0))
SEEP_INLINE struct seep_caller seep_caller_by_links(const uint64_t *cfa, uint64_t pc) {
    for (int i = 0; i < 6 && seep_is_own_code(pc); i++) {
        cfa = (const uint64_t *)(uintptr_t)cfa[0];
        pc = cfa[2];
    }
    return (struct seep_caller){.pc = pc, .sp = (uintptr_t)cfa, .bp = cfa[-1]};
}
#elif defined(CPU_HOOK_BP)
#define SEEP_HOOK_CALLER()                                                                                   \
    ((struct seep_caller){.pc = seep_arch_strip((uintptr_t)__builtin_return_address(0)),                     \
                          .sp = (uintptr_t)__builtin_dwarf_cfa() - SEEP_ARCH_SP_BELOW_CFA,                   \
                          .bp = CPU_HOOK_BP()})
#else
#define SEEP_HOOK_CALLER()                                                                                   \
    ({                                                                                                       \
        const seep_stack_word *fp_ = __builtin_frame_address(0);                                             \
        (struct seep_caller){                                                                                \
            .pc = seep_arch_strip(fp_[1]), .sp = (uintptr_t)__builtin_dwarf_cfa(), .bp = fp_[0]};            \
    })
#endif

// What tells hooks of the same caller at another place of the stack apart; where it is at hand, the hook's
// own frame.
#define SEEP_FRAME_OF(caller) ((caller).sp - (SEEP_ARCH_RECORD_GIVES_SP ? 2 * SEEP_ARCH_WORD : 0))
// The caller's bp, read again where it lies in the hook's frame: it is hardly ever asked for.
#define SEEP_HOOK_BP(caller)                                                                                 \
    (SEEP_ARCH_RECORD_GIVES_SP ? *(const seep_stack_word *)SEEP_FRAME_OF(caller) : (caller).bp)

// A function that uses vector registers, and may be called with a stack that is not aligned.
#ifdef __x86_64__
#define SEEP_ALIGNS_STACK __attribute__((force_align_arg_pointer))
#else
#define SEEP_ALIGNS_STACK
#endif

// The slow half: walks, grows the memo and the tree. Never 0: SEEP_SITE_UNKNOWN when all else fails.
// The caller as numbers: a struct would be put in memory on the fast path too.
SEEP_ALIGNS_STACK uint32_t seep_stack_walk(struct seep_thread *thread, enum seep_via via, uint64_t pc,
                                           uint64_t sp, uint64_t bp);

// The usual walk, stack_fast.c: the node of the stack, with the memo grown; 0: not to be had that way.
uint32_t seep_stack_walk_fast(struct seep_thread *thread, struct seep_caller caller);

// Memory at `start` cannot be read any more. What threads believe to be readable is asked again; and where
// the frames that they remember may lie there (a stack that another was entered from), they forget them.
void seep_stack_gone(uint64_t start, uint64_t bytes);

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

// ---- stacks recorded lately -----------------------------------------------------------------------

// A sum: equal steps, as recursion makes them, are spread evenly.
SEEP_INLINE struct seep_recent *recent_set(const struct seep_thread *thread, struct seep_caller caller) {
    uint32_t hash = ((uint32_t)(SEEP_FRAME_OF(caller) >> 3) + (uint32_t)caller.pc) * UINT32_C(0x9e3779b1);
    return thread->recents + (hash >> (32 - SEEP_RECENTS_SHIFT) & thread->recents_mask);
}

// The walk that begins, or other code that changes the memo, says so: then none need stand.
SEEP_INLINE void recent_none(struct seep_thread *thread) {
    thread->last = &thread->recents[1 << SEEP_RECENTS_SHIFT];
}

SEEP_INLINE bool recent_may_be(const struct seep_thread *thread) {
    return thread->last->frame != 0;
}

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

// Where the hook that is at work was called from, by the tables of our own code: for who is not told, and
// where no frame records lead there. 0: not known.
uint64_t seep_stack_hook_caller(void);

#endif
