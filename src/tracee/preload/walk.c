// SPDX-License-Identifier: BSD-2-Clause
//
// The walk: from a hook's caller outward until it meets a frame of the memo that still holds. See stack.h for
// why the memo is exact.
#include "preload/proc_maps.h"
#include "preload/stack_tree.h"
#include "preload/walk.h"
#include "unwind/arch.h"

enum seep_cut seep_walk_why_unknown(uint64_t pc) {
    return seep_maps_is_return_probe(pc) ? SEEP_CUT_PROBE : SEEP_CUT_BAD_CFI;
}

#ifdef SEEP_ARCH_SIGNAL_PC_OFFSET
static enum leave leave_signal_frame(struct walk *walk, struct seep_walk_frame *frame) {
    uint64_t block = frame->sp + (uint64_t)seep_rule_cfa_offset(frame->rule);
    if (!read_slot(walk, frame, 0, block + SEEP_ARCH_SIGNAL_PC_OFFSET) ||
        !read_slot(walk, frame, 1, block + SEEP_ARCH_SIGNAL_BP_OFFSET) ||
        !read_slot(walk, frame, 2, block + SEEP_ARCH_SIGNAL_SP_OFFSET))
        return cut(walk, SEEP_CUT_BAD_READ);
    walk->pc = frame->values[0] | SEEP_PC_EXACT;
    walk->bp = frame->values[1];
    walk->sp = frame->values[2];
    return LEFT;
}
#endif

// The kinds that are not a plain offset from sp or bp.
static SEEP_NOINLINE enum leave leave_special_frame(struct walk *walk, struct seep_walk_frame *frame) {
    switch (seep_rule_kind(frame->rule)) {
#ifdef SEEP_ARCH_SIGNAL_PC_OFFSET
    case SEEP_RULE_SIGNAL:
        return leave_signal_frame(walk, frame);
#endif
    case SEEP_RULE_END:
        return OUTERMOST;
    case SEEP_RULE_NO_CFI:
        return seep_walk_by_frame_pointer(walk, frame->pc, frame->sp, frame->bp);
    case SEEP_RULE_BAD:
        return cut(walk, SEEP_CUT_BAD_CFI);
    default:
        return NEEDS_ALL_REGISTERS;
    }
}

// From `frame` to its caller's state in `walk`. Remembers in frame->slots what it read.
SEEP_INLINE enum leave leave_frame(struct walk *walk, struct seep_walk_frame *frame) {
    enum seep_rule_kind kind = seep_rule_kind(frame->rule);
    uint64_t base = kind == SEEP_RULE_SP ? frame->sp : frame->bp;
    uint64_t cfa = base + (uint64_t)seep_rule_cfa_offset(frame->rule);
    uint64_t bp_base = cfa;
    if (SEEP_UNLIKELY(kind > SEEP_RULE_BP)) {
        if (kind != SEEP_RULE_BP_DEREF)
            return leave_special_frame(walk, frame);
        if (!read_slot(walk, frame, 2, cfa))
            return cut(walk, SEEP_CUT_BAD_READ);
        cfa = frame->values[2];
        bp_base = frame->bp;
    }
    if (SEEP_UNLIKELY(cfa - SEEP_ARCH_SP_BELOW_CFA <= frame->sp))
        return cut(walk, SEEP_CUT_LOOP);
    if (SEEP_UNLIKELY(!read_slot(walk, frame, 0, cfa + (uint64_t)seep_rule_ra_offset(frame->rule))))
        return cut(walk, SEEP_CUT_BAD_READ);
    if (seep_rule_bp_saved(frame->rule)) {
        if (SEEP_UNLIKELY(!read_slot(walk, frame, 1, bp_base + (uint64_t)seep_rule_bp_offset(frame->rule))))
            return cut(walk, SEEP_CUT_BAD_READ);
        walk->bp = frame->values[1];
    }
    walk->pc = seep_arch_strip(frame->values[0]);
    walk->sp = cfa - SEEP_ARCH_SP_BELOW_CFA;
    // Some code ends its stack with a return address of zero instead of an undefined one.
    return SEEP_UNLIKELY(walk->pc == 0) ? OUTERMOST : LEFT;
}

// How many frames of the memo, from the outermost, are the rest of the stack; -1: none, walk on.
// `*candidate` is the next memo frame that may be reached, one past it; it only moves outward.
SEEP_INLINE int64_t meets_memo(struct walk *walk, uint32_t *candidate) {
    struct seep_thread *thread = walk->thread;
    if (!SEEP_ARCH_RECORD_GIVES_SP && walk->sp_unsure)
        return -1;
    while (*candidate > 0 && thread->frames[*candidate - 1].sp < walk->sp)
        --*candidate;
    if (*candidate == 0)
        return -1;
    const struct seep_memo_frame *frame = &thread->frames[*candidate - 1];
    if (!memo_state_is(frame, walk->pc, walk->sp, walk->bp))
        return -1;
    const struct seep_memo_slot *changed = slots_changed(frame->slots_end, thread->slots);
    if (!changed)
        return *candidate;
    // The frame that read the changed slot, and all inside it, cannot be met again.
    while (*candidate > 0 &&
           (*candidate >= 2 ? thread->frames[*candidate - 2].slots_end : thread->slots) >= changed)
        --*candidate;
    --*candidate;
    return -1;
}

// Whether the frame needs its sp, which is not known: then only its frame record leads on. Any other
// rule finds sp again.
SEEP_INLINE bool lacks_sp(struct walk *walk, struct seep_rule rule) {
    if (SEEP_ARCH_RECORD_GIVES_SP || SEEP_LIKELY(!walk->sp_unsure))
        return false;
    walk->sp_unsure = false;
    return seep_rule_kind(rule) == SEEP_RULE_SP || seep_rule_kind(rule) == SEEP_RULE_SIGNAL;
}

uint32_t seep_walk_outward(struct walk *walk) {
    struct seep_thread *thread = walk->thread;
    uint32_t candidate = (uint32_t)(thread->memo_end - thread->frames);
    while (walk->nr < thread->capacity || seep_thread_deeper(thread)) {
        int64_t kept = meets_memo(walk, &candidate);
        if (kept >= 0)
            return (uint32_t)kept;
        struct seep_walk_frame *frame = &thread->walk[walk->nr++];
        frame->pc = walk->pc;
        frame->sp = walk->sp;
        frame->bp = walk->bp;
        if (SEEP_UNLIKELY(!rule_known(frame)) && !seep_rule_learn(frame)) {
            walk->nr--;
            walk->cut = (int)seep_walk_why_unknown(walk->pc);
            return 0;
        }
        enum leave left = lacks_sp(walk, frame->rule)
                              ? seep_walk_by_frame_pointer(walk, frame->pc, frame->sp, frame->bp)
                              : leave_frame(walk, frame);
        if (SEEP_LIKELY(left == LEFT))
            continue;
        switch (left) {
        case LEFT_UNPROVEN:
            walk->unproven = true;
            break;
        case NEEDS_ALL_REGISTERS:
            seep_walk_with_all_registers(walk);
            return 0;
        default:
            return 0;
        }
    }
    walk->cut = SEEP_CUT_DEPTH;
    return 0;
}
