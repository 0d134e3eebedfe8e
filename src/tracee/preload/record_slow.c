// SPDX-License-Identifier: BSD-2-Clause
// The slow path of recording an allocation and a free; the fast path is in record.h.
#include "preload/record.h"
#include "preload/annotation.h"
#include "preload/at_peak.h"
#include "preload/call_counts.h"
#include "preload/control.h"
#include "preload/events.h"
#include "preload/free_stacks.h"
#include "preload/fork_undo.h"

// libseep.so calls these functions for samples and for pending children of fork, libseep-record.so for each
// event.
#if SEEP_MODES
#define SPECIAL SEEP_NOINLINE
#else
#define SPECIAL SEEP_COLD
#endif

static bool undo_is_on(void) {
    return atomic_load_explicit(&seep_g.mode.special, memory_order_relaxed) & SEEP_SPECIAL_UNDO;
}

SEEP_COLD uint32_t seep_stack_site(struct seep_thread *thread, enum seep_via via, struct seep_caller caller) {
    return stack_site(thread, via, caller);
}

// The site of a stack: what takes turns, as allocations and releases do, is asked of the recent stacks first.
// `asked`: the short way has just done that where thread->last says that there is none.
static SEEP_NOINLINE uint32_t site_of(struct seep_thread *thread, enum seep_via via, bool asked,
                                      struct seep_caller caller) {
    static struct seep_image_counters none; // of a release; only the short way would look for them
    bool current =
        thread->mode.modules_epoch == atomic_load_explicit(&seep_g.mode.modules_epoch, memory_order_relaxed);
    const struct seep_recent *recent =
        current && (!asked || recent_may_be(thread)) ? recent_find(thread, via, caller) : NULL;
    if (recent) {
        seep_stack_show_recent(thread, recent);
        return SEEP_ENTRY_SITE(recent->entry);
    }
    uint32_t site = stack_site(thread, via, caller);
    stack_remember(thread, site, via < SEEP_VIA_FREE ? counters_of(thread, site) : &none, caller);
    return site;
}

static SPECIAL void record_special(struct seep_thread *thread, const void *block, uint64_t size,
                                   enum seep_via via, struct seep_caller caller);
static SPECIAL void put_slow(struct seep_thread *thread, uint64_t address, uint32_t site, uint64_t size);

static void record_allocation(struct seep_thread *thread, const void *block, uint64_t size, enum seep_via via,
                              struct seep_caller caller) {
    uint64_t address = (uintptr_t)block;
    if (SEEP_UNLIKELY(is_special())) {
        record_special(thread, block, size, via, caller);
        return;
    }
    uint32_t site = site_of(thread, via, true, caller);
    uint64_t *at = map_entry(address);
    if (SEEP_LIKELY(at != NULL && !SEEP_ENTRY_IS_LIVE(*at) && size >> SEEP_ENTRY_SIZE_BITS == 0))
        map_put(at, SEEP_ENTRY_MAKE(site, map_sub(address), size));
    else
        put_slow(thread, address, site, size);
    thread->last_block = address;
    count_allocation(thread, counters_of(thread, site), size);
    map_remember_leaf(thread, address);
}

void seep_record_allocation(struct seep_thread *thread, const void *block, uint64_t size, enum seep_via via,
                            uint64_t pc, uint64_t sp, uint64_t bp) {
    record_allocation(thread, block, size, via, (struct seep_caller){.pc = pc, .sp = sp, .bp = bp});
}

static void record_sampled(struct seep_thread *thread, const void *block, uint64_t size, enum seep_via via,
                           struct seep_caller caller) {
    if (releases_are_kept())
        seep_freed_forget_sampled((uintptr_t)block);
    // Where releases are kept, and for a thread's first allocation, it was not asked yet.
    if (sample_passes(thread, releases_are_kept() ? &thread->sample_at_long : &thread->sample_at, size))
        return;
    if (undo_is_on())
        seep_undo_note_odd();
    seep_sample_record(thread, block, size, via, caller);
}

// Recording is stopped. What is known of the address is of a block that was freed before: another may be
// freed there now.
static void pass_by(struct seep_thread *thread, const void *block, uint64_t size) {
    if (thread->last_block == (uintptr_t)block)
        return; // the real function called another of ours by name, which was first
    uint64_t *at = map_entry((uintptr_t)block);
    if (at && SEEP_ENTRY_IS_LIVE(*at)) { // its free was not seen
        uint64_t old_size;
        uint32_t old = map_take((uintptr_t)block, &old_size);
        if (!old)
            return; // the other block of the granule
        seep_lost(SEEP_LOST_FREE_UNSEEN);
        if (undo_is_on())
            seep_undo_note_odd();
        count_free(thread, old, old_size, SEEP_RELEASE_IMPLICIT, false);
    }
    if (at) {
        map_end(at, 0);
        if (releases_are_kept())
            *freed_word(at) = 0;
    }
    thread->last_block = (uintptr_t)block;
    thread->slot->skipped_allocations++;
    thread->slot->skipped_bytes += size;
}

static void record_special(struct seep_thread *thread, const void *block, uint64_t size, enum seep_via via,
                           struct seep_caller caller) {
    if (calls_only()) {
        seep_calls_allocation(thread, size, via);
        return;
    }
    if (thread->lsan_disabled)
        seep_region_add(SEEP_REGION_IGNORED, (uintptr_t)block, 0);
    if (!thread->filter && allocations_pass()) {
        pass_by(thread, block, size);
        return;
    }
    if (thread->filter) {
        record_sampled(thread, block, size, via, caller);
        return;
    }
    uint64_t address = (uintptr_t)block;
    uint32_t site = site_of(thread, via, false, caller);
    if (events_are_kept())
        events_make_room(thread, 1);
    if (!undo_is_on())
        ;
    else if (size >> SEEP_ENTRY_SIZE_BITS || address & 7 || address >> SEEP_ADDRESS_BITS)
        seep_undo_note_odd();
    else
        seep_undo_note(thread, address, 0, SEEP_ENTRY_MAKE(site, map_sub(address), size));
    put_slow(thread, address, site, size);
    seep_birth_note(thread, address);
    thread->last_block = address;
    count_allocation(thread, counters_of(thread, site), size);
    seep_undo_done(thread);
    if (!events_are_kept())
        return;
    seep_event_note(thread, SEEP_EVENT_ALLOCATION, address, site, size);
    map_remember_leaf(thread, address);
}

static uint32_t take_sampled(struct seep_thread *thread, const void *block, uint64_t *ret_size,
                             enum seep_release via, struct seep_caller caller) {
    if (thread->last_skipped != sample_nr_skipped(thread))
        thread->last_block = 0; // for who asks next: it is not the latest any more
    if (undo_is_on())
        seep_undo_note_odd();
    uint32_t site = seep_sample_take(block, ret_size);
    if (site && releases_are_kept())
        seep_freed_keep_sampled((uintptr_t)block, site, site_of(thread, SEEP_VIA_FREE + via, false, caller),
                                *ret_size);
    return site;
}

static SPECIAL uint32_t take_special(struct seep_thread *thread, const void *block, uint64_t *ret_size,
                                     enum seep_release via, struct seep_caller caller) {
    if (atomic_load_explicit(&seep_g.mode.special, memory_order_relaxed) & SEEP_SPECIAL_IGNORED)
        seep_ignored_gone((uintptr_t)block);
    if (thread->filter)
        return take_sampled(thread, block, ret_size, via, caller);
    if (events_are_kept())
        events_make_room(thread, 1 + (via == SEEP_RELEASE_REALLOC));
    uint64_t address = (uintptr_t)block;
    uint64_t *at = map_entry(address);
    bool is_live = at && SEEP_ENTRY_IS_LIVE(*at) && SEEP_ENTRY_SUB(*at) == map_sub(address);
    // Before the map loses it: a scan that stops us must find the block, and a child of fork waits for what
    // has begun.
    if (is_live && releases_are_kept())
        *freed_word(at) = SEEP_ENTRY_MAKE(site_of(thread, SEEP_VIA_FREE + via, false, caller),
                                          map_sub(address), SEEP_ENTRY_SIZE(*at));
    if (!undo_is_on())
        ;
    else if (is_live)
        seep_undo_note(thread, address, *at, 0);
    else
        seep_undo_note_odd();
    uint32_t site = map_take(address, ret_size);
    if (events_are_kept() && site)
        seep_event_note(thread, SEEP_EVENT_FREE + via, address, site, *ret_size);
    return site;
}

uint32_t seep_record_take_special(struct seep_thread *thread, const void *block, uint64_t *ret_size,
                                  enum seep_release via, uint64_t pc, uint64_t sp, uint64_t bp) {
    if (calls_only())
        return 0;
    return take_special(thread, block, ret_size, via, (struct seep_caller){.pc = pc, .sp = sp, .bp = bp});
}

SPECIAL struct seep_image_counters *seep_record_free_special(struct seep_thread *thread, uint32_t site,
                                                             uint64_t size, enum seep_release via,
                                                             bool temporary) {
    struct seep_image_counters *suspect = thread->filter
                                              ? seep_sample_count_free(thread, site, size, via, temporary)
                                              : count_free(thread, site, size, via, temporary);
    seep_undo_done(thread);
    return suspect;
}

// A realloc took the block and then failed.
SEEP_COLD void seep_record_put_back(struct seep_thread *thread, const void *block, uint32_t site,
                                    uint64_t size) {
    if (thread->filter) {
        if (releases_are_kept())
            seep_freed_forget_sampled((uintptr_t)block);
        seep_sample_put_back(block, site, size);
        return;
    }
    if (events_are_kept())
        events_make_room(thread, 1);
    if (undo_is_on())
        seep_undo_note_odd(); // counted neither as free nor as allocation
    put_slow(thread, (uintptr_t)block, site, size);
    seep_undo_done(thread);
    if (events_are_kept())
        seep_event_note(thread, SEEP_EVENT_KEPT, (uintptr_t)block, site, size);
}

// The program has got no other block, so this one stays. Its entry of the map has kept the site.
SEEP_COLD void seep_record_move_abandoned(struct seep_thread *thread) {
    uint64_t address = thread->slot->moving_rt;
    const uint64_t *at = address ? map_entry(address) : NULL;
    thread->slot->moving_rt = 0;
    if (at && !thread->filter && !SEEP_ENTRY_SITE(*at) && (uint32_t)*at)
        seep_record_put_back(thread, (const void *)(uintptr_t)address, (uint32_t)*at,
                             thread->slot->moving_bytes);
}

// Takes back what a nested hook has just counted for the block of this entry.
static void forget_nested(struct seep_thread *thread, uint64_t entry) {
    struct seep_image_counters *counters = counters_of(thread, SEEP_ENTRY_SITE(entry));
    if (!counters)
        return;
    counters->allocations--;
    counters->allocated_bytes -= SEEP_ENTRY_SIZE(entry);
    thread->slot->size_class[size_class_of(SEEP_ENTRY_SIZE(entry))]--;
    count_net(thread, -(int64_t)SEEP_ENTRY_SIZE(entry));
}

// The entry cannot be written straight away: no leaf yet, a size or address that the map does not
// hold, or an entry that still has a block whose free we never saw.
static void put_slow(struct seep_thread *thread, uint64_t address, uint32_t site, uint64_t size) {
    uint64_t *at = map_entry(address);
    if (!at)
        at = seep_map_new_leaf(address);
    if (at && SEEP_ENTRY_IS_LIVE(*at) && thread->last_block == address &&
        SEEP_ENTRY_SUB(*at) == map_sub(address)) {
        // The real function called another of ours by name, which was first: one allocation, and the outer's.
        forget_nested(thread, *at);
        map_end(at, 0);
    }
    if (at && SEEP_ENTRY_IS_LIVE(*at)) {
        uint64_t old = *at;
        map_end(at, 0);
        seep_lost(SEEP_LOST_FREE_UNSEEN);
        if (events_are_kept())
            seep_event_note(thread, SEEP_EVENT_FREE + SEEP_RELEASE_IMPLICIT, address, SEEP_ENTRY_SITE(old),
                            SEEP_ENTRY_SIZE(old));
        count_free(thread, SEEP_ENTRY_SITE(old), SEEP_ENTRY_SIZE(old), SEEP_RELEASE_IMPLICIT, false);
    }
    if (at && releases_are_kept())
        *freed_word(at) = 0;
    if (at && size >> SEEP_ENTRY_SIZE_BITS == 0) {
        map_put(at, SEEP_ENTRY_MAKE(site, map_sub(address), size));
        return;
    }
    if (at)
        map_end(at, 0); // the block that was freed there is not the one that will be
    if (seep_map_put_odd(address, site, size))
        return;
    seep_lost(at || address & 7 || address >> SEEP_ADDRESS_BITS ? SEEP_LOST_ODD_FULL : SEEP_LOST_NO_LEAF);
}

SEEP_COLD void seep_nested_begin(struct seep_nested *ret_nested) {
    struct seep_thread *thread = thread_enter();
    ret_nested->thread = thread;
    if (!thread)
        return;
    ret_nested->nr_sampled = thread->slot->sampled_allocations;
    ret_nested->nr_skipped = thread->slot->skipped_allocations;
    ret_nested->skipped_bytes = thread->slot->skipped_bytes;
    if (calls_only())
        seep_calls_new_begin(thread, &ret_nested->outer);
    thread_leave(thread);
}

void seep_nested_end(struct seep_thread *thread, const struct seep_nested *nested) {
    if (calls_only() && nested->thread == thread)
        seep_calls_new_end(thread, &nested->outer);
}

// An operator new may call malloc by name (jemalloc's aligned forms do) and put a header before the block.
// That is one allocation, of the operator, so the counts of the nested hook are taken back.
bool seep_record_again(struct seep_thread *thread, const void *block, uint64_t size, enum seep_via via,
                       struct seep_caller caller, const struct seep_nested *nested) {
    if (thread->filter)
        return nested->thread == thread && seep_sample_again(thread, block, size, via, caller, nested);
    uint64_t latest = thread->last_block;
    uint64_t *at = latest ? map_entry(latest) : NULL;
    if (!at || !SEEP_ENTRY_IS_LIVE(*at) || SEEP_ENTRY_SUB(*at) != map_sub(latest) ||
        (uintptr_t)block - latest >= SEEP_MAX(SEEP_ENTRY_SIZE(*at), 1))
        return false;
    uint64_t entry = *at;
    map_end(at, SEEP_ENTRY_SITE(entry));
    forget_nested(thread, entry);
    if (events_are_kept() && latest != (uintptr_t)block)
        seep_event_note(thread, SEEP_EVENT_FREE + SEEP_RELEASE_IMPLICIT, latest, SEEP_ENTRY_SITE(entry),
                        SEEP_ENTRY_SIZE(entry));
    record_allocation(thread, block, size, via, caller);
    return true;
}

SEEP_COLD void seep_record_unknown_free(struct seep_thread *thread, uint64_t address, enum seep_release via,
                                        struct seep_caller caller) {
    if (thread->nested_release || address == thread->slot->moving_rt) // realloc may free by name
        return;
    if (calls_only()) {
        seep_calls_release(thread, via);
        return;
    }
    if (thread->filter || seep_g.was_stopped)
        thread->slot->skipped_frees++;
    else
        thread->slot->unknown_frees++;
    if (seep_g.was_stopped)
        return;
    // Where blocks are sampled, what was freed is known by what is kept of releases; but a child of fork
    // may have it from a moment at which the block was not yet.
    if (!thread->filter || (releases_are_kept() && !seep_g.header->lost[SEEP_LOST_FORK_INEXACT]))
        seep_misuse_unknown(thread, address, via, caller);
}

SEEP_COLD void seep_record_unknown_kept(struct seep_thread *thread) {
    struct seep_image_counters *called = calls_only() ? counters_of(thread, 0) : NULL;
    if (called && called[SEEP_SITE_UNKNOWN].frees) { // counted before the real function was called
        called[SEEP_SITE_UNKNOWN].frees--;
        thread->slot->releases[SEEP_RELEASE_REALLOC]--;
        return;
    }
    uint64_t *count =
        thread->filter || seep_g.was_stopped ? &thread->slot->skipped_frees : &thread->slot->unknown_frees;
    *count -= *count != 0;
}

// Threads tell the process about their net bytes now and then: the peak is known to within
// SEEP_NET_SLACK a thread without a line that all threads write.
static void flush_net(struct seep_image_thread *slot, int64_t net) {
    struct seep_image_header *header = seep_g.header;
    int64_t delta = net - slot->flushed_bytes;
    slot->flushed_bytes = net;
    int64_t live =
        (int64_t)__atomic_add_fetch(&header->live_bytes_flushed, (uint64_t)delta, __ATOMIC_RELAXED);
    int64_t peak = (int64_t)__atomic_load_n(&header->peak_bytes_flushed, __ATOMIC_RELAXED);
    while (live > peak && !__atomic_compare_exchange_n((int64_t *)&header->peak_bytes_flushed, &peak, live,
                                                       true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

void seep_record_net(struct seep_thread *thread) {
    struct seep_image_thread *slot = thread->slot;
    int64_t net = SEEP_MIN(slot->peak_bytes, slot->flushed_bytes + SEEP_NET_SLACK) - slot->net_room;
    slot->peak_bytes = SEEP_MAX(slot->peak_bytes, net);
    if (net > slot->flushed_bytes + SEEP_NET_SLACK || net < slot->flushed_bytes - SEEP_NET_SLACK)
        flush_net(slot, net);
    struct seep_peak_room room = seep_peak_look(slot, net);
    int64_t flush_at = slot->flushed_bytes + SEEP_NET_SLACK;
    int64_t limit = SEEP_MIN(slot->peak_bytes, flush_at);
    SEEP_PUT(slot->net_room, limit - net);
    thread->net_above = SEEP_MIN(flush_at - limit, room.up);
    thread->net_most = limit - net + SEEP_MIN(net - (slot->flushed_bytes - SEEP_NET_SLACK), room.down);
}

void *seep_allocated_long(void *block, uint64_t size, enum seep_via via, uint64_t pc, uint64_t sp,
                          uint64_t bp) {
    struct seep_thread *thread = thread_enter();
    if (!thread)
        return block;
    control_look();
    if (SEEP_LIKELY(block != NULL))
        record_allocation(thread, block, size, via, (struct seep_caller){.pc = pc, .sp = sp, .bp = bp});
    else
        thread->slot->failed++;
    thread_leave(thread);
    return block;
}

void seep_released_long(const void *block, enum seep_release via, uint64_t pc, uint64_t sp, uint64_t bp) {
    struct seep_thread *thread = thread_enter();
    if (!thread) {
        seep_record_free_unentered(block);
        return;
    }
    control_look();
    record_free(thread, block, via, (struct seep_caller){.pc = pc, .sp = sp, .bp = bp});
    thread_leave(thread);
}

// Even when the event cannot be counted, the block must not stay in the map as live.
void seep_record_free_unentered(const void *block) {
    if (atomic_load_explicit(&seep_g.entry, memory_order_acquire) != SEEP_ENTRY_READY ||
        atomic_load_explicit(seep_g.alive, memory_order_acquire) != 1)
        return;
    uint64_t *at = map_entry((uintptr_t)block);
    if (at && SEEP_ENTRY_IS_LIVE(*at) && SEEP_ENTRY_SUB(*at) == map_sub((uintptr_t)block))
        map_end(at, SEEP_ENTRY_SITE(*at));
}
