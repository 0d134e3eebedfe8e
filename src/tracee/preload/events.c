// SPDX-License-Identifier: BSD-2-Clause
// Events and their rings: the rare halves, see events.h.
#include "preload/events.h"
#include "preload/birth.h"

enum {
    // A thread waits for so many naps in which the tool does not move: a quarter of a second, and longer
    // where
    // processors are short, for the tool too. Then what does not fit is counted.
    PATIENCE = 150,
    NAP_NS = 50000,
    NAP_MOST_NS = 2000000,
    SPINS = 200,
};

static uint32_t *rings(void) {
    return (uint32_t *)(seep_g.pool + seep_g.header->ring_dir_page * SEEP_POOL_PAGE);
}

bool seep_events_start(void) {
    seep_g.header->ring_dir_page = seep_pool_pages(SEEP_RING_SLOTS * sizeof(uint32_t));
    int allowed = 1; // PR_TSC_ENABLE
    if (sys6(SYS_prctl, 25 /* PR_GET_TSC */, (long)&allowed, 0, 0, 0, 0) == 0 && allowed != 1)
        seep_events_no_clock();
    return seep_g.header->ring_dir_page;
}

void seep_events_no_clock(void) {
    seep_g.no_clock = true;
}

static void take_ring(struct seep_thread *thread, struct seep_ring *ring) {
    thread->ring = ring;
    thread->ring_events = (struct seep_event *)((unsigned char *)ring + SEEP_POOL_PAGE);
    // What stands in shared memory is not trusted with where we write.
    uint64_t capacity =
        thread->slot_index < SEEP_RING_SLOTS_MANY ? SEEP_RING_EVENTS : (uint64_t)SEEP_RING_EVENTS_FEW;
    thread->ring_mask = capacity - 1;
    thread->ring_written = ring->written;
    thread->ring_left = 0;
    thread->last_stamp = ring->last_stamp;
    ring->capacity = capacity;
}

void seep_events_begin(struct seep_thread *thread) {
    uint64_t capacity =
        thread->slot_index < SEEP_RING_SLOTS_MANY ? SEEP_RING_EVENTS : (uint64_t)SEEP_RING_EVENTS_FEW;
    uint32_t *page = &rings()[thread->slot_index];
    thread->ring = NULL;
    if (!*page) {
        uint32_t fresh = seep_pool_pages(SEEP_POOL_PAGE + capacity * sizeof(struct seep_event));
        if (!fresh)
            return; // seep_events_room counts what is lost
        __atomic_store_n(page, fresh, __ATOMIC_RELEASE);
    }
    take_ring(thread, (struct seep_ring *)(seep_g.pool + (uint64_t)*page * SEEP_POOL_PAGE));
}

// What is in the rings is the parent's.
void seep_events_in_child(void) {
    for (uint64_t i = 0; i < seep_g.header->areas[SEEP_AREA_THREADS].used && i < SEEP_RING_SLOTS; i++) {
        uint32_t page = rings()[i];
        if (!page)
            continue;
        struct seep_ring *ring = (struct seep_ring *)(seep_g.pool + (uint64_t)page * SEEP_POOL_PAGE);
        ring->written = ring->read = 0;
    }
}

static void pause_here(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#else
    __asm__ volatile("");
#endif
}

// Under a filter of system calls by doing nothing.
static void nap(uint32_t ns) {
    if (seep_confined.filtered) {
        enum { PAUSE_NS = 32 };
        for (uint32_t i = 0; i < ns / PAUSE_NS; i++)
            pause_here();
        return;
    }
    uint32_t never = 0;
    struct timespec time = {0, ns};
    sys6(SYS_futex, (long)&never, 128 /* FUTEX_WAIT_PRIVATE */, 0, (long)&time, 0, 0);
}

static uint64_t room_now(const struct seep_thread *thread) {
    uint64_t capacity = thread->ring_mask + 1;
    uint64_t unread = thread->ring_written - __atomic_load_n(&thread->ring->read, __ATOMIC_ACQUIRE);
    return unread <= capacity ? capacity - unread : 0;
}

// As long as the tool moves: one that is stopped, or gone, is not waited for.
static void wait_for_tool(const struct seep_thread *thread) {
    uint64_t beat = __atomic_load_n(&seep_g.header->ring_beat, __ATOMIC_RELAXED);
    uint32_t nap_ns = NAP_NS;
    for (int turn = 0; turn < PATIENCE && !room_now(thread); turn++) {
        nap(nap_ns);
        nap_ns = SEEP_MIN(nap_ns * 2, (uint32_t)NAP_MOST_NS);
        uint64_t latest = __atomic_load_n(&seep_g.header->ring_beat, __ATOMIC_RELAXED);
        turn = latest == beat ? turn : 0;
        beat = latest;
    }
}

// Half of the ring at most, so that the last stamp is told now and then.
bool seep_events_room(struct seep_thread *thread) {
    struct seep_ring *ring = thread->ring;
    if (!ring) {
        seep_lost(SEEP_LOST_EVENT);
        return false;
    }
    ring->last_stamp = thread->last_stamp;
    uint64_t room = room_now(thread);
    uint64_t most = (thread->ring_mask + 1) / 2;
    for (int turn = 0; !room && turn < SPINS; turn++) {
        pause_here();
        room = room_now(thread);
    }
    if (!room && seep_g.handed_over && !seep_g.config.drop && !thread->ring_given_up) {
        wait_for_tool(thread);
        room = room_now(thread);
        thread->ring_given_up = !room;
    }
    if (room > most)
        thread->ring_given_up = false; // it takes again
    if (!room) {
        seep_lost(SEEP_LOST_EVENT);
        return false;
    }
    thread->ring_left = SEEP_MIN(room, most);
    return true;
}

void seep_event_note(struct seep_thread *thread, uint32_t kind, uint64_t address, uint32_t site,
                     uint64_t size) {
    uint64_t *at = map_entry(address);
    uint64_t *last_here = at ? event_stamp_of(at) : NULL;
    if (SEEP_UNLIKELY(size >> SEEP_ENTRY_SIZE_BITS)) {
        event_append(thread, SEEP_EVENT_WIDE, size, 0, NULL);
        size = 0;
    }
    event_append(thread, kind, address, SEEP_ENTRY_MAKE(site, map_sub(address), size), last_here);
}
