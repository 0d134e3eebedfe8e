// SPDX-License-Identifier: BSD-2-Clause
//
// The stack tree and the sites on it, and the table of rules: look-ups without locks, growth under
// tree_lock and rules_lock.
#ifndef SEEP_PRELOAD_STACK_TREE_H
#define SEEP_PRELOAD_STACK_TREE_H

#include "preload/preload.h"

// ThreadSanitizer would take the load of a line, of which each entry is one, for a race.
#if defined(__SSE2__) && !SEEP_WITH_TSAN
#define SEEP_BY_LINES 1
#include <emmintrin.h>
#else
#define SEEP_BY_LINES 0
#endif

// The child of `parent` for `frame`, made if need be. 0: no room. `path`: its seep_path_hash.
// Takes tree_lock for a child that is not there yet, as the next does for a site.
uint32_t seep_tree_child(uint32_t parent, uint64_t frame, uint32_t path);

// The site of `node` and `via`, made if need be. SEEP_SITE_UNKNOWN: no room (counted).
uint32_t seep_tree_site(uint32_t node, enum seep_via via);

// Fills rule and frame of walk->pc, from the module's call-frame information, and keeps them in the table;
// those of JIT code, which comes and goes, it does not keep. false: `pc` is the trampoline of a return probe,
// or rules_lock is not to be had.
bool seep_rule_learn(struct seep_walk_frame *walk);

// What there is at `pc`, which a frame record says is a return address.
enum seep_code_kind {
    SEEP_CODE_OF_MODULE, // to which a call may return
    SEEP_CODE_OF_SIGNAL, // to which only a signal handler returns
    SEEP_CODE_AT_START,  // to which the first function on a fresh stack returns
    SEEP_CODE_MADE,      // at run time, as JIT code is; or nothing is known of it
    SEEP_CODE_IS_DATA,   // no code at all
};
enum seep_code_kind seep_code_kind(uint64_t pc);

// Where rows are made. rules_lock held.
extern struct seep_rule_work seep_rule_work __attribute__((visibility("hidden")));

// Whether `pc` is the start of a stack: the first instruction of a function, or code that ends the process.
// The byte before `pc` has no CFI. rules_lock held.
bool seep_starts_function(const struct seep_cfi_object *object, uint64_t pc);

#ifdef SEEP_ARCH_SIGNAL_CODE_BYTES
// Where the code at `pc` is what a signal handler returns to, by its bytes, the way from sp to the block of
// registers; else -1.
SEEP_INLINE int seep_signal_block(uint64_t pc) {
    _Static_assert(SEEP_ARCH_SIGNAL_CODE_BYTES <= 8, "what sys_readable looks at");
    return pc % SEEP_ARCH_SIGNAL_CODE_ALIGN == 0 && sys_readable(pc)
               ? seep_arch_signal_block((const void *)pc)
               : -1;
}
#else
SEEP_INLINE int seep_signal_block(uint64_t pc) {
    (void)pc; // its call-frame information says so
    return -1;
}
#endif

// Multiplicative (Fibonacci) hashing; the upper bits are the good ones.
SEEP_INLINE uint64_t rule_hash(uint64_t key) {
    return key * UINT64_C(0x9e3779b97f4a7c15);
}

// Of a node: a hash of the frames from the root to it, not of its parent's number. So a walk knows all its
// hashes before any node is known, and the CPU fetches what they lead to at the same time. The root's is 0.
SEEP_INLINE uint32_t seep_frame_hash(uint64_t frame) {
    return (uint32_t)(frame * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}
SEEP_INLINE uint32_t seep_path_hash(uint32_t parent_path, uint32_t frame_hash) {
    uint32_t path = (parent_path + frame_hash) * UINT32_C(0xcc9e2d51);
    return path ^ path >> 15;
}

#define SEEP_PATH_LISTED UINT32_C(0x80000000) // so no entry is 0

// Whether the node is the child of `parent` for `frame`.
SEEP_INLINE bool node_is(uint32_t node, uint32_t parent, uint64_t frame) {
    const struct seep_image_node *at = &seep_g.nodes[node];
    return SEEP_LIKELY(at->frame == frame && at->parent == parent);
}

// The node that is there already, or 0. The lowest bits of the path's hash say where it is listed, and the
// others can be seen in the entry: so a wrong node is hardly ever looked at. Sixteen turns stay in a cache
// line.
SEEP_INLINE uint32_t find_node(const struct seep_node_table *table, uint32_t parent, uint64_t frame,
                               uint32_t path) {
    const uint32_t mask = table->mask;
    path |= SEEP_PATH_LISTED;
    for (uint32_t turn = path;; turn = path ^ ((turn ^ path) + 1)) {
        // acquire: the node was written before it was listed
        uint32_t entry = atomic_load_explicit(&table->entries[turn & mask], memory_order_acquire);
        if (SEEP_UNLIKELY(!entry))
            return 0;
        uint32_t node = entry ^ path;
        if (SEEP_LIKELY(node <= mask) && node_is(node, parent, frame))
            return node;
    }
}

// The node, where it is listed in the cache line that its path leads to, as nearly all are; else 0. All of
// the line at once: no branch depends on where in it, so the CPU goes on to the next look-up before it has
// the line.
SEEP_INLINE uint32_t find_node_in_line(const struct seep_node_table *table, uint32_t parent, uint64_t frame,
                                       uint32_t path) {
#if SEEP_BY_LINES
    const uint32_t mask = table->mask;
    path |= SEEP_PATH_LISTED;
    const _Atomic uint32_t *line = &table->entries[path & mask & ~UINT32_C(15)];
    const __m128i wanted = _mm_set1_epi32((int)path), above = _mm_set1_epi32((int)~mask);
    __m128i may_be[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        __m128i nodes = _mm_xor_si128(_mm_load_si128((const __m128i *)line + i), wanted);
        may_be[i] = _mm_cmpeq_epi32(_mm_and_si128(nodes, above), _mm_setzero_si128());
    }
    uint32_t found = (uint32_t)_mm_movemask_epi8(
        _mm_packs_epi16(_mm_packs_epi32(may_be[0], may_be[1]), _mm_packs_epi32(may_be[2], may_be[3])));
    for (; found; found &= found - 1) {
        // acquire: the node was written before it was listed. It may have gone since the line was loaded: the
        // memory of an old table is unmapped.
        uint32_t node = atomic_load_explicit(&line[__builtin_ctz(found)], memory_order_acquire) ^ path;
        if (SEEP_LIKELY(node <= mask) && node_is(node, parent, frame))
            return node;
    }
    return 0;
#else
    return find_node(table, parent, frame, path);
#endif
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
        if (!key)
            return false;
        if (SEEP_LIKELY(key == walk->pc)) {
            walk->rule = (struct seep_rule){entry->rule};
            walk->frame = entry->frame;
            return true;
        }
    }
}

#endif
