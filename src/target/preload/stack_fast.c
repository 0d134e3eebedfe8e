// SPDX-License-Identifier: BSD-2-Clause
//
// The walk as it nearly always is: rules that are known, frames found from sp or bp, words in memory
// that is known to be readable, a memo whose outer part still holds. One tight loop outward, one
// inward. It gives up, having changed nothing that is kept, at whatever is not so; then stack.c walks.
//
// Cost, outward: a frame is one probe of the rules table and one or two loads of the stack. Inward:
// one compare with the child that the rule's entry remembers, and a memo frame written.
#include "preload/stack.h"
#include "preload/tree.h"
#include "unwind/arch.h"

#ifdef SEEP_ARCH_FAST_WALK

// A frame on the way out. Lies where struct seep_walk_frame does, and is smaller.
struct fast_frame {
    uint64_t pc;
    uint64_t sp;
    uint64_t bp;
    struct seep_rule_entry *entry;
    const uint64_t *return_slot; // NULL: the outermost frame
    const uint64_t *bp_slot;     // NULL: bp is not saved in this frame
};
_Static_assert(sizeof(struct fast_frame) <= sizeof(struct seep_walk_frame), "as many fit");

SEEP_INLINE struct seep_rule_entry *find_rule(const struct seep_rule_table *table, uint64_t pc) {
    for (uint64_t i = rule_hash(pc) >> table->shift;; i = (i + 1) & table->mask) {
        struct seep_rule_entry *entry = (struct seep_rule_entry *)&table->entries[i];
        uint64_t key = atomic_load_explicit(&entry->key, memory_order_acquire); // as in rule_known
        if (SEEP_LIKELY(key == pc))
            return entry;
        if (!key)
            return NULL;
    }
}

// The first memo frame, counted from the outermost, that read a changed slot: what lies outside of it
// may still be met.
static SEEP_COLD const struct seep_memo_frame *outside_of(const struct seep_thread *thread,
                                                          const struct seep_memo_frame *end,
                                                          uint32_t changed) {
    while (end - thread->frames >= 2 && end[-2].slot_end >= changed)
        end--;
    return end - 1;
}

SEEP_INLINE bool is_known(const struct seep_thread *thread, uint64_t address) {
    return !(address & (SEEP_ARCH_WORD - 1)) &&
           address - thread->stack_lo < thread->stack_hi - thread->stack_lo;
}

// Fills thread->walk. Returns one past the innermost memo frame that the walk ended at (frames: it
// ended at the start of the thread), or NULL: not this way. *ret_pc, *ret_bp: the state it ended in.
SEEP_INLINE const struct seep_memo_frame *walk_outward(struct seep_thread *thread, struct seep_caller at,
                                                       uint32_t *ret_nr, struct seep_caller *ret_end) {
    struct fast_frame *out = (struct fast_frame *)thread->walk;
    const struct seep_memo_frame *const outermost = thread->frames;
    const struct seep_memo_frame *candidate = outermost + thread->memo_depth;
    const struct seep_rule_table *table = atomic_load_explicit(&seep_g.rules, memory_order_acquire);
    uint32_t room = thread->capacity;
    if (!table)
        return NULL;
    for (uint32_t nr = 0; nr < room; nr++) {
        while (candidate != outermost && candidate[-1].sp < at.sp)
            candidate--;
        if (candidate != outermost && memo_state_is(&candidate[-1], at.pc, at.sp, at.bp)) {
            uint32_t changed = slots_changed(thread->slots, candidate[-1].slot_end);
            if (!changed) {
                *ret_nr = nr;
                *ret_end = at;
                return candidate;
            }
            candidate = outside_of(thread, candidate, changed);
        }
        struct seep_rule_entry *entry = find_rule(table, at.pc);
        if (SEEP_UNLIKELY(!entry))
            return NULL;
        struct seep_rule rule = {entry->rule};
        enum seep_rule_kind kind = seep_rule_kind(rule);
        out[nr] = (struct fast_frame){.pc = at.pc, .sp = at.sp, .bp = at.bp, .entry = entry};
        if (SEEP_UNLIKELY(kind > SEEP_RULE_BP)) {
            if (kind != SEEP_RULE_END)
                return NULL;
            *ret_nr = nr + 1;
            *ret_end = at;
            return outermost;
        }
        uint64_t cfa = (kind == SEEP_RULE_SP ? at.sp : at.bp) + (uint64_t)seep_rule_cfa_offset(rule);
        if (SEEP_UNLIKELY(cfa <= at.sp || !is_known(thread, cfa - SEEP_ARCH_WORD)))
            return NULL;
        if (seep_rule_bp_saved(rule)) {
            uint64_t slot = cfa + (uint64_t)seep_rule_bp_offset(rule);
            if (SEEP_UNLIKELY(!is_known(thread, slot)))
                return NULL;
            out[nr].bp_slot = (const uint64_t *)slot;
            at.bp = *(const uint64_t *)slot;
        }
        out[nr].return_slot = (const uint64_t *)(cfa - SEEP_ARCH_WORD);
        at.pc = *out[nr].return_slot;
        at.sp = cfa;
        if (SEEP_UNLIKELY(at.pc == 0))
            return NULL;
    }
    return NULL;
}

SEEP_INLINE uint32_t child_of(struct seep_thread *thread, uint32_t parent, struct seep_rule_entry *entry) {
    uint64_t cached = atomic_load_explicit(&entry->child, memory_order_relaxed);
    if (SEEP_LIKELY(cached >> 32 == parent && (uint32_t)cached))
        return (uint32_t)cached;
    return seep_tree_child(thread, parent, entry->frame, entry);
}

uint32_t seep_stack_walk_fast(struct seep_thread *thread, struct seep_caller caller) {
    uint32_t nr;
    struct seep_caller end;
    const struct seep_memo_frame *candidate = walk_outward(thread, caller, &nr, &end);
    if (SEEP_UNLIKELY(!candidate || (uint64_t)(candidate - thread->frames) + nr > thread->capacity))
        return 0;
    struct seep_memo_frame *to = (struct seep_memo_frame *)candidate;
    bool kept = to != thread->frames;
    struct seep_memo_slot *slot = thread->slots + (kept ? to[-1].slot_end : 0);
    bool need_bp = kept && to[-1].need_bp;
    uint32_t node = kept ? to[-1].node : 0;
    const struct fast_frame *walked = (const struct fast_frame *)thread->walk + nr;
    while (nr-- > 0) {
        walked--;
        struct seep_rule rule = {walked->entry->rule};
        if (SEEP_LIKELY(walked->return_slot != NULL))
            *slot++ = (struct seep_memo_slot){walked->return_slot, end.pc};
        if (need_bp && walked->bp_slot)
            *slot++ = (struct seep_memo_slot){walked->bp_slot, end.bp};
        need_bp = seep_rule_kind(rule) == SEEP_RULE_BP || (need_bp && !walked->bp_slot);
        node = child_of(thread, node, walked->entry);
        if (SEEP_UNLIKELY(!node)) {
            thread->memo_depth = 0; // half of it is written over
            return 0;
        }
        end = (struct seep_caller){.pc = walked->pc, .sp = walked->sp, .bp = walked->bp};
        *to++ = (struct seep_memo_frame){
            .pc = walked->pc,
            .sp = walked->sp,
            .bp = walked->bp,
            .node = node,
            .slot_end = (uint32_t)(slot - thread->slots),
            .need_bp = need_bp,
        };
    }
    thread->memo_depth = (uint32_t)(to - thread->frames);
    return node;
}

#endif
