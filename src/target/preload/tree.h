// SPDX-License-Identifier: BSD-2-Clause
//
// The stack tree and the sites on it, and the table of rules: look-ups without locks, growth under
// tree_lock and rules_lock.
#ifndef SEEP_PRELOAD_TREE_H
#define SEEP_PRELOAD_TREE_H

#include "preload/preload.h"

// The child of `parent` for `frame`, made if need be. 0: no room.
uint32_t seep_tree_child(uint32_t parent, uint64_t frame);
uint32_t seep_tree_child_new(uint32_t parent, uint64_t frame); // the half of it for what is not there

// The site of `node` and `via`, made if need be. SEEP_SITE_UNKNOWN: no room (counted).
uint32_t seep_tree_site(uint32_t node, enum seep_via via);

// Fills rule, frame and entry of walk->pc. false: the rules lock is not to be had.
bool seep_rule_learn(struct seep_walk_frame *walk);

// Whether `pc`, whose own byte before has no CFI, is where a function begins: the start of a stack.
bool seep_starts_function(const struct seep_cfi_object *object, uint64_t pc);

#ifdef SEEP_ARCH_SIGNAL_CODE_BYTES
// Whether the code at `pc` is what a signal handler returns to, by its bytes.
SEEP_INLINE bool seep_is_signal_return(uint64_t pc) {
    _Static_assert(SEEP_ARCH_SIGNAL_CODE_BYTES == 8, "what sys_readable looks at");
    return pc % 4 == 0 && sys_readable(pc) && seep_arch_is_signal_code((const uint32_t *)pc);
}
#else
SEEP_INLINE bool seep_is_signal_return(uint64_t pc) {
    (void)pc; // its call-frame information says so
    return false;
}
#endif

SEEP_INLINE uint64_t rule_hash(uint64_t key) {
    return key * UINT64_C(0x9e3779b97f4a7c15);
}

// Of a node: the sum of its frame's and its parent's, of which the highest bits count. So the half that
// is known early is reckoned early, and the parent's waits for one multiplication only.
SEEP_INLINE uint64_t seep_frame_hash(uint64_t frame) {
    return frame * UINT64_C(0x9e3779b97f4a7c15);
}
SEEP_INLINE uint64_t node_hash(uint32_t parent, uint64_t frame_hash) {
    return frame_hash + parent * UINT64_C(0xbf58476d1ce4e5b9);
}

// The node that is there already, or 0.
SEEP_INLINE uint32_t find_node(const struct seep_node_table *table, uint32_t parent, uint64_t frame,
                               uint64_t frame_hash) {
    for (uint64_t i = node_hash(parent, frame_hash) >> table->shift;; i = (i + 1) & table->mask) {
        // acquire: the node was written before it was listed
        uint32_t node = atomic_load_explicit(&table->entries[i], memory_order_acquire);
        if (SEEP_UNLIKELY(!node))
            return 0;
        const struct seep_image_node *at = &seep_g.nodes[node];
        if (SEEP_LIKELY(at->frame == frame && at->parent == parent))
            return node;
    }
}

// Same as seep_rule_learn for what is known already; false: ask that.
SEEP_INLINE bool rule_known(struct seep_walk_frame *walk) {
    // acquire: a grown table's contents; pairs with the release that published it
    struct seep_rule_table *table = atomic_load_explicit(&seep_g.rules, memory_order_acquire);
    if (SEEP_UNLIKELY(!table))
        return false;
    for (uint64_t i = rule_hash(walk->pc) >> table->shift;; i = (i + 1) & table->mask) {
        struct seep_rule_entry *entry = &table->entries[i];
        // acquire: rule and frame were written before the key
        uint64_t key = atomic_load_explicit(&entry->key, memory_order_acquire);
        if (SEEP_LIKELY(key == walk->pc)) {
            walk->rule = (struct seep_rule){entry->rule};
            walk->frame = entry->frame;
            walk->entry = entry;
            return true;
        }
        if (!key)
            return false;
    }
}

#endif
