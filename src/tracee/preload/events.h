// SPDX-License-Identifier: BSD-2-Clause
//
// SEEP_MODE=record: every event goes into the ring of its thread (image/ring.h) besides into the live image.
// Operations take the way of live mode and then append 24 bytes.
//
// The stamp is the time stamp counter of the processor where it is above the thread's last and above the last
// one of the same address, else one more than these. The last stamp of an address is a plane of the heap map
// (image/layout.h): it is stored before a block is freed, or is handed to the program, and the
// allocator, or the program's own hand-over, makes it visible to the thread that has the address next. So no
// clock is trusted for the order.
//
// Only in libseep-record.so (SEEP_MODES).
#ifndef SEEP_PRELOAD_EVENTS_H
#define SEEP_PRELOAD_EVENTS_H

#include "image/ring.h"
#include "preload/heap_map.h"

// Whether each operation goes into the ring of its thread (--mode record).
SEEP_INLINE bool events_are_kept(void) {
    return SEEP_MODES && seep_g.config.mode == SEEP_MODE_RECORD;
}

// From seep_start(): the table of rings. false: no room for it.
bool seep_events_start(void);
// A thread has got its slot: its ring, or none (thread->ring NULL), and then its events are counted as lost.
// threads_lock held.
void seep_events_begin(struct seep_thread *thread);
// Waits a limited time for room for so many events.
void seep_events_make_room(struct seep_thread *thread, uint64_t nr);
// A tool that took nothing for long is not waited for again: events go to a file of our own.
// Whether that is so, asked when the process leaves.
bool seep_events_leave(void);
void seep_events_in_child(void); // the tool has this image anew
// Of a block that may be anywhere, and of any size. The thread is entered.
void seep_event_note(struct seep_thread *thread, uint32_t kind, uint64_t address, uint32_t site,
                     uint64_t size);

#ifdef SEEP_FAULTS
uint64_t seep_fault_clock(uint64_t stamp); // of processors whose clocks differ, and step back
#else
#define seep_fault_clock(stamp) (stamp)
#endif

SEEP_INLINE uint64_t event_clock(void) {
#ifdef SEEP_WITHOUT_CLOCK // what an event costs without it: bench/recordings.py --bounds
    return 0;
#endif
    if (SEEP_UNLIKELY(seep_confined.no_counter))
        return 0;
#if defined(__x86_64__) || defined(__i386__)
    return seep_fault_clock(__builtin_ia32_rdtsc() >> SEEP_STAMP_TICKS_SHIFT);
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return seep_fault_clock(ticks << 2); // so that one more fits between two ticks
#else
    return seep_fault_clock(seep_clock_ns(CLOCK_MONOTONIC));
#endif
}

// The last stamp of the address whose entry is at `entry`.
SEEP_INLINE uint64_t *event_stamp_of(uint64_t *entry) {
    return entry + ((UINT64_C(1) << SEEP_LEAF_SHIFT) >> seep_g.granule_shift);
}

// Before an operation changes the image: where the process ends while we wait, the operation is neither in
// the image nor in the ring.
SEEP_INLINE void events_make_room(struct seep_thread *thread, uint64_t nr) {
    if (SEEP_UNLIKELY(thread->ring_left < nr))
        seep_events_make_room(thread, nr);
}

// Appends to the thread's own ring; its guard is busy. The stamp is later than the thread's last and than
// *last_here (NULL: no event of the block is kept), which becomes it. Without room the loss is counted.
SEEP_INLINE void event_append(struct seep_thread *thread, uint32_t kind, uint64_t address, uint64_t entry,
                              uint64_t *last_here) {
    if (SEEP_UNLIKELY(!thread->ring_left)) {
        seep_lost(SEEP_LOST_EVENT);
        return;
    }
    uint64_t stamp = event_clock() & (UINT64_MAX >> SEEP_EVENT_KIND_BITS);
    uint64_t least = thread->last_stamp;
    if (last_here)
        least = SEEP_MAX(least, *last_here);
    if (SEEP_UNLIKELY(stamp <= least))
        stamp = least + 1;
    if (last_here)
        *last_here = stamp;
    thread->last_stamp = stamp;
    struct seep_event *at = thread->ring_next++;
    at->stamp_kind = stamp << SEEP_EVENT_KIND_BITS | kind;
    at->address = address;
    at->entry = entry;
    thread->ring_left--;
    __atomic_store_n(&thread->ring->written, ++thread->ring_written, __ATOMIC_RELEASE);
}

#endif
