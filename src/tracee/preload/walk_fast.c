// SPDX-License-Identifier: BSD-2-Clause
//
// The walk as it nearly always is: rules that are known, frames found from sp or bp, words in memory
// that is known to be readable, a memo whose outer part still holds. One tight loop outward, one
// inward. It gives up, having changed nothing that is kept, at whatever is not so; then walk.c walks.
//
// Cost, outward: a frame is one probe of the rules table and one or two loads of the stack. Inward: a
// look-up in the tree, at a place that depends on no other look-up, and a memo frame written.
#include "preload/stack_tree.h"
#include "preload/walk.h"
#include "unwind/arch.h"

#ifdef SEEP_ARCH_FAST_WALK

// A frame on the way out. Lies where struct seep_walk_frame does, and is smaller.
struct fast_frame {
    uint64_t pc;
    uint64_t sp;
    uint64_t bp;
    const struct seep_rule_entry *entry;
};
_Static_assert(sizeof(struct fast_frame) <= sizeof(struct seep_walk_frame), "as many fit");

SEEP_INLINE const struct seep_rule_entry *find_rule(const struct seep_rule_table *table, uint64_t pc) {
    for (uint64_t i = rule_hash(pc) >> table->shift;; i = (i + 1) & table->mask) {
        const struct seep_rule_entry *entry = &table->entries[i];
        uint64_t key = atomic_load_explicit(&entry->key, memory_order_acquire); // as in rule_known
        if (SEEP_LIKELY(key == pc))
            return entry;
        if (!key)
            return NULL;
    }
}

// The first memo frame, counted from the outermost, that read a changed slot: what lies outside of it
// may still be met.
static SEEP_NOINLINE const struct seep_memo_frame *outside_of(const struct seep_memo_frame *outermost,
                                                              const struct seep_memo_frame *end,
                                                              const struct seep_memo_slot *changed) {
    for (end--; end != outermost && end[-1].slots_end >= changed;)
        end--;
    return end;
}

// Fills thread->walk. Returns one past the innermost memo frame that the walk ended at (frames: it
// ended at the start of the thread), or NULL: not this way. *ret_end: the state it ended in; its pc is 0
// where it is that of no frame.
SEEP_INLINE const struct seep_memo_frame *walk_outward(struct seep_thread *thread, struct seep_caller at,
                                                       uint32_t *ret_nr, struct seep_caller *ret_end) {
    struct fast_frame *out = (struct fast_frame *)thread->walk;
    const struct seep_memo_frame *const outermost = thread->frames;
    const struct seep_memo_frame *candidate = thread->memo_end;
    const struct seep_rule_table *table = atomic_load_explicit(&seep_g.rules, memory_order_acquire);
    const uint64_t lo = thread->stack_lo, size = thread->stack_hi - thread->stack_lo;
    uint32_t room = thread->capacity;
    if (!table)
        return NULL;
    for (uint32_t nr = 0; nr < room; nr++) {
        while (candidate[-1].sp < at.sp) // one past the outermost lies a frame with the highest sp of all
            candidate--;
        if (memo_state_is(&candidate[-1], at.pc, at.sp, at.bp)) {
            const struct seep_memo_slot *changed = slots_changed(candidate[-1].slots_end, thread->slots);
            if (SEEP_LIKELY(!changed)) {
                *ret_nr = nr;
                *ret_end = at;
                return candidate;
            }
            candidate = outside_of(outermost, candidate, changed);
        }
        const struct seep_rule_entry *entry = find_rule(table, at.pc);
        if (SEEP_UNLIKELY(!entry))
            return NULL;
        out[nr] = (struct fast_frame){.pc = at.pc, .sp = at.sp, .bp = at.bp, .entry = entry};
        struct seep_rule rule = {entry->rule};
        enum seep_rule_kind kind = seep_rule_kind(rule);
        if (SEEP_UNLIKELY(kind > SEEP_RULE_BP)) {
            if (kind != SEEP_RULE_END)
                return NULL;
            *ret_nr = nr + 1;
            *ret_end = (struct seep_caller){.pc = 0};
            return outermost;
        }
        uint64_t cfa = (kind == SEEP_RULE_SP ? at.sp : at.bp) + (uint64_t)seep_rule_cfa_offset(rule);
        uint64_t slot = cfa - SEEP_ARCH_WORD;
        if (SEEP_UNLIKELY(cfa <= at.sp || slot - lo >= size || slot % SEEP_ARCH_WORD))
            return NULL;
        if (seep_rule_bp_saved(rule)) {
            uint64_t bp_slot = cfa + (uint64_t)seep_rule_bp_offset(rule);
            if (SEEP_UNLIKELY(bp_slot - lo >= size || bp_slot % SEEP_ARCH_WORD))
                return NULL;
            at.bp = *(const seep_stack_word *)bp_slot;
        }
        at.pc = *(const seep_stack_word *)slot;
        at.sp = cfa;
        if (SEEP_UNLIKELY(at.pc == 0))
            return NULL;
    }
    return NULL;
}

// The nodes of the memo frames [to, end), outermost first; their paths are known. The last one's, or 0: no
// room in the tree.
SEEP_INLINE uint32_t find_nodes(const struct fast_frame *walked, uint32_t node, struct seep_memo_frame *to,
                                const struct seep_memo_frame *end) {
    // acquire: the nodes that are listed
    const struct seep_node_table *index = atomic_load_explicit(&seep_g.node_index, memory_order_acquire);
    for (; to != end; to++) {
        uint32_t parent = node;
        uint64_t frame = (--walked)->entry->frame;
        node = SEEP_LIKELY(index) ? find_node_in_line(index, parent, frame, to->path) : 0;
        if (SEEP_UNLIKELY(!node)) {
            node = seep_tree_child(parent, frame, to->path);
            index = atomic_load_explicit(&seep_g.node_index, memory_order_acquire);
            if (!node)
                return 0;
        }
        to->node = node;
    }
    return node;
}

uint32_t seep_walk_fast(struct seep_thread *thread, uint64_t pc, uint64_t sp, uint64_t bp) {
    struct seep_caller caller = {.pc = pc, .sp = sp, .bp = bp};
    uint32_t nr;
    struct seep_caller end;
    const struct seep_memo_frame *candidate = walk_outward(thread, caller, &nr, &end);
    if (SEEP_UNLIKELY(!candidate || (uint64_t)(candidate - thread->frames) + nr > thread->capacity))
        return 0;
    struct seep_memo_frame *const from = (struct seep_memo_frame *)candidate, *to = from;
    const struct seep_memo_frame *kept = from != thread->frames ? from - 1 : NULL;
    struct seep_memo_slot *slot = kept ? kept->slots_end : thread->slots;
    uint32_t need_bp = kept ? kept->need_bp : 0;
    uint32_t path = kept ? kept->path : 0;
    const uint32_t stamp = thread->stamp;
    const struct seep_node_table *index = atomic_load_explicit(&seep_g.node_index, memory_order_acquire);
    const struct fast_frame *const first = (const struct fast_frame *)thread->walk;
    for (const struct fast_frame *walked = first + nr; walked != first;) {
        const struct seep_rule_entry *entry = (--walked)->entry;
        struct seep_rule rule = {entry->rule};
        uint32_t saved = seep_rule_bp_saved(rule);
        if (SEEP_LIKELY(end.pc != 0)) {
            *slot++ = (struct seep_memo_slot){(const seep_stack_word *)(end.sp - SEEP_ARCH_WORD), end.pc};
            if (need_bp & saved)
                *slot++ = (struct seep_memo_slot){
                    (const seep_stack_word *)(end.sp + (uint64_t)seep_rule_bp_offset(rule)), end.bp};
        }
        need_bp = (seep_rule_kind(rule) == SEEP_RULE_BP) | (need_bp & ~saved);
        path = seep_path_hash(path, seep_frame_hash(entry->frame));
        if (SEEP_LIKELY(index)) // find_nodes will ask there
            __builtin_prefetch((const void *)&index->entries[path & index->mask]);
        end = (struct seep_caller){.pc = walked->pc, .sp = walked->sp, .bp = walked->bp};
        *to++ = (struct seep_memo_frame){
            .pc = end.pc,
            .sp = end.sp,
            .bp = end.bp,
            .slots_end = slot,
            .path = path,
            .need_bp = need_bp,
            .stamp = stamp,
        };
    }
    thread->walk_kept = kept;
    uint32_t node = find_nodes(first + nr, kept ? kept->node : 0, from, to);
    thread->memo_end = SEEP_LIKELY(node) ? to : thread->frames; // half of it may be written over
    return node;
}

#endif
