// SPDX-License-Identifier: BSD-2-Clause
// Events and their rings: the rare halves, see events.h.
#include "image/raw.h"
#include "preload/events.h"
#include "preload/block_birth.h"
#include "preload/image_window.h"

enum {
    // A thread waits for so many naps in which the tool does not move: a quarter of a second. Then a tool
    // that is stopped or gone is taken over from.
    PATIENCE = 150,
    // And for so many in which the tool takes nothing of the ring although it moves, or waits for a
    // processor or a disk: ten seconds.
    PATIENCE_MOST = 5000,
    NAP_NS = 50000,
    NAP_MOST_NS = 2000000,
    SPINS = 200,
    EVENTS_FIRST = 2048, // events that have room at once, the first time round
    EVENTS_ALONE = 8192, // a power of two
    EVENTS_WHERE_LIMITED = 16384,
    SLOTS_NOTED = 4, // the others have short rings anyway
};
_Static_assert(SEEP_RING_CAPACITY(SLOTS_NOTED) <= EVENTS_WHERE_LIMITED, "rings of other slots are short");

// The address space is limited (RLIMIT_AS): a few large rings would take all that the image may have of it.
// Decided once, because the ring of a slot may still have events of the slot's last thread.
static bool rings_are_short;
// The same of one slot, a bit each of the first: the limit came before its ring.
static _Atomic uint32_t short_slots;

// The page where the ring of a slot begins. Numbers in shared memory do not decide where we write.
static uint32_t *place_of_ring(uint32_t slot) {
    uint32_t *rings =
        seep_window_pages(seep_g.base, seep_g.header->ring_dir_page, SEEP_RING_SLOTS * sizeof(uint32_t));
    return rings && slot < SEEP_RING_SLOTS ? &rings[slot] : NULL;
}

bool seep_events_start(void) {
    rings_are_short = seep_window_is_limited();
    atomic_store_explicit(&short_slots, 0, memory_order_relaxed);
    seep_g.header->ring_dir_page = seep_pages_take(SEEP_RING_SLOTS * sizeof(uint32_t));
    seep_g.header->ring_stamp = event_clock();
    seep_g.header->ring_stamp_ns = seep_clock_ns(CLOCK_MONOTONIC);
    return seep_g.header->ring_dir_page;
}

static bool is_alone(void) {
    return !seep_g.handed_over && !*seep_g.config.socket;
}

// Who is killed loses what is in the rings where there is no tool.
static uint64_t capacity_of(uint32_t slot) {
    uint32_t shorts = atomic_load_explicit(&short_slots, memory_order_relaxed);
    bool is_short = rings_are_short || (slot < SLOTS_NOTED && shorts >> slot & 1);
    uint32_t most = is_alone() ? (uint32_t)EVENTS_ALONE
                    : is_short ? (uint32_t)EVENTS_WHERE_LIMITED
                               : SEEP_RING_EVENTS;
    return SEEP_MIN(SEEP_RING_CAPACITY(slot), most);
}

static struct seep_event *events_of(struct seep_ring *ring) {
    return (struct seep_event *)((unsigned char *)ring + SEEP_IMAGE_PAGE);
}

static void take_ring(struct seep_thread *thread, struct seep_ring *ring) {
    thread->ring = ring;
    uint64_t capacity = capacity_of(thread->slot_index);
    // A child of fork may copy one that its parent has made under a limit since.
    bool was_short = __atomic_load_n(&ring->capacity, __ATOMIC_RELAXED) == EVENTS_WHERE_LIMITED;
    capacity = SEEP_MIN(capacity, was_short ? (uint64_t)EVENTS_WHERE_LIMITED : capacity);
    capacity = SEEP_MIN(capacity, ring->own ? (uint64_t)EVENTS_ALONE : capacity);
    thread->ring_mask = capacity - 1;
    thread->ring_written = ring->written;
    thread->ring_is_own = ring->own;
    thread->ring_read = ring->own - 1;
    if (ring->own && thread->ring_written - thread->ring_read > capacity)
        thread->ring_read = thread->ring_written; // not as we left it
    // The owner before has told its last stamp only when it asked for room: its last event has it.
    uint64_t latest = events_of(ring)[(thread->ring_written - 1) & thread->ring_mask].stamp_kind;
    thread->last_stamp = SEEP_MAX(ring->last_stamp, latest >> SEEP_EVENT_KIND_BITS);
    ring->capacity = capacity;
}

void seep_events_begin(struct seep_thread *thread) {
    uint32_t *place = place_of_ring(thread->slot_index);
    uint32_t page = place ? *place : 0;
    if (!page && thread->slot_index < SLOTS_NOTED && seep_window_is_limited())
        atomic_fetch_or_explicit(&short_slots, 1u << thread->slot_index, memory_order_relaxed);
    uint64_t capacity = capacity_of(thread->slot_index);
    uint64_t bytes = SEEP_IMAGE_PAGE + capacity * sizeof(struct seep_event);
    thread->ring = NULL;
    thread->ring_left = 0; // a child of fork may get none
    if (place && !page) {
        page = seep_pages_take(bytes);
        __atomic_store_n(place, page, __ATOMIC_RELEASE);
    }
    struct seep_ring *ring = seep_window_pages(seep_g.base, page, bytes);
    if (ring) // else event_append counts what is lost
        take_ring(thread, ring);
}

// ---- alone -------------------------------------------------------------------------------------------

static unsigned char *put_leb(unsigned char *at, uint64_t value) {
    for (; value >= 0x80; value >>= 7)
        *at++ = (unsigned char)(value | 0x80);
    *at++ = (unsigned char)value;
    return at;
}

static unsigned char *put_difference(unsigned char *at, uint64_t value, uint64_t before) {
    int64_t difference = (int64_t)(value - before);
    return put_leb(at, (uint64_t)difference << 1 ^ (uint64_t)(difference >> 63));
}

struct packing {
    uint64_t stamp;
    uint64_t address;
    uint32_t site;
    uint64_t size;
    bool all_known; // every block that is freed has an event of its allocation
};

static unsigned char *put_row(unsigned char *at, struct packing *last, struct seep_event event) {
    uint32_t kind = SEEP_EVENT_KIND(event);
    uint32_t site = SEEP_ENTRY_SITE(event.entry);
    uint64_t size = SEEP_ENTRY_SIZE(event.entry);
    bool known =
        last->all_known && kind >= SEEP_EVENT_FREE && kind < SEEP_EVENT_FREE + (uint32_t)SEEP_RELEASE_NR;
    int64_t moved = (int64_t)(event.address - last->address);
    bool aligned = !(moved & 15);
    *at++ = (unsigned char)(kind | (site == last->site ? SEEP_ROW_SAME_SITE : 0) |
                            (size == last->size ? SEEP_ROW_SAME_SIZE : 0) | (known ? SEEP_ROW_KNOWN : 0) |
                            (aligned ? SEEP_ROW_SIXTEENTHS : 0));
    at = put_leb(at, SEEP_EVENT_STAMP(event) - last->stamp);
    at = put_difference(at, (uint64_t)(aligned ? moved >> 4 : moved), 0);
    last->stamp = SEEP_EVENT_STAMP(event);
    last->address = event.address;
    if (known)
        return at;
    if (site != last->site)
        at = put_difference(at, site, last->site);
    if (size != last->size)
        at = put_leb(at, size);
    last->site = site;
    last->size = size;
    return at;
}

#define ROWS_AT (sizeof(struct seep_raw_record) + sizeof(struct seep_raw_events))

// Writes the record whose rows are in place, from ROWS_AT up to `end`.
static bool write_record(const struct seep_thread *thread, unsigned char *record, const unsigned char *end,
                         uint32_t nr_events) {
    const struct seep_raw_events head = {.slot = thread->slot_index,
                                         .nr_events = nr_events,
                                         .stamp = event_clock(),
                                         .at_ns = seep_clock_ns(CLOCK_MONOTONIC)};
    const struct seep_raw_record header = {
        .image_offset = SEEP_RAW_EVENTS,
        .nr_bytes = (uint64_t)(end - record) - sizeof(header),
    };
    __builtin_memcpy(record, &header, sizeof(header));
    __builtin_memcpy(record + sizeof(header), &head, sizeof(head));
    return seep_dump_events(record, (uint64_t)(end - record), nr_events);
}

// Rows take less room than events, so they are made in the ring itself: in front of the events that are still
// to be read, and of the room before them.
enum { ROOM_BEFORE = 2048, ROW_MOST = 40 };

// What is in a full ring, into the file. It is written in the order of the ring.
static bool write_out(struct seep_thread *thread) {
    unsigned char *record = (unsigned char *)events_of(thread->ring) - ROOM_BEFORE;
    uint64_t from = thread->ring_is_own ? thread->ring_read : thread->ring->read;
    uint64_t nr = thread->ring_written - from;
    if ((from & thread->ring_mask) || nr != thread->ring_mask + 1)
        return false; // not as we left it
    unsigned char *rows = record + ROWS_AT;
    bool good = true;
    uint64_t i = 0, begin = 0;
    while (good && i < nr) {
        struct packing last = {.all_known = !thread->ring_is_own &&
                                            !(seep_g.header->flags & SEEP_FLAG_FORKED) &&
                                            !*seep_lost_place(SEEP_LOST_EVENT)};
        unsigned char *at = rows;
        begin = i;
        while (i < nr && at + ROW_MOST <= (unsigned char *)&events_of(thread->ring)[i])
            at = put_row(at, &last, events_of(thread->ring)[i]), i++;
        good = write_record(thread, record, at, (uint32_t)(i - begin));
    }
    if (!good) // the rows stand where they were
        __atomic_fetch_add(seep_lost_place(SEEP_LOST_EVENT), nr - begin, __ATOMIC_RELAXED);
    if (thread->ring_is_own) {
        thread->ring_read = thread->ring_written;
        __atomic_store_n(&thread->ring->own, thread->ring_read + 1, __ATOMIC_RELEASE);
    } else {
        __atomic_store_n(&thread->ring->read, thread->ring_written, __ATOMIC_RELEASE);
    }
    return good;
}

// ---- taking over from a tool ---------------------------------------------------------------------------

static _Atomic bool taken_over;
static _Atomic uint32_t tool_pid; // 0: not asked for yet

static bool are_own(void) {
    return atomic_load_explicit(&taken_over, memory_order_relaxed);
}

void seep_events_in_child(void) {
    atomic_store_explicit(&taken_over, false, memory_order_relaxed);
    atomic_store_explicit(&tool_pid, 0, memory_order_relaxed);
}

// What the tool has not taken, into our file. The ring stays as it is meanwhile: the tool may wake up and
// read it.
static bool write_untaken(struct seep_thread *thread) {
    unsigned char *record = (unsigned char *)events_of(thread->ring) - ROOM_BEFORE;
    unsigned char *rows = record + ROWS_AT;
    uint64_t at_event = __atomic_load_n(&thread->ring->read, __ATOMIC_ACQUIRE);
    if (thread->ring_written - at_event > thread->ring_mask + 1)
        at_event = thread->ring_written - (thread->ring_mask + 1);
    bool good = true;
    while (good && at_event != thread->ring_written) {
        struct packing last = {0};
        unsigned char *at = rows;
        uint32_t nr_events = 0;
        for (; at_event != thread->ring_written && at + ROW_MOST <= record + ROOM_BEFORE; at_event++) {
            at = put_row(at, &last, events_of(thread->ring)[at_event & thread->ring_mask]);
            nr_events++;
        }
        good = write_record(thread, record, at, nr_events);
    }
    return good;
}

// The ring begins anew at its first event, as write_out() wants it.
static bool take_over(struct seep_thread *thread) {
    if (!write_untaken(thread))
        return false;
    uint64_t next = (thread->ring_written + thread->ring_mask) & ~thread->ring_mask;
    thread->ring_is_own = true;
    thread->ring_mask = SEEP_MIN(thread->ring_mask, (uint64_t)EVENTS_ALONE - 1);
    __atomic_store_n(&thread->ring->capacity, thread->ring_mask + 1, __ATOMIC_RELAXED);
    thread->ring_written = thread->ring_read = next;
    __atomic_store_n(&thread->ring->own, next + 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(&thread->ring->written, next, __ATOMIC_RELEASE);
    atomic_store_explicit(&taken_over, true, memory_order_relaxed);
    return true;
}

// ---- room --------------------------------------------------------------------------------------------

// Under a filter of system calls by doing nothing.
static void nap(uint32_t ns) {
    if (seep_confined.filtered) {
        enum { PAUSE_NS = 32 };
        for (uint32_t i = 0; i < ns / PAUSE_NS; i++)
            cpu_pause();
        return;
    }
    uint32_t never = 0;
    struct timespec time = {0, ns};
    sys6(SYS_futex, (long)&never, 128 /* FUTEX_WAIT_PRIVATE */, 0, (long)&time, 0, 0);
}

static uint64_t room_now(const struct seep_thread *thread) {
    uint64_t capacity = thread->ring_mask + 1;
    uint64_t read =
        thread->ring_is_own ? thread->ring_read : __atomic_load_n(&thread->ring->read, __ATOMIC_ACQUIRE);
    uint64_t unread = thread->ring_written - read;
    return unread <= capacity ? capacity - unread : 0;
}

// Whether the tool is there and not stopped: where all processors have other work it may not move for long.
// false: also where that is not known.
static bool tool_can_move(void) {
    if (!seep_calls_seem_free())
        return false;
    uint32_t pid = atomic_load_explicit(&tool_pid, memory_order_relaxed);
    int fd = pid ? -1 : seep_handshake_connect();
    if (fd >= 0) {
        pid = seep_peer_pid(fd);
        sys_close(fd);
        atomic_store_explicit(&tool_pid, pid, memory_order_relaxed);
    }
    char state = pid ? seep_process_state(pid) : 0;
    return state && state != 'T' && state != 't' && state != 'Z' && state != 'X';
}

// As long as the tool moves: one that is stopped, or gone, is not waited for. false: it does not move, or
// moves and never takes what is in this ring.
static bool wait_for_tool(const struct seep_thread *thread, uint64_t nr) {
    (void)seep_calls_are_free(); // a filter that came without notice may forbid to sleep
    uint64_t beat = __atomic_load_n(&seep_g.header->ring_beat, __ATOMIC_RELAXED);
    uint32_t nap_ns = NAP_NS;
    for (int turn = 0, turns = 0; turn < PATIENCE && turns < PATIENCE_MOST; turn++, turns++) {
        if (thread && room_now(thread) >= nr)
            return true;
        if (are_own()) // by another thread meanwhile: a tool that woke up goes on, and takes nothing
            return false;
        nap(nap_ns);
        nap_ns = SEEP_MIN(nap_ns * 2, (uint32_t)NAP_MOST_NS);
        uint64_t latest = __atomic_load_n(&seep_g.header->ring_beat, __ATOMIC_RELAXED);
        if (latest != beat && !thread)
            return true;
        bool moves = latest != beat || (turn == PATIENCE - 1 && tool_can_move());
        turn = moves ? 0 : turn;
        beat = latest;
    }
    return false;
}

// When the process leaves: what is in the rings is lost with a tool that is gone, and it would be too late
// then.
bool seep_events_leave(void) {
    if (are_own())
        return true;
    if (!seep_g.handed_over || !events_are_kept() || !seep_calls_seem_free() || wait_for_tool(NULL, 0))
        return false;
    atomic_store_explicit(&taken_over, true, memory_order_relaxed);
    return true;
}

// The first time round the tool allocates the pages of the ring (event_rings.c). A read fault on such a page
// also maps the pages around it; a write fault does not. No event may fault: a fault takes long, and the
// operation has been counted by then.
static void map_ahead(struct seep_thread *thread) {
    thread->ring_left = SEEP_MIN(thread->ring_left, (uint64_t)EVENTS_FIRST);
    volatile struct seep_event *first = thread->ring_next, *last = first + thread->ring_left - 1;
    (void)first->stamp_kind;
    (void)last->stamp_kind;
    for (volatile struct seep_event *at = first; at < last; at += SEEP_IMAGE_PAGE / sizeof(*at))
        at->stamp_kind = 0;
    last->stamp_kind = 0;
}

// Half of the ring at most, so that the last stamp is told now and then; and up to where it begins again.
void seep_events_make_room(struct seep_thread *thread, uint64_t nr) {
    struct seep_ring *ring = thread->ring;
    if (!ring)
        return;
    ring->last_stamp = thread->last_stamp;
    uint64_t room = room_now(thread);
    uint64_t most = (thread->ring_mask + 1) / 2;
    bool own = is_alone() || thread->ring_is_own; // then the ring is full when it is written out
    if (!room && own && !thread->ring_given_up) {
        thread->ring_given_up = !write_out(thread);
        room = room_now(thread);
    }
    bool waits = room < nr && !own && !thread->ring_given_up;
    for (int turn = 0; room < nr && turn < SPINS && waits; turn++) {
        cpu_pause();
        room = room_now(thread);
    }
    if (room < nr && waits) {
        bool may_stay = seep_g.handed_over && !seep_g.config.drop;
        if (may_stay && !are_own())
            (void)wait_for_tool(thread, nr);
        room = room_now(thread);
        // Else no event after it waits either, until the tool has taken what is there.
        thread->ring_given_up = room < nr && !(may_stay && take_over(thread));
        room = room_now(thread);
    }
    if (room > most)
        thread->ring_given_up = false; // it takes again
    uint64_t place = thread->ring_written & thread->ring_mask;
    thread->ring_next = &events_of(ring)[place];
    thread->ring_left = SEEP_MIN(SEEP_MIN(room, most), thread->ring_mask + 1 - place);
    if (room && thread->ring_written <= thread->ring_mask)
        map_ahead(thread);
}

void seep_event_note(struct seep_thread *thread, uint32_t kind, uint64_t address, uint32_t site,
                     uint64_t size) {
    uint64_t *at = map_entry(address);
    uint64_t *last_here = at ? event_stamp_of(at) : NULL;
    events_make_room(thread, 1); // an operation may have several
    if (SEEP_UNLIKELY(size >> SEEP_ENTRY_SIZE_BITS)) {
        event_append(thread, SEEP_EVENT_WIDE, size, 0, NULL);
        events_make_room(thread, 1);
        size = 0;
    }
    event_append(thread, kind, address, SEEP_ENTRY_MAKE(site, map_sub(address), size), last_here);
}
