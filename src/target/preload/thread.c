// SPDX-License-Identifier: BSD-2-Clause
//
// Threads and their slots. There is no hook on thread start or exit and no destructor: a thread gets
// a slot at its first heap operation, and the slot of a thread that the kernel no longer knows is
// taken over by a new one, counters and all (the sum over slots stays the truth). So nothing runs
// at thread exit, where so many tracers crash.
#include <sys/prctl.h>

#include "preload/sample.h"

__thread struct seep_thread *seep_self __attribute__((tls_model("initial-exec"), visibility("hidden")));

enum {
    MAX_SLOTS = 65536,
    LOOK_FOR_DEAD = 64, // slots looked at before a new one is opened
};

// Bytes of a thread's private mapping: the thread, its memo, its walk. Only what is used is touched.
#define FRAMES_BYTES (SEEP_MAX_DEPTH * sizeof(struct seep_memo_frame))
#define SLOTS_BYTES (SEEP_MAX_DEPTH * 3 * sizeof(struct seep_memo_slot))
#define WALK_BYTES (SEEP_MAX_DEPTH * sizeof(struct seep_walk_frame))
#define THREAD_BYTES ((sizeof(struct seep_thread) + 63) / 64 * 64)

static struct seep_thread *private_memory(uint32_t slot_index) {
    struct seep_thread *thread = seep_g.thread_of_slot[slot_index];
    if (!thread) {
        size_t bytes = THREAD_BYTES + FRAMES_BYTES + SLOTS_BYTES + WALK_BYTES;
        thread = sys_private(bytes);
        if (!thread)
            return NULL;
        if (sys3(SYS_madvise, thread, bytes, 18 /* MADV_WIPEONFORK */) != 0) {
            sys_munmap(thread, bytes);
            return NULL;
        }
        seep_g.thread_of_slot[slot_index] = thread;
    }
    unsigned char *at = (unsigned char *)thread + THREAD_BYTES;
    *thread = (struct seep_thread){
        .frames = (struct seep_memo_frame *)at,
        .slots = (struct seep_memo_slot *)(at + FRAMES_BYTES),
        .walk = (struct seep_walk_frame *)(at + FRAMES_BYTES + SLOTS_BYTES),
        .slot_index = slot_index,
        .tid = sys_gettid(),
    };
    return thread;
}

static bool is_dead(uint32_t tid) {
    return tid == 0 || sys3(SYS_tgkill, sys_getpid(), tid, 0) == -3 /* ESRCH */;
}

// A slot that was this very thread's, else one whose thread is gone, else a fresh one. threads_lock held.
static bool find_slot(uint32_t tid, uint32_t *ret_index) {
    struct seep_image_area *area = &seep_g.header->areas[SEEP_AREA_THREADS];
    uint32_t nr_used = (uint32_t)area->used;
    for (uint32_t i = 0; i < nr_used; i++) {
        if (seep_g.threads[i].tid == tid) {
            *ret_index = i;
            return true;
        }
    }
    for (uint32_t i = 0; i < SEEP_MIN(nr_used, (uint32_t)LOOK_FOR_DEAD); i++) {
        uint32_t index = (seep_g.thread_cursor + i) % nr_used;
        if (is_dead(seep_g.threads[index].tid)) {
            seep_g.thread_cursor = index + 1;
            *ret_index = index;
            return true;
        }
    }
    if (nr_used)
        seep_g.thread_cursor = (seep_g.thread_cursor + LOOK_FOR_DEAD) % nr_used;
    if (nr_used >= MAX_SLOTS || !seep_lock_take(&seep_g.image_lock))
        return false;
    bool opened = seep_area_open(SEEP_AREA_THREADS, (nr_used + 1) * sizeof(struct seep_image_thread));
    seep_lock_release(&seep_g.image_lock);
    if (!opened)
        return false;
    __atomic_store_n(&area->used, nr_used + 1, __ATOMIC_RELEASE);
    *ret_index = nr_used;
    return true;
}

static void read_name(struct seep_image_thread *slot) {
    char name[16] = "";
    if (sys6(SYS_prctl, PR_GET_NAME, (long)name, 0, 0, 0, 0) == 0)
        __builtin_memcpy(slot->name, name, sizeof(slot->name));
}

static struct seep_thread *take_slot(void) {
    uint32_t tid = sys_gettid();
    uint32_t index;
    if (!find_slot(tid, &index))
        return NULL;
    struct seep_image_thread *slot = &seep_g.threads[index];
    if (slot->chunk_dir_page == 0) {
        slot->chunk_dir_page = seep_pool_pages(SEEP_CHUNKS_PER_THREAD * sizeof(uint32_t));
        if (slot->chunk_dir_page == 0)
            return NULL;
    }
    struct seep_thread *thread = private_memory(index);
    if (!thread)
        return NULL;
    thread->slot = slot;
    thread->chunk_dir = (const uint32_t *)(seep_g.pool + slot->chunk_dir_page * SEEP_POOL_PAGE);
    slot->nr_owners++;
    slot->start_ns = sys_clock_ns(CLOCK_MONOTONIC);
    slot->tid = tid;
    read_name(slot);
    if (seep_g.sample_bytes)
        seep_sample_begin(thread);
    __atomic_fetch_add(&seep_g.header->nr_thread_starts, 1, __ATOMIC_RELAXED);
    return thread;
}

// Whatever keeps the hot path from going on ends here: first call of all, first call of a thread,
// a child of fork, a signal handler inside a hook, a process that is passive.
struct seep_thread *seep_thread_slow(void) {
    struct seep_thread *thread = seep_self;
    if (thread && thread->guard == SEEP_GUARD_BUSY) {
        seep_lost(SEEP_LOST_REENTERED);
        return NULL;
    }
    if (atomic_load_explicit(&seep_g.entry, memory_order_acquire) != SEEP_ENTRY_READY && !seep_start())
        return NULL;
    if (atomic_load_explicit(seep_g.alive, memory_order_acquire) != 1 && !seep_fork_child())
        return NULL;
    thread = seep_self;
    if (thread && thread->guard == SEEP_GUARD_READY)
        return thread; // seep_start() came back here for us
    if (!seep_lock_take(&seep_g.threads_lock)) {
        seep_lost(SEEP_LOST_NO_THREAD);
        return NULL;
    }
    thread = take_slot();
    seep_lock_release(&seep_g.threads_lock);
    if (!thread) {
        seep_lost(SEEP_LOST_NO_THREAD);
        return NULL;
    }
    thread->guard = SEEP_GUARD_READY;
    seep_self = thread;
    return thread;
}

bool seep_counters_chunk(struct seep_thread *thread, uint32_t site) {
    uint32_t page = seep_pool_pages(SEEP_CHUNK_SITES * sizeof(struct seep_image_counters));
    if (page == 0) {
        seep_lost(SEEP_LOST_NO_COUNTERS);
        return false;
    }
    // Threads often get their name after their first allocation: look again at moments like this one.
    read_name(thread->slot);
    __atomic_store_n((uint32_t *)&thread->chunk_dir[site >> SEEP_CHUNK_SITES_SHIFT], page, __ATOMIC_RELEASE);
    return true;
}
