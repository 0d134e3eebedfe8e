// SPDX-License-Identifier: BSD-2-Clause
// The undo log of a fork, see fork_undo.h.
#include "preload/fork_undo.h"

#include "preload/heap_map.h"
#include "preload/image_window.h"

enum { NR_LOGS = 64, NR_ENTRIES = 262144 };
_Static_assert(sizeof(((struct seep_thread *)0)->undo_open) / sizeof(bool) == NR_LOGS, "one each");

enum { FREE = 0, OPEN = 1, FULL = 2, LEFT = 3 };

struct undo_entry {
    uint64_t before;
    uint64_t after;
    _Atomic uint64_t who_where; // slot and address of the block; written last
};

enum { SLOT_SHIFT = 48, NR_SLOTS = 65536 };
_Static_assert(SEEP_ADDRESS_BITS <= SLOT_SHIFT, "");

#define WHO(entry)   ((entry) >> SLOT_SHIFT)
#define WHERE(entry) ((entry) & ((UINT64_C(1) << SLOT_SHIFT) - 1))

// Of the entries of one slot. Who copies its counters while the two are equal and stay so has exactly
// the changes that were begun: the parent's other threads need not stand still for that.
struct undo_slot {
    _Atomic uint32_t begun;
    _Atomic uint32_t done; // up to here its counters are right, too
    _Atomic uint32_t held; // a child is at that, and asks for a moment without a change
    uint32_t first;        // `noted` of the slot at its first entry
};

// Children that are pending at the same time share a log: each undoes what was noted since its own
// fork. A log that is half full takes no more of them, so each can fall behind by half a log at least,
// and no more than three logs are being written at a time, however many children there are.
enum { NR_ENTRIES_TO_JOIN = NR_ENTRIES / 2, NR_ENTRIES_A_TURN = 1024 };

struct undo_log {
    _Atomic uint32_t state;
    _Atomic uint32_t generation; // grows when it is opened
    _Atomic uint32_t nr;         // entries begun
    _Atomic uint32_t users;      // processes that may still need it
    _Atomic uint32_t inexact;    // something happened that no entry says
    struct undo_slot slots[NR_SLOTS];
    struct undo_entry entries[NR_ENTRIES];
};

static struct undo_log *logs[NR_LOGS]; // shared memory; the parent's own array

// Changes noted by each slot, in memory that is not shared: in a child, how many there were at the very
// fork. What other threads do between the handler that chose the log and the fork is not undone then.
static _Atomic uint32_t noted[NR_SLOTS];

// A log, as long as it has not been opened again.
struct place {
    struct undo_log *log; // NULL: none
    uint32_t generation;
};

static struct place own; // in a child: of its fork
static bool own_missing; // in a child: there was no log to be had
static uint32_t own_pid; // in a child: itself, once it was asked for; a vfork child of it has the same memory

static struct undo_log *shared_log(void) {
    void *log = sys_mmap(NULL, sizeof(struct undo_log), PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (log) // it has addresses of blocks
        sys_mark_as_ours(log, sizeof(struct undo_log));
    return log;
}

uint64_t seep_undo_part(int number, uint64_t *ret_bytes) {
    // A child that has no image yet has the log of its fork, and no other log.
    const struct undo_log *of_fork = number == 0 ? __atomic_load_n(&own.log, __ATOMIC_RELAXED) : NULL;
    const struct undo_log *log = of_fork ? of_fork : __atomic_load_n(&logs[number], __ATOMIC_RELAXED);
    *ret_bytes = log ? sizeof(*log) : 0;
    return (uintptr_t)log;
}

// Zeroes what was used, and opens the log. Only by the process whose array it is in.
static void open_log(struct undo_log *log) {
    uint32_t nr = SEEP_MIN(atomic_load_explicit(&log->nr, memory_order_relaxed), (uint32_t)NR_ENTRIES);
    atomic_fetch_add_explicit(&log->generation, 1, memory_order_seq_cst);
    __builtin_memset(log->entries, 0, nr * sizeof(log->entries[0]));
    atomic_store_explicit(&log->nr, 0, memory_order_relaxed);
    __builtin_memset(log->slots, 0, seep_g.header->areas[SEEP_AREA_THREADS].used * sizeof(log->slots[0]));
    atomic_store_explicit(&log->inexact, 0, memory_order_relaxed);
    atomic_store_explicit(&log->users, 1, memory_order_relaxed);
    atomic_store_explicit(&log->state, OPEN, memory_order_release);
}

static bool is_ready(void) {
    return atomic_load_explicit(&seep_g.entry, memory_order_acquire) == SEEP_ENTRY_READY;
}

static uint32_t state_of(const struct undo_log *log) {
    return log ? atomic_load_explicit(&log->state, memory_order_acquire) : FREE;
}

// One more user, unless the last one has just gone.
static bool join(struct undo_log *log) {
    if (state_of(log) != OPEN || atomic_load_explicit(&log->nr, memory_order_relaxed) >= NR_ENTRIES_TO_JOIN ||
        atomic_load_explicit(&log->inexact, memory_order_relaxed))
        return false;
    uint32_t users = atomic_load_explicit(&log->users, memory_order_relaxed);
    while (users)
        if (atomic_compare_exchange_weak_explicit(&log->users, &users, users + 1, memory_order_acq_rel,
                                                  memory_order_relaxed))
            return true;
    return false;
}

// A log that is not needed; else one that is full, whose children have to do without.
static struct undo_log *idle_log(void) {
    struct undo_log *full = NULL;
    for (int i = 0; i < NR_LOGS; i++) {
        if (!logs[i])
            logs[i] = shared_log();
        if (!logs[i])
            return full;
        uint32_t state = state_of(logs[i]);
        if (state == FREE || state == LEFT ||
            (state == FULL && atomic_load_explicit(&logs[i]->users, memory_order_acquire) == 0))
            return logs[i];
        if (state == FULL)
            full = logs[i];
    }
    return full;
}

// For a thread that is not running to come to its next instructions: with more threads than processors
// that takes some turns of others. All rounds together are 50 ms and more, by what a nap takes, and seldom
// more than a few are needed. A thread in a call of the allocator may wait for a lock that this fork holds,
// as jemalloc's handlers take them: it has few rounds.
enum { NR_ROUNDS = 530, NR_YIELDS = 30, NR_ROUNDS_IN_CALL = 40 };

static void wait_a_round(int round) {
    if (round < NR_YIELDS)
        sys3(SYS_sched_yield, 0, 0, 0);
    else
        sys_nap_us(100);
}

// Whether a thread has come out of the hook that it was in, or has begun another operation since: its
// block or its bytes are others then.
static bool is_out(const struct seep_thread *thread, uint64_t guard, uint64_t block, int64_t room) {
    return __atomic_load_n(&thread->guard, __ATOMIC_ACQUIRE) != guard || thread->last_block != block ||
           !thread->slot || thread->slot->net_room != room;
}

// A thread that looked before the log was open may be in the middle of an operation that is not in it.
// Where one does not come out of its hook soon (it is not running), the log says so.
static void wait_for_hooks(struct undo_log *log) {
    uint32_t nr_slots = (uint32_t)seep_g.header->areas[SEEP_AREA_THREADS].used;
    int round = 0; // of all threads
    for (uint32_t i = 0; i < nr_slots; i++) {
        const struct seep_thread *thread = seep_g.thread_of_slot[i];
        uint64_t guard = thread ? __atomic_load_n(&thread->guard, __ATOMIC_ACQUIRE) : SEEP_GUARD_WIPED;
        if (SEEP_GUARD_IS_IDLE(guard) || guard == SEEP_GUARD_WIPED || thread == seep_self() || !thread->slot)
            continue;
        uint64_t block = thread->last_block;
        int64_t room = thread->slot->net_room;
        int nr_own = 0;
        bool out;
        while (!(out = is_out(thread, guard, block, room)) && round < NR_ROUNDS &&
               (nr_own < NR_ROUNDS_IN_CALL || !__atomic_load_n(&thread->quiet, __ATOMIC_RELAXED))) {
            wait_a_round(nr_own++);
            round++;
        }
        if (!out)
            atomic_store_explicit(&log->inexact, 1, memory_order_relaxed);
    }
}

static struct undo_log *log_for_child(void) {
    for (int i = 0; i < NR_LOGS; i++)
        if (join(logs[i]))
            return logs[i];
    struct undo_log *log = idle_log();
    if (log) {
        open_log(log);
        atomic_fetch_or_explicit(&seep_g.mode.special, SEEP_SPECIAL_UNDO, memory_order_seq_cst);
        wait_for_hooks(log);
    }
    return log;
}

static struct place place_of(struct undo_log *log) {
    return (struct place){log, log ? atomic_load_explicit(&log->generation, memory_order_relaxed) : 0};
}

// Whether the log is still that of the fork.
static bool is_current(const struct place *place) {
    return place->log &&
           atomic_load_explicit(&place->log->generation, memory_order_seq_cst) == place->generation;
}

static struct place pending; // set by prepare for the child that is about to be

void seep_undo_prepare(void) {
    pending = place_of(NULL);
    if (!is_ready() || seep_g.config.ignore_children || !seep_calls_are_free()) // or it will have no image
        return;
    if (atomic_load_explicit(seep_g.alive, memory_order_acquire) != 1) {
        // A child without an image forks: its children are at the same point of the same parent.
        if (is_current(&own)) {
            pending = own;
            atomic_fetch_add_explicit(&own.log->users, 1, memory_order_relaxed);
        }
        return;
    }
    if (!seep_lock_take(&seep_g.fork_lock))
        return;
    pending = place_of(log_for_child());
    if (pending.log)
        atomic_fetch_or_explicit(&seep_g.mode.special, SEEP_SPECIAL_UNDO, memory_order_seq_cst);
    seep_lock_release(&seep_g.fork_lock);
}

void seep_undo_in_child(void) {
    own = pending;
    pending = place_of(NULL); // the log goes in the end, and its address may be a block's
    own_missing = !own.log;
    own_pid = own.log ? sys_getpid() : 0;
    // What was pending for the parent is nothing to this process.
    atomic_fetch_and_explicit(&seep_g.mode.special, ~SEEP_SPECIAL_UNDO, memory_order_relaxed);
    for (int i = 0; i < NR_LOGS; i++)
        if (logs[i] && logs[i] != own.log)
            sys_munmap(logs[i], sizeof(*logs[i]));
    __builtin_memset(logs, 0, sizeof(logs));
    seep_lock_release(&seep_g.fork_lock);
}

// The program may have installed a filter of system calls since the fork.
static SEEP_NOINLINE void give_turn(void) {
    if (seep_calls_are_free())
        sys3(SYS_sched_yield, 0, 0, 0);
}

// At most some microseconds, or until a child that is not running gets its turn; one that died at it is
// not waited for again.
static void let_child_copy(struct undo_slot *slot) {
    for (int i = 0; i < NR_YIELDS && atomic_load_explicit(&slot->held, memory_order_relaxed); i++)
        give_turn();
    if (atomic_load_explicit(&slot->held, memory_order_relaxed))
        atomic_store_explicit(&slot->held, 0, memory_order_relaxed);
}

void seep_undo_note(struct seep_thread *thread, uint64_t address, uint64_t before, uint64_t after) {
    uint32_t index = thread->slot_index;
    bool any = false;
    for (int i = 0; i < NR_LOGS; i++) {
        struct undo_log *log = logs[i];
        uint32_t state = state_of(log);
        if (state == LEFT) // should a child need it again after all: this change is not in it
            atomic_store_explicit(&log->inexact, 1, memory_order_relaxed);
        if (state != OPEN)
            continue;
        any = true;
        uint32_t at = atomic_fetch_add_explicit(&log->nr, 1, memory_order_acq_rel);
        if (at >= NR_ENTRIES) {
            atomic_store_explicit(&log->state, FULL, memory_order_release);
            continue;
        }
        if (at >= NR_ENTRIES_TO_JOIN && at % NR_ENTRIES_A_TURN == 0)
            give_turn();
        struct undo_slot *slot = &log->slots[index];
        let_child_copy(slot);
        uint32_t begun = atomic_load_explicit(&slot->begun, memory_order_relaxed);
        if (begun == 0)
            slot->first = atomic_load_explicit(&noted[index], memory_order_relaxed);
        atomic_store_explicit(&slot->begun, begun + 1, memory_order_relaxed);
        thread->undo_open[i] = true;
        thread->undo_any = true;
        log->entries[at].before = before;
        log->entries[at].after = after;
        atomic_store_explicit(&log->entries[at].who_where, (uint64_t)index << SLOT_SHIFT | address,
                              memory_order_release);
    }
    if (!any)
        atomic_fetch_and_explicit(&seep_g.mode.special, ~SEEP_SPECIAL_UNDO, memory_order_relaxed);
    atomic_fetch_add_explicit(&noted[index], 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst); // the change itself comes after
}

void seep_undo_done(struct seep_thread *thread) {
    if (SEEP_LIKELY(!thread->undo_any))
        return;
    thread->undo_any = false;
    for (int i = 0; i < NR_LOGS; i++) {
        if (!thread->undo_open[i])
            continue;
        struct undo_slot *slot = &logs[i]->slots[thread->slot_index];
        atomic_store_explicit(&slot->done, atomic_load_explicit(&slot->begun, memory_order_relaxed),
                              memory_order_release);
        thread->undo_open[i] = false;
    }
}

void seep_undo_note_odd(void) {
    for (int i = 0; i < NR_LOGS; i++)
        if (logs[i] && atomic_load_explicit(&logs[i]->state, memory_order_acquire) == OPEN)
            atomic_store_explicit(&logs[i]->inexact, 1, memory_order_relaxed);
}

// ---- in the child ---------------------------------------------------------------------------------

// The entry of the copy's map, as map_entry has it for the image in its place.
static uint64_t *entry_in(unsigned char *fresh, uint64_t address) {
    unsigned char *at = (unsigned char *)map_entry(address);
    uint64_t off = at ? (uint64_t)(at - seep_g.pages) : UINT64_MAX;
    return off < seep_window_visible(SEEP_AREA_PAGES)
               ? (uint64_t *)(fresh + (seep_g.pages - seep_g.base) + off)
               : NULL;
}

static struct seep_image_thread *slots_in(unsigned char *fresh) {
    return (struct seep_image_thread *)(fresh + seep_g.area_off[SEEP_AREA_THREADS]);
}

static uint64_t nr_slots(void) {
    return SEEP_MIN(seep_g.header->areas[SEEP_AREA_THREADS].used,
                    seep_window_visible(SEEP_AREA_THREADS) / sizeof(struct seep_image_thread));
}

#define DIR_BYTES   (SEEP_CHUNKS_PER_THREAD * sizeof(uint32_t))
#define CHUNK_BYTES (SEEP_CHUNK_SITES * sizeof(struct seep_image_counters))

static struct seep_image_counters *counters_in(unsigned char *fresh, uint64_t slot, uint32_t site) {
    const uint32_t *dir = slot < nr_slots() && site < SEEP_MAX_SITES
                              ? seep_window_pages(fresh, slots_in(fresh)[slot].chunk_dir_page, DIR_BYTES)
                              : NULL;
    struct seep_image_counters *chunk =
        dir ? seep_window_pages(fresh, dir[site >> SEEP_CHUNK_SITES_SHIFT], CHUNK_BYTES) : NULL;
    return chunk ? &chunk[site & (SEEP_CHUNK_SITES - 1)] : NULL;
}

// Copies the counters of the first `nr` sites of a chunk. false: they cannot be seen.
static bool copy_chunk(unsigned char *fresh, uint32_t chunk_page, uint64_t nr) {
    const unsigned char *from = seep_window_pages(seep_g.base, chunk_page, CHUNK_BYTES);
    unsigned char *to = seep_window_pages(fresh, chunk_page, CHUNK_BYTES);
    uint64_t nr_pages = (nr * sizeof(struct seep_image_counters) + SEEP_IMAGE_PAGE - 1) / SEEP_IMAGE_PAGE;
    // Pages that were never written stay holes: reading them here would make them.
    unsigned char present[CHUNK_BYTES / SEEP_IMAGE_PAGE];
    if (!from || !seep_pages_present(from, nr_pages, present))
        return false;
    for (uint64_t at = 0; at < nr_pages * SEEP_IMAGE_PAGE; at += SEEP_IMAGE_PAGE)
        if (present[at / SEEP_IMAGE_PAGE] & 1)
            __builtin_memcpy(to + at, from + at, SEEP_IMAGE_PAGE);
    return true;
}

// Copies a slot and its counters once more: they are small, and must be of one moment with the log.
// Counters that are new since the pages were copied come with the entry of the table that leads to them.
// false: not all of them can be seen.
static bool copy_slot(unsigned char *fresh, uint64_t slot) {
    uint64_t nr_sites = __atomic_load_n(&seep_g.header->areas[SEEP_AREA_SITES].used, __ATOMIC_ACQUIRE);
    slots_in(fresh)[slot] = seep_g.threads[slot];
    uint64_t dir_page = slots_in(fresh)[slot].chunk_dir_page;
    const uint32_t *from = seep_window_pages(seep_g.base, dir_page, DIR_BYTES);
    uint32_t *to = seep_window_pages(fresh, dir_page, DIR_BYTES);
    if (!from)
        return dir_page == 0;
    for (uint64_t first = 0; first < nr_sites; first += SEEP_CHUNK_SITES) {
        uint64_t chunk = first >> SEEP_CHUNK_SITES_SHIFT;
        uint32_t page = __atomic_load_n(&from[chunk], __ATOMIC_ACQUIRE);
        if (!page)
            continue;
        to[chunk] = page;
        if (!copy_chunk(fresh, page, SEEP_MIN(nr_sites - first, (uint64_t)SEEP_CHUNK_SITES)))
            return false;
    }
    return true;
}

// The first *ret_nr entries of the slot are exactly the changes that its copied counters contain.
// false: its thread was too busy for that, or did not run in *round to NR_ROUNDS; then they are to within
// a few events.
static bool copy_slot_of_one_moment(unsigned char *fresh, uint64_t slot, struct undo_slot *log, int *round,
                                    uint32_t *ret_nr) {
    bool quiet = false;
    bool complete = false;
    do {
        atomic_store_explicit(&log->held, 1, memory_order_seq_cst);
        uint32_t done = atomic_load_explicit(&log->done, memory_order_acquire);
        *ret_nr = atomic_load_explicit(&log->begun, memory_order_acquire);
        if (done == *ret_nr || *round >= NR_ROUNDS) {
            complete = copy_slot(fresh, slot);
            atomic_thread_fence(memory_order_seq_cst);
            quiet = done == *ret_nr && atomic_load_explicit(&log->begun, memory_order_acquire) == *ret_nr;
        }
        atomic_store_explicit(&log->held, 0, memory_order_relaxed);
        if (!quiet && *round < NR_ROUNDS)
            wait_a_round(*round);
    } while (!quiet && (*round)++ < NR_ROUNDS);
    return quiet && complete;
}

// Takes one event back from the counters of the slot that noted it. false: they do not have it.
static bool uncount(unsigned char *fresh, uint32_t slot, uint64_t entry, bool allocation) {
    uint64_t size = SEEP_ENTRY_SIZE(entry);
    struct seep_image_counters *counters = counters_in(fresh, slot, SEEP_ENTRY_SITE(entry));
    uint64_t *events = !counters ? NULL : allocation ? &counters->allocations : &counters->frees;
    uint64_t *bytes = !counters ? NULL : allocation ? &counters->allocated_bytes : &counters->freed_bytes;
    if (!counters || *events == 0 || *bytes < size)
        return false;
    --*events;
    *bytes -= size;
    slots_in(fresh)[slot].net_room += allocation ? (int64_t)size : -(int64_t)size;
    return true;
}

// An entry that was begun is whole after a moment. 0: it is not.
static uint64_t who_where_of(const struct undo_entry *entry) {
    uint64_t value = atomic_load_explicit(&entry->who_where, memory_order_acquire);
    for (int spin = 0; !value && spin < 1000; spin++) {
        sys3(SYS_sched_yield, 0, 0, 0);
        value = atomic_load_explicit(&entry->who_where, memory_order_acquire);
    }
    return value;
}

struct progress {
    uint32_t copied; // entries of the slot that its copied counters contain
    uint32_t nr;     // entries of it
};

// Undoes what came after the fork. false: not exactly.
static bool undo(unsigned char *fresh, struct undo_log *log, struct progress *of_slot) {
    uint64_t nr = nr_slots();
    bool exact = nr == seep_g.header->areas[SEEP_AREA_THREADS].used;
    int round = 0;
    for (uint64_t slot = 0; slot < nr; slot++)
        exact &= copy_slot_of_one_moment(fresh, slot, &log->slots[slot], &round, &of_slot[slot].copied);
    // The map was copied before: entries that came since then are undone too, though not uncounted.
    uint32_t nr_entries =
        SEEP_MIN(atomic_load_explicit(&log->nr, memory_order_acquire), (uint32_t)NR_ENTRIES);
    for (uint32_t i = 0; i < nr_entries; i++)
        of_slot[WHO(who_where_of(&log->entries[i]))].nr++;
    for (uint32_t i = nr_entries; i-- > 0;) {
        const struct undo_entry *entry = &log->entries[i];
        uint64_t who_where = who_where_of(entry);
        uint32_t slot = WHO(who_where);
        uint32_t nr_before = --of_slot[slot].nr;
        if ((int32_t)(log->slots[slot].first + nr_before - noted[slot]) < 0)
            continue; // before the fork
        uint64_t *at = who_where ? entry_in(fresh, WHERE(who_where)) : NULL;
        if (at)
            *at = entry->before;
        exact &= at != NULL;
        if (nr_before < of_slot[slot].copied)
            exact &= uncount(fresh, slot, entry->after ? entry->after : entry->before, entry->after != 0);
    }
    return exact;
}

bool seep_undo_apply(unsigned char *fresh) {
    struct undo_log *log = own.log;
    if (!log) // and no fork handler ran in a child of a raw clone: what the parent did since is not known
        return !own_missing && seep_fork_was_told();
    struct progress *of_slot = is_current(&own) ? sys_private(NR_SLOTS * sizeof(*of_slot)) : NULL;
    bool exact = of_slot && undo(fresh, log, of_slot) && state_of(log) == OPEN &&
                 !atomic_load_explicit(&log->inexact, memory_order_relaxed) && is_current(&own);
    if (of_slot)
        sys_munmap(of_slot, NR_SLOTS * sizeof(*of_slot));
    seep_undo_leave();
    own = place_of(NULL);
    sys_munmap(log, sizeof(*log));
    return exact;
}

// There is one, and we are no child of vfork. Under a filter of system calls that cannot be asked.
static bool is_ours(const struct place *place) {
    return is_current(place) && (!seep_calls_seem_free() || sys_getpid() == own_pid);
}

static void leave(struct undo_log *log) {
    if (atomic_fetch_sub_explicit(&log->users, 1, memory_order_acq_rel) == 1) {
        uint32_t open = OPEN;
        atomic_compare_exchange_strong_explicit(&log->state, &open, LEFT, memory_order_release,
                                                memory_order_relaxed);
    }
}

void seep_undo_leave(void) {
    if (is_ours(&own))
        leave(own.log);
}

void seep_undo_drop(void) {
    // A signal handler that interrupts this function finds no log.
    own_missing = true;
    const struct place last = {__atomic_exchange_n(&own.log, NULL, __ATOMIC_SEQ_CST), own.generation};
    if (is_ours(&last))
        leave(last.log);
    if (last.log)
        sys_munmap(last.log, sizeof(*last.log));
}

void seep_undo_make_room(void) {
    if (own.log && seep_calls_seem_free() && sys_getpid() == own_pid)
        seep_undo_drop();
}

void seep_undo_need_again(void) {
    if (!is_ours(&own))
        return;
    atomic_fetch_add_explicit(&own.log->users, 1, memory_order_relaxed);
    uint32_t left = LEFT;
    // If the parent has not looked meanwhile, nothing was missed; else apply will see that it is not open.
    atomic_compare_exchange_strong_explicit(&own.log->state, &left, OPEN, memory_order_acq_rel,
                                            memory_order_relaxed);
}
