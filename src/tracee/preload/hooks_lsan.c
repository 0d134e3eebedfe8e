// SPDX-License-Identifier: BSD-2-Clause
//
// What programs tell LeakSanitizer, told to seep: programs that refer to these functions weakly, so that they
// run with and without it, find ours. Where the real ones are behind us (a program built with
// -fsanitize=leak) they are called too.
// Source: sanitizer/lsan_interface.h of compiler-rt.
#include "preload/annotation.h"
#include "preload/heap_map.h"
#include "preload/hooks.h"

enum { MOST_STEPS = 4096 }; // of the map, backwards from an address: 128 KiB of heap

void __lsan_disable(void);
void __lsan_enable(void);
void __lsan_ignore_object(const void *inside);
void __lsan_register_root_region(const void *start, size_t bytes);
void __lsan_unregister_root_region(const void *start, size_t bytes);

// Nothing may have been allocated yet, and then there is no real function yet.
static struct seep_thread *enter(void) {
    if (atomic_load_explicit(&seep_g.entry, memory_order_acquire) == SEEP_ENTRY_FRESH)
        seep_start();
    return thread_enter();
}

// While it is above 0, the thread's allocations go the long way, which ignores them (record.c).
static void count_disabled(int change) {
    struct seep_thread *thread = enter();
    if (!thread)
        return;
    if (change > 0)
        atomic_fetch_or_explicit(&seep_g.mode.special, SEEP_SPECIAL_IGNORED, memory_order_seq_cst);
    if (change > 0 || thread->lsan_disabled)
        thread->lsan_disabled += (uint32_t)change;
    thread_leave(thread);
}

SEEP_EXPORT void __lsan_disable(void) {
    count_disabled(1);
    if (seep_g.real.lsan.disable)
        seep_g.real.lsan.disable();
}

SEEP_EXPORT void __lsan_enable(void) {
    count_disabled(-1);
    if (seep_g.real.lsan.enable)
        seep_g.real.lsan.enable();
}

// The start of the live block that the address is in; the address where there is none near.
static uint64_t start_of_block(uint64_t address) {
    uint64_t granule = UINT64_C(1) << seep_g.granule_shift, at = address & ~(granule - 1);
    for (int i = 0; i < MOST_STEPS && at >> SEEP_LEAF_SHIFT == address >> SEEP_LEAF_SHIFT;
         i++, at -= granule) {
        const uint64_t *entry = map_entry(at);
        if (!entry)
            break;
        uint64_t start = at + (SEEP_ENTRY_SUB(*entry) << SEEP_SUB_SHIFT);
        if (SEEP_ENTRY_IS_LIVE(*entry) && start <= address)
            return address - start < SEEP_ENTRY_SIZE(*entry) ? start : address;
    }
    return address;
}

SEEP_EXPORT void __lsan_ignore_object(const void *inside) {
    struct seep_thread *thread = inside ? enter() : NULL;
    if (thread) {
        seep_region_add(SEEP_REGION_IGNORED, start_of_block((uintptr_t)inside), 0);
        thread_leave(thread);
    }
    if (seep_g.real.lsan.ignore_object)
        seep_g.real.lsan.ignore_object(inside);
}

SEEP_EXPORT void __lsan_register_root_region(const void *start, size_t bytes) {
    struct seep_thread *thread = start ? enter() : NULL;
    if (thread) {
        seep_region_add(SEEP_REGION_ROOT, (uintptr_t)start, bytes);
        thread_leave(thread);
    }
    if (seep_g.real.lsan.root_add)
        seep_g.real.lsan.root_add(start, bytes);
}

SEEP_EXPORT void __lsan_unregister_root_region(const void *start, size_t bytes) {
    struct seep_thread *thread = start ? enter() : NULL;
    if (thread) {
        seep_region_remove(SEEP_REGION_ROOT, (uintptr_t)start, bytes);
        thread_leave(thread);
    }
    if (seep_g.real.lsan.root_remove)
        seep_g.real.lsan.root_remove(start, bytes);
}
