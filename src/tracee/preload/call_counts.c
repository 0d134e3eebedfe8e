// SPDX-License-Identifier: BSD-2-Clause
// Calls that are only counted, see call_counts.h.
#include "preload/call_counts.h"

void seep_calls_start(void) {
    for (uint32_t via = SEEP_VIA_NONE + 1; via < SEEP_VIA_HEAP_NR; via++)
        seep_g.sites[SEEP_SITE_CALLS(via)] = (struct seep_image_site){.node = 0, .via = via};
    seep_g.header->areas[SEEP_AREA_SITES].used = SEEP_SITE_CALLS(SEEP_VIA_HEAP_NR);
}

// An operator new that an exception has left was deeper on the stack than the present hook. If it is still
// taken for a running one, hooks take the slow path and count correctly.
static bool is_in_new(struct seep_thread *thread) {
    if (thread->counted_new.frame && CPU_FRAME() > thread->counted_new.frame)
        thread->counted_new = (struct seep_counted_new){.frame = 0};
    return thread->counted_new.frame;
}

void seep_calls_allocation(struct seep_thread *thread, uint64_t size, enum seep_via via) {
    bool in_new = is_in_new(thread);
    thread->called = counters_of(thread, 0);
    if (!thread->called)
        return;
    const struct seep_image_counters *counters = thread->called + SEEP_SITE_CALLS(via);
    if (in_new)
        thread->counted_new = (struct seep_counted_new){.frame = thread->counted_new.frame,
                                                        .via = via,
                                                        .size = size,
                                                        .size_min_inverted = counters->size_min_inverted,
                                                        .size_max = counters->size_max};
    calls_count_allocation(thread, size, via);
    if (in_new)
        thread->called = NULL;
}

void seep_calls_release(struct seep_thread *thread, enum seep_release via) {
    bool in_new = is_in_new(thread);
    thread->called = counters_of(thread, 0);
    if (thread->called)
        calls_count_release(thread, via);
    if (in_new)
        thread->called = NULL;
}

void seep_calls_new_begin(struct seep_thread *thread, struct seep_counted_new *ret_outer) {
    *ret_outer = thread->counted_new;
    thread->counted_new = (struct seep_counted_new){.frame = CPU_FRAME()};
    thread->called = NULL;
}

void seep_calls_new_end(struct seep_thread *thread, const struct seep_counted_new *outer) {
    const struct seep_counted_new nested = thread->counted_new;
    struct seep_image_counters *counters = nested.via ? counters_of(thread, 0) : NULL;
    thread->counted_new = *outer;
    if (!counters)
        return;
    counters += SEEP_SITE_CALLS(nested.via);
    counters->allocations--;
    counters->allocated_bytes -= nested.size;
    counters->size_min_inverted = nested.size_min_inverted;
    counters->size_max = nested.size_max;
    thread->slot->size_class[size_class_of(nested.size)]--;
}
