// SPDX-License-Identifier: BSD-2-Clause
// The undo log of a fork, see undo.h.
#include "preload/undo.h"

#include "preload/heap_map.h"
#include "preload/window.h"

enum { NR_LOGS = 64, NR_ENTRIES = 262144 };
_Static_assert(sizeof(((struct seep_thread *)0)->undo_opened) / sizeof(uint32_t) == NR_LOGS, "one each");

enum { FREE = 0, OPEN = 1, FULL = 2, LEFT = 3 };

struct undo_entry {
    uint64_t before;
    uint64_t after;
    _Atomic uint64_t address; // written last
};

// Children that are pending at the same time share a log: each undoes what was noted since its own
// fork. A log that is half full takes no more of them, so each can fall behind by half a log at least,
// and no more than three logs are being written at a time, however many children there are.
enum { NR_ENTRIES_TO_JOIN = NR_ENTRIES / 2 };

struct undo_log {
    _Atomic uint32_t state;
    _Atomic uint32_t generation; // grows when it is opened
    _Atomic uint32_t nr;         // entries begun
    _Atomic uint32_t opened;     // changes whose counters are not yet right
    _Atomic uint32_t users;      // processes that may still need it
    _Atomic uint32_t inexact;    // something happened that no entry says
    struct undo_entry entries[NR_ENTRIES];
};

static struct undo_log *logs[NR_LOGS]; // shared memory; the parent's own array

// What a child undoes: the entries from `first` on, as long as the log has not been opened again.
struct place {
    struct undo_log *log; // NULL: none
    uint32_t generation;
    uint32_t first;
};

static struct place own; // in a child: of its fork
static bool own_missing; // in a child: there was no log to be had
static uint32_t own_pid; // in a child: itself; a vfork child of it has the same memory

static struct undo_log *shared_log(void) {
    return sys_mmap(NULL, sizeof(struct undo_log), PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

// Zeroes what was used, and opens the log. Only by the process whose array it is in.
static void open_log(struct undo_log *log) {
    uint32_t nr = SEEP_MIN(atomic_load_explicit(&log->nr, memory_order_relaxed), (uint32_t)NR_ENTRIES);
    atomic_fetch_add_explicit(&log->generation, 1, memory_order_seq_cst);
    __builtin_memset(log->entries, 0, nr * sizeof(log->entries[0]));
    atomic_store_explicit(&log->nr, 0, memory_order_relaxed);
    atomic_store_explicit(&log->opened, 0, memory_order_relaxed);
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

// A log that nobody needs; else one that is full, whose children have to do without.
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

// Whether a thread has come out of the hook that it was in, or has begun another operation since: its
// block or its bytes are others then.
static bool is_out(const struct seep_thread *thread, uint64_t guard, uint64_t block, int64_t room) {
    return __atomic_load_n(&thread->guard, __ATOMIC_ACQUIRE) != guard || thread->last_block != block ||
           !thread->slot || thread->slot->net_room != room;
}

// A thread that looked before the log was open may be in the middle of an operation that is not in it.
// Where one does not come out of its hook soon (it is not running), the log says so.
static void wait_for_hooks(struct undo_log *log) {
    uint64_t nr_slots = seep_g.header->areas[SEEP_AREA_THREADS].used;
    for (uint64_t i = 0; i < nr_slots; i++) {
        const struct seep_thread *thread = seep_g.thread_of_slot[i];
        uint64_t guard = thread ? __atomic_load_n(&thread->guard, __ATOMIC_ACQUIRE) : SEEP_GUARD_WIPED;
        if (SEEP_GUARD_IS_IDLE(guard) || guard == SEEP_GUARD_WIPED || thread == seep_self || !thread->slot)
            continue;
        uint64_t block = thread->last_block;
        int64_t room = thread->slot->net_room;
        int patience = 100;
        while (patience && !is_out(thread, guard, block, room)) {
            patience--;
            sys3(SYS_sched_yield, 0, 0, 0);
        }
        if (!patience)
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

static struct place place_now(struct undo_log *log) {
    if (!log)
        return (struct place){NULL, 0, 0};
    return (struct place){log, atomic_load_explicit(&log->generation, memory_order_relaxed),
                          atomic_load_explicit(&log->nr, memory_order_relaxed)};
}

// Whether the log is still that of the fork.
static bool is_current(const struct place *place) {
    return place->log &&
           atomic_load_explicit(&place->log->generation, memory_order_seq_cst) == place->generation;
}

static struct place pending; // set by prepare for the child that is about to be

void seep_undo_prepare(void) {
    pending = place_now(NULL);
    if (!is_ready() || seep_g.config.ignore_children)
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
    pending = place_now(log_for_child());
    if (pending.log)
        atomic_fetch_or_explicit(&seep_g.mode.special, SEEP_SPECIAL_UNDO, memory_order_seq_cst);
    seep_lock_release(&seep_g.fork_lock);
}

void seep_undo_in_child(void) {
    own = pending;
    own_missing = !own.log;
    own_pid = sys_getpid();
    // What was pending for the parent is nothing to this process.
    atomic_fetch_and_explicit(&seep_g.mode.special, ~SEEP_SPECIAL_UNDO, memory_order_relaxed);
    for (int i = 0; i < NR_LOGS; i++)
        if (logs[i] && logs[i] != own.log)
            sys_munmap(logs[i], sizeof(*logs[i]));
    __builtin_memset(logs, 0, sizeof(logs));
    seep_lock_release(&seep_g.fork_lock);
}

void seep_undo_note(struct seep_thread *thread, uint64_t address, uint64_t before, uint64_t after) {
    bool any = false;
    for (int i = 0; i < NR_LOGS; i++) {
        struct undo_log *log = logs[i];
        uint32_t state = state_of(log);
        if (state == LEFT) // should a child need it again after all: this change is not in it
            atomic_store_explicit(&log->inexact, 1, memory_order_relaxed);
        if (state != OPEN)
            continue;
        any = true;
        // In this order: who finds the entry counted finds the change open.
        atomic_fetch_add_explicit(&log->opened, 1, memory_order_relaxed);
        uint32_t at = atomic_fetch_add_explicit(&log->nr, 1, memory_order_acq_rel);
        if (at >= NR_ENTRIES) {
            atomic_fetch_sub_explicit(&log->opened, 1, memory_order_relaxed);
            atomic_store_explicit(&log->state, FULL, memory_order_release);
            continue;
        }
        thread->undo_opened[i]++;
        log->entries[at].before = before;
        log->entries[at].after = after;
        atomic_store_explicit(&log->entries[at].address, address, memory_order_release);
    }
    if (!any)
        atomic_fetch_and_explicit(&seep_g.mode.special, ~SEEP_SPECIAL_UNDO, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst); // the change itself comes after
}

void seep_undo_done(struct seep_thread *thread) {
    for (int i = 0; i < NR_LOGS; i++) {
        if (thread->undo_opened[i])
            atomic_fetch_sub_explicit(&logs[i]->opened, thread->undo_opened[i], memory_order_release);
        thread->undo_opened[i] = 0;
    }
}

void seep_undo_note_odd(void) {
    for (int i = 0; i < NR_LOGS; i++)
        if (logs[i] && atomic_load_explicit(&logs[i]->state, memory_order_acquire) == OPEN)
            atomic_store_explicit(&logs[i]->inexact, 1, memory_order_relaxed);
}

// ---- in the child ---------------------------------------------------------------------------------

static unsigned char *pool_in(unsigned char *fresh) {
    return fresh + (seep_g.pool - seep_g.base);
}

// Pointers into the copy, as map_entry and counters_of have them for the image in its place.
static uint64_t *entry_in(unsigned char *fresh, uint64_t address) {
    unsigned char *at = (unsigned char *)map_entry(address);
    uint64_t off = at ? (uint64_t)(at - seep_g.pool) : UINT64_MAX;
    return off < seep_window_visible(SEEP_AREA_POOL) ? (uint64_t *)(pool_in(fresh) + off) : NULL;
}

static struct seep_image_counters *counters_in(unsigned char *fresh, uint64_t slot, uint32_t site) {
    uint64_t dir_page = seep_g.threads[slot].chunk_dir_page;
    uint64_t visible = seep_window_visible(SEEP_AREA_POOL) / SEEP_POOL_PAGE;
    if (!dir_page || dir_page + SEEP_CHUNKS_PER_THREAD * sizeof(uint32_t) / SEEP_POOL_PAGE > visible)
        return NULL;
    const uint32_t *dir = (const uint32_t *)(seep_g.pool + dir_page * SEEP_POOL_PAGE);
    uint32_t page = dir[site >> SEEP_CHUNK_SITES_SHIFT];
    if (!page || page + SEEP_CHUNK_SITES * sizeof(struct seep_image_counters) / SEEP_POOL_PAGE > visible)
        return NULL;
    return (struct seep_image_counters *)(pool_in(fresh) + (uint64_t)page * SEEP_POOL_PAGE) +
           (site & (SEEP_CHUNK_SITES - 1));
}

// Copies slots and counters once more: they are small, and must be of one moment with the log.
static void copy_counters(unsigned char *fresh) {
    const struct seep_image_area *threads = &seep_g.header->areas[SEEP_AREA_THREADS];
    uint64_t nr_sites = seep_g.header->areas[SEEP_AREA_SITES].used;
    uint64_t nr_slots =
        SEEP_MIN(threads->used, seep_window_visible(SEEP_AREA_THREADS) / sizeof(struct seep_image_thread));
    __builtin_memcpy(fresh + threads->off, seep_g.base + threads->off,
                     nr_slots * sizeof(struct seep_image_thread));
    for (uint64_t slot = 0; slot < nr_slots; slot++)
        for (uint64_t site = 0; site < nr_sites; site += SEEP_CHUNK_SITES) {
            struct seep_image_counters *to = counters_in(fresh, slot, (uint32_t)site);
            if (!to)
                continue;
            // Pages that were never written stay holes: reading them here would make them.
            uint64_t nr = SEEP_MIN(nr_sites - site, (uint64_t)SEEP_CHUNK_SITES);
            uint64_t nr_pages = (nr * sizeof(*to) + SEEP_POOL_PAGE - 1) / SEEP_POOL_PAGE;
            unsigned char present[SEEP_CHUNK_SITES * sizeof(*to) / SEEP_POOL_PAGE];
            const unsigned char *from = seep_g.base + ((unsigned char *)to - fresh);
            if (!seep_pages_present(from, nr_pages, present))
                continue;
            for (uint64_t page = 0; page < nr_pages; page++)
                if (present[page] & 1)
                    __builtin_memcpy((unsigned char *)to + page * SEEP_POOL_PAGE,
                                     from + page * SEEP_POOL_PAGE, SEEP_POOL_PAGE);
        }
}

// Entries [0, *ret_nr) are exactly the changes that the copied counters contain. false: the parent
// was too busy for that; then they are to within a few events.
static bool copy_counters_of_one_moment(unsigned char *fresh, const struct undo_log *log, uint32_t *ret_nr) {
    for (int i = 0; i < 100; i++) {
        uint32_t nr = atomic_load_explicit(&log->nr, memory_order_acquire);
        bool quiet = atomic_load_explicit(&log->opened, memory_order_acquire) == 0;
        copy_counters(fresh);
        atomic_thread_fence(memory_order_seq_cst);
        *ret_nr = SEEP_MIN(nr, (uint32_t)NR_ENTRIES);
        if (quiet && atomic_load_explicit(&log->nr, memory_order_acquire) == nr)
            return true;
        sys3(SYS_sched_yield, 0, 0, 0);
    }
    return false;
}

// Takes one event back from the counters of a slot that has counted such an event.
static void uncount(unsigned char *fresh, uint64_t entry, bool allocation) {
    const struct seep_image_area *area = &seep_g.header->areas[SEEP_AREA_THREADS];
    struct seep_image_thread *slots = (struct seep_image_thread *)(fresh + area->off);
    uint64_t size = SEEP_ENTRY_SIZE(entry);
    uint64_t nr_slots =
        SEEP_MIN(area->used, seep_window_visible(SEEP_AREA_THREADS) / sizeof(struct seep_image_thread));
    for (uint64_t slot = 0; slot < nr_slots; slot++) {
        struct seep_image_counters *counters = counters_in(fresh, slot, SEEP_ENTRY_SITE(entry));
        uint64_t *events = !counters ? NULL : allocation ? &counters->allocations : &counters->frees;
        uint64_t *bytes = !counters ? NULL : allocation ? &counters->allocated_bytes : &counters->freed_bytes;
        if (!counters || *events == 0 || *bytes < size)
            continue;
        --*events;
        *bytes -= size;
        slots[slot].net_room += allocation ? (int64_t)size : -(int64_t)size;
        if (allocation)
            slots[slot].size_class[63u - (uint32_t)__builtin_clzll(size << 1 | 1)]--;
        return;
    }
}

bool seep_undo_apply(unsigned char *fresh) {
    struct undo_log *log = own.log;
    if (!log) // and no fork handler ran in a child of a raw clone: what the parent did since is not known
        return !own_missing && own_pid == sys_getpid();
    uint32_t nr = 0;
    bool exact = is_current(&own) && copy_counters_of_one_moment(fresh, log, &nr);
    // The map was copied before: entries that came since then are undone too, though not uncounted.
    uint32_t nr_all = SEEP_MIN(atomic_load_explicit(&log->nr, memory_order_acquire), (uint32_t)NR_ENTRIES);
    for (uint32_t i = is_current(&own) ? nr_all : 0; i > own.first; i--) {
        const struct undo_entry *entry = &log->entries[i - 1];
        uint64_t address = atomic_load_explicit(&entry->address, memory_order_acquire);
        for (int spin = 0; !address && spin < 1000; spin++) {
            sys3(SYS_sched_yield, 0, 0, 0);
            address = atomic_load_explicit(&entry->address, memory_order_acquire);
        }
        uint64_t *at = address ? entry_in(fresh, address) : NULL;
        if (!at) {
            exact = false;
            continue;
        }
        *at = entry->before;
        if (i > nr)
            continue;
        if (entry->after)
            uncount(fresh, entry->after, true);
        else
            uncount(fresh, entry->before, false);
    }
    exact = exact && state_of(log) == OPEN && !atomic_load_explicit(&log->inexact, memory_order_relaxed) &&
            is_current(&own);
    seep_undo_leave();
    own = place_now(NULL);
    sys_munmap(log, sizeof(*log));
    return exact;
}

void seep_undo_leave(void) {
    if (sys_getpid() != own_pid || !is_current(&own))
        return;
    if (atomic_fetch_sub_explicit(&own.log->users, 1, memory_order_acq_rel) == 1) {
        uint32_t open = OPEN;
        atomic_compare_exchange_strong_explicit(&own.log->state, &open, LEFT, memory_order_release,
                                                memory_order_relaxed);
    }
}

void seep_undo_need_again(void) {
    if (sys_getpid() != own_pid || !is_current(&own))
        return;
    atomic_fetch_add_explicit(&own.log->users, 1, memory_order_relaxed);
    uint32_t left = LEFT;
    // If the parent has not looked meanwhile, nothing was missed; else apply will see that it is not open.
    atomic_compare_exchange_strong_explicit(&own.log->state, &left, OPEN, memory_order_acq_rel,
                                            memory_order_relaxed);
}
