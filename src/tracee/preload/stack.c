// SPDX-License-Identifier: BSD-2-Clause
//
// The slow half of stack.h: walks the stack, then grows memo and tree inward again.
//
// A stack whose unwinding did not rest on rules alone (frame pointers without CFI, rows that need all
// registers, a cut) is used once and not kept: only what rules read may be trusted later. But a stack that is
// deeper than the memo is kept, with the inner half of its frames, and thousands of deeper stacks grow from
// it. No walk may end at the outer half of the kept frames, so the sp of these frames is 0. A cut stack
// therefore has at least a quarter of the depth limit. A stack from further out is walked anew.
#include "preload/stack_tree.h"
#include "preload/walk.h"

#ifdef SEEP_ORACLE
// Test builds: compares every stack with a plain unwinder (tests/oracle).
void seep_oracle_check(const uint64_t *pcs, unsigned nr, int cut);
#endif

// Whether leaving the frame depends on bp: by itself, or by passing it on.
static bool needs_bp(struct seep_rule rule, bool outside_needs) {
    switch (seep_rule_kind(rule)) {
    case SEEP_RULE_BP:
    case SEEP_RULE_BP_DEREF:
        return true;
    case SEEP_RULE_SIGNAL:
        return false;
    default:
        return outside_needs && !seep_rule_bp_saved(rule);
    }
}

// Adds the slots that leaving `walked` read and that the rest of the stack depends on.
static uint32_t keep_slots(struct seep_memo_slot *slots, uint32_t nr, const struct seep_walk_frame *walked,
                           bool outside_needs) {
    enum seep_rule_kind kind = seep_rule_kind(walked->rule);
    if (SEEP_UNLIKELY(kind > SEEP_RULE_BP_DEREF && kind != SEEP_RULE_SIGNAL))
        return nr;
    slots[nr++] = (struct seep_memo_slot){walked->slots[0], walked->values[0]};
    if (outside_needs && (seep_rule_bp_saved(walked->rule) || kind == SEEP_RULE_SIGNAL))
        slots[nr++] = (struct seep_memo_slot){walked->slots[1], walked->values[1]};
    // The check runs from the end: the word that says where the others are comes last.
    if (SEEP_UNLIKELY(kind > SEEP_RULE_BP))
        slots[nr++] = (struct seep_memo_slot){walked->slots[2], walked->values[2]};
    return nr;
}

// Grows the memo by the walked frames, inward. `kept` frames of it remain.
static SEEP_NOINLINE uint32_t grow_memo(struct walk *walk, uint32_t kept) {
    struct seep_thread *thread = walk->thread;
    uint32_t depth = kept;
    uint32_t nr_slots = kept ? (uint32_t)(thread->frames[kept - 1].slots_end - thread->slots) : 0;
    bool need_bp = kept && thread->frames[kept - 1].need_bp;
    bool whole = walk->limit >= SEEP_MAX_DEPTH;
    uint32_t node = kept ? thread->frames[kept - 1].node : 0;
    uint32_t path = kept ? thread->frames[kept - 1].path : 0;
    bool rooted = kept > 0;
    if (!kept && walk->cut != CUT_NONE) {
        path = seep_path_hash(0, seep_frame_hash(SEEP_FRAME_CUT(walk->cut)));
        node = seep_tree_child(0, SEEP_FRAME_CUT(walk->cut), path);
        rooted = node != 0;
    } else {
        rooted = true;
    }
    for (uint32_t i = walk->nr; i > 0; i--) {
        const struct seep_walk_frame *walked = &thread->walk[i - 1];
        bool outside_needs = need_bp;
        need_bp = needs_bp(walked->rule, outside_needs);
        if (!walk->unproven)
            nr_slots = keep_slots(thread->slots, nr_slots, walked, outside_needs);
        if (whole && rooted) {
            path = seep_path_hash(path, seep_frame_hash(walked->frame));
            node = seep_tree_child(node, walked->frame, path);
            rooted = node != 0;
        }
        thread->frames[depth++] = (struct seep_memo_frame){
            .pc = walked->pc,
            .sp = walked->sp,
            .bp = walked->bp,
            .node = rooted ? node : 0,
            .slots_end = thread->slots + nr_slots,
            .need_bp = need_bp,
            .stamp = thread->stamp,
            .path = path,
        };
    }
    return depth;
}

// With a limit, a stack's node is that of its innermost frames alone, under the mark of the cut.
static SEEP_NOINLINE uint32_t limited_node(struct seep_thread *thread, uint32_t depth, uint32_t limit) {
    uint32_t first = depth > limit ? depth - limit : 0;
    uint32_t path = first ? seep_path_hash(0, seep_frame_hash(SEEP_FRAME_CUT(SEEP_CUT_DEPTH))) : 0;
    uint32_t node = first ? seep_tree_child(0, SEEP_FRAME_CUT(SEEP_CUT_DEPTH), path) : 0;
    if (first && !node)
        return 0;
    for (uint32_t i = first; i < depth; i++) {
        struct seep_walk_frame probe = {.pc = thread->frames[i].pc};
        if (!rule_known(&probe) && !seep_rule_learn(&probe))
            return 0;
        path = seep_path_hash(path, seep_frame_hash(probe.frame));
        node = seep_tree_child(node, probe.frame, path);
        if (!node)
            return 0;
    }
    return node;
}

#ifdef SEEP_ORACLE
static void check_with_oracle(const struct seep_thread *thread, uint32_t depth, int cut_reason) {
    uint64_t *pcs = (uint64_t *)thread->walk; // the walk is over, and the stack may be a small one
    for (uint32_t i = 0; i < depth; i++)
        pcs[i] = thread->frames[depth - 1 - i].pc & ~SEEP_PC_EXACT;
    seep_oracle_check(pcs, depth, cut_reason);
}

static int cut_of_memo(const struct seep_thread *thread) {
    return thread->frames[0].sp ? CUT_NONE : SEEP_CUT_DEPTH;
}

void seep_stack_show_memo(const struct seep_thread *thread) {
    check_with_oracle(thread, (uint32_t)(thread->memo_end - thread->frames), cut_of_memo(thread));
}

void seep_stack_show_recent(const struct seep_thread *thread, const struct seep_recent *recent) {
    uint64_t *pcs = (uint64_t *)thread->walk;
    uint32_t nr = recent->nr_own ? recent->nr_pcs : 0;
    __builtin_memcpy(pcs, recent->pcs, nr * sizeof(*pcs));
    for (const struct seep_memo_frame *frame = recent->kept; frame >= thread->frames; frame--)
        pcs[nr++] = frame->pc & ~SEEP_PC_EXACT;
    seep_oracle_check(pcs, nr, cut_of_memo(thread));
}
#endif

// The stamps begin again: nothing may be left that has one.
static SEEP_COLD void forget_all(struct seep_thread *thread) {
    thread->memo_end = thread->frames;
    __builtin_memset(thread->recents, 0, sizeof(struct seep_recent) << SEEP_RECENTS_SHIFT);
}

// What walk_fast.c does not walk. By itself, so that its frame is not below that of every walk.
static SEEP_NOINLINE uint32_t walk_slowly(struct seep_thread *thread, enum seep_via via, uint64_t pc,
                                          uint64_t sp, uint64_t bp) {
    const uint32_t limit = thread->limit;
    thread->walk_kept = NULL;
    struct walk walk = {.thread = thread, .limit = limit, .cut = CUT_NONE, .pc = pc, .sp = sp, .bp = bp};
    uint32_t kept = seep_walk_outward(&walk);
    while (kept + walk.nr > thread->capacity && seep_thread_deeper(thread)) {
    }
    if (kept + walk.nr > thread->capacity) {
        // too deep for the memo: keep the innermost, as a full walk would
        thread->memo_end = thread->frames;
        walk = (struct walk){.thread = thread, .limit = limit, .cut = CUT_NONE, .pc = pc, .sp = sp, .bp = bp};
        kept = seep_walk_outward(&walk);
    }
    const bool deep = walk.cut == SEEP_CUT_DEPTH && !walk.unproven && limit % SEEP_MAX_DEPTH <= walk.nr / 4;
    if (deep)
        walk.nr /= 2;
    uint32_t depth = grow_memo(&walk, kept);
    for (uint32_t i = 0; deep && i < depth / 2; i++)
        thread->frames[i].sp = 0;
    uint32_t node = limit < SEEP_MAX_DEPTH ? limited_node(thread, depth, limit)
                    : depth                ? thread->frames[depth - 1].node
                                           : 0;
    thread->memo_end = thread->frames + (deep || (walk.cut == CUT_NONE && !walk.unproven) ? depth : 0);
    thread->top_via = via;
    thread->top_site = seep_tree_site(node, via);
#ifdef SEEP_ORACLE
    check_with_oracle(thread, depth, walk.cut != CUT_NONE || !depth ? walk.cut : cut_of_memo(thread));
#endif
    return thread->top_site;
}

uint32_t seep_stack_walk(struct seep_thread *thread, enum seep_via via, uint64_t pc, uint64_t sp,
                         uint64_t bp) {
    recent_none(thread);
    if (SEEP_UNLIKELY(++thread->stamp == 0))
        forget_all(thread);
    if (SEEP_UNLIKELY(thread->stamp == SEEP_RECENTS_FROM))
        thread->recents_mask = (1u << SEEP_RECENTS_SHIFT) - SEEP_RECENT_WAYS;
    uint32_t epoch = atomic_load_explicit(&seep_g.mode.modules_epoch, memory_order_acquire);
    if (thread->mode.modules_epoch != epoch) {
        thread->mode.modules_epoch = epoch;
        thread->memo_end = thread->frames;
    }
    uint32_t unmaps = atomic_load_explicit(&seep_g.unmap_epoch, memory_order_acquire);
    if (thread->unmap_epoch != unmaps) {
        thread->unmap_epoch = unmaps;
        seep_walk_forget_readable(thread);
    }
    // One limit for all of a walk, and for all of a memo: it may be changed at any time (control.c).
    const uint32_t limit = atomic_load_explicit(&seep_g.depth, memory_order_relaxed);
    if (SEEP_UNLIKELY(thread->limit != limit)) {
        thread->limit = limit;
        thread->memo_end = thread->frames;
    }
#ifdef SEEP_ARCH_FAST_WALK
    uint32_t fast = limit < SEEP_MAX_DEPTH ? 0 : seep_walk_fast(thread, pc, sp, bp);
    if (SEEP_LIKELY(fast)) {
        thread->top_via = via;
        thread->top_site = seep_tree_site(fast, via);
        seep_stack_show_memo(thread);
        return thread->top_site;
    }
#endif
    return walk_slowly(thread, via, pc, sp, bp);
}
