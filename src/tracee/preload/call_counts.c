// SPDX-License-Identifier: BSD-2-Clause
// Calls that are only counted, see call_counts.h.
#include "preload/call_counts.h"

void seep_calls_start(void) {
    for (uint32_t via = SEEP_VIA_NONE + 1; via < SEEP_VIA_HEAP_NR; via++)
        seep_g.sites[SEEP_SITE_CALLS(via)] = (struct seep_image_site){.node = 0, .via = via};
    seep_g.header->areas[SEEP_AREA_SITES].used = SEEP_SITE_CALLS(SEEP_VIA_HEAP_NR);
}

static bool has_counters(struct seep_thread *thread) {
    if (!thread->called)
        thread->called = counters_of(thread, 0);
    return thread->called;
}

void seep_calls_allocation(struct seep_thread *thread, uint64_t size, enum seep_via via) {
    if (has_counters(thread))
        calls_count_allocation(thread, size, via);
}

void seep_calls_release(struct seep_thread *thread, enum seep_release via) {
    if (has_counters(thread))
        calls_count_release(thread, via);
}
