// SPDX-License-Identifier: BSD-2-Clause
//
// The hooks where blocks are sampled (seep_g.apart): apart from the others, and without a frame of their own,
// so that an operation that no point falls into is hardly more than the real one. Whatever else there is to
// do is done by who is jumped to at the end: in its frame the hook's caller is where SEEP_HOOK_CALLER looks
// for it.
//
// Cost, with the jump from the hook: malloc 17 instructions, free 17. Whether an allocation is one that was
// passed by is told after the real call: one that fails is none.
#include "preload/hooks.h"

SEEP_INLINE void *done(void *block, uint64_t size, enum seep_via via) {
    if (SEEP_LIKELY(block && sample_skips_else_undo(seep_self(), size)))
        return block;
    return seep_allocated_here(block, size, via);
}

void *seep_malloc_apart(size_t size) {
    void *block = seep_g.real.malloc(size);
    return done(block, size, SEEP_VIA_MALLOC);
}

void *seep_calloc_apart(size_t count, size_t size) {
    uint64_t bytes = (uint64_t)count * size;
    void *block = seep_g.real.calloc(count, size);
    return done(block, bytes, SEEP_VIA_CALLOC);
}

void *seep_new_apart(size_t size, enum seep_via via) {
    void *block = SEEP_LIKELY(seep_g.new_is_malloc) ? seep_g.real.malloc(size ? size : 1) : NULL;
    if (SEEP_UNLIKELY(!block))
        return seep_new_here(size, via);
    return done(block, size, via);
}

void seep_free_apart(void *block) {
    if (SEEP_LIKELY(sample_skips_free(seep_self(), block)))
        seep_g.real.free(block);
    else
        seep_free_here(block);
}

void seep_delete_apart(void *block, size_t alignment, uint32_t form) {
    if (SEEP_UNLIKELY(seep_g.operators_replaced))
        seep_delete_here(block, alignment, form, false);
    else if (!sample_skips_free(seep_self(), block))
        seep_delete_here(block, alignment, form, false);
    else if (SEEP_LIKELY(seep_g.delete_is_free))
        seep_g.real.free(block);
    else
        seep_delete_here(block, alignment, form, true);
}

// Of a block that is certainly not recorded, while nothing but sampling makes it special.
void *seep_realloc_apart(void *block, size_t size) {
    struct seep_thread *thread = seep_self();
    if (SEEP_UNLIKELY(!thread->filter || sample_may_have(thread->filter, block) ||
                      atomic_load_explicit(&seep_g.mode.special, memory_order_relaxed) !=
                          SEEP_SPECIAL_SAMPLING))
        return seep_realloc_here(block, size, SEEP_VIA_REALLOC);
    struct seep_image_thread *slot = thread->slot;
    slot->moving_bytes = 0; // not known
    slot->moving_rt = (uintptr_t)block;
    void *fresh = seep_g.real.realloc(block, size);
    if (SEEP_LIKELY(fresh != NULL) || size == 0)
        slot->skipped_frees++;
    slot->moving_rt = 0;
    return SEEP_UNLIKELY(!fresh && size == 0) ? NULL : done(fresh, size, SEEP_VIA_REALLOC);
}
