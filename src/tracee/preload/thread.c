// SPDX-License-Identifier: BSD-2-Clause
//
// Threads and their slots. There is no hook on thread start or exit and no destructor: a thread gets
// a slot at its first heap operation, and the slot of a thread that the kernel no longer knows is
// taken over by a new one, counters and all (the sum over slots stays the truth). So nothing runs
// at thread exit, where so many tracers crash.
#include <signal.h>
#include <sys/prctl.h>

#include "preload/annotation.h"
#include "preload/custom_pool.h"
#include "preload/events.h"
#include "preload/mapping.h"
#include "preload/quiet_calls.h"

struct seep_thread seep_nobody;
__thread uint64_t seep_self_offset __attribute__((tls_model("initial-exec"), visibility("hidden")));

enum {
    MAX_SLOTS = 65536,
    LOOK_FOR_DEAD = 64, // slots looked at before a new one is opened
};

enum {
    FIRST_CAPACITY = 256,
    PADS = 4, // in front of the slots: hold for ever, so that slots may be checked in fours
};

static unsigned char *arrays_of(const struct seep_thread *thread) {
    return (unsigned char *)thread->recents; // the first of them
}

// Bytes of the arrays of a thread: frames, slots, walk.
static size_t array_bytes(uint32_t capacity) {
    return PADS * sizeof(struct seep_memo_slot) + sizeof(struct seep_memo_frame) +
           (sizeof(struct seep_recent) * ((1 << SEEP_RECENTS_SHIFT) + 1)) +
           capacity * (sizeof(struct seep_memo_frame) + 3 * sizeof(struct seep_memo_slot) +
                       sizeof(struct seep_walk_frame));
}

static void set_arrays(struct seep_thread *thread, unsigned char *at, uint32_t capacity) {
    // First, so that the few that most threads use lie in one page.
    thread->recents = (struct seep_recent *)at;
    struct seep_memo_slot *pads = (struct seep_memo_slot *)(thread->recents + (1 << SEEP_RECENTS_SHIFT) + 1);
    for (int i = 0; i < PADS; i++)
        pads[i] = (struct seep_memo_slot){&pads[i].value, 0};
    thread->slots = pads + PADS;
    thread->frames = (struct seep_memo_frame *)(thread->slots + 3 * (size_t)capacity) + 1;
    thread->frames[-1].sp = UINT64_MAX; // ends every search for a frame further out
    thread->walk = (struct seep_walk_frame *)(thread->frames + capacity);
    thread->memo_end = thread->frames;
    recent_none(thread);
    thread->capacity = capacity;
}

// Where the thread's memory is: for the account of resident memory.
static void tell_memory(struct seep_thread *thread) {
    struct seep_image_thread *slot = thread->slot;
    slot->own[0] = (struct seep_image_range){(uintptr_t)thread, sizeof(*thread)};
    slot->own[1] = (struct seep_image_range){(uintptr_t)arrays_of(thread), array_bytes(thread->capacity)};
}

// Stacks are rarely deep, and address space may be short: the arrays grow when they must.
SEEP_COLD bool seep_thread_deeper(struct seep_thread *thread) {
    uint32_t old = thread->capacity;
    if (old >= SEEP_MAX_DEPTH)
        return false;
    unsigned char *at = sys_private(array_bytes(old * 4));
    if (!at)
        return false;
    struct seep_thread before = *thread;
    set_arrays(thread, at, old * 4);
    for (uint32_t i = 0; i < old; i++) {
        thread->frames[i] = before.frames[i];
        thread->frames[i].slots_end = thread->slots + (before.frames[i].slots_end - before.slots);
    }
    __builtin_memcpy(thread->slots, before.slots, 3 * (size_t)old * sizeof(*before.slots));
    __builtin_memcpy(thread->walk, before.walk, old * sizeof(*before.walk));
    sys_munmap(arrays_of(&before), array_bytes(old));
    tell_memory(thread);
    return true;
}

// The arrays are kept with the slot; after a fork the wiped thread has none, and gets new ones.
static struct seep_thread *private_memory(uint32_t slot_index, uint32_t tid, uint32_t pid) {
    struct seep_thread *thread = seep_g.thread_of_slot[slot_index];
    if (!thread) {
        thread = sys_private_wiped(sizeof(*thread));
        if (!thread)
            return NULL;
        seep_g.thread_of_slot[slot_index] = thread;
    }
    unsigned char *arrays = arrays_of(thread);
    uint32_t capacity = thread->capacity;
    uint32_t stamp = thread->stamp; // goes on, for the arrays do
    if (!arrays) {
        capacity = FIRST_CAPACITY;
        arrays = sys_private(array_bytes(capacity));
        if (!arrays)
            return NULL;
    }
    // No compound literal: clang would make its 1.4 KiB on the stack, which may be a signal handler's.
    __builtin_memset(thread, 0, sizeof(*thread));
    thread->slot_index = slot_index;
    thread->tid = tid;
    thread->pid = seep_confined.filtered ? 0 : pid;
    thread->leaf_start = SEEP_NO_LEAF;
    thread->stamp = stamp;
    thread->mode.modules_epoch = atomic_load_explicit(&seep_g.mode.modules_epoch, memory_order_acquire);
    thread->recents_mask = (1u << SEEP_RECENTS_FEW_SHIFT) - SEEP_RECENT_WAYS;
    set_arrays(thread, arrays, capacity);
    return thread;
}

// A thread of another process may share our memory (CLONE_VM without CLONE_THREAD): it is asked for there.
// What was before a fork is wiped.
static bool is_dead(uint32_t slot_index) {
    const struct seep_thread *thread = seep_g.thread_of_slot[slot_index];
    uint32_t tid = seep_g.threads[slot_index].tid;
    if (tid == 0 || seep_confined.filtered)
        return tid == 0;
    return !thread || thread->pid == 0 || sys3(SYS_tgkill, thread->pid, tid, 0) == -3 /* ESRCH */;
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
        if (is_dead(index)) {
            seep_g.thread_cursor = index + 1;
            *ret_index = index;
            return true;
        }
    }
    if (nr_used)
        seep_g.thread_cursor = (seep_g.thread_cursor + LOOK_FOR_DEAD) % nr_used;
    if (nr_used >= MAX_SLOTS ||
        !seep_area_lock_and_open(SEEP_AREA_THREADS, (nr_used + 1) * sizeof(struct seep_image_thread)))
        return false;
    __atomic_store_n(&area->used, nr_used + 1, __ATOMIC_RELEASE);
    atomic_thread_fence(memory_order_seq_cst); // told before it reads any table, see stack_tree.c
    *ret_index = nr_used;
    return true;
}

static void read_name(struct seep_image_thread *slot) {
    char name[16] = "";
    if (!(slot->signal_stack_rt & SEEP_SLOT_NAMED) && !seep_confined.filtered &&
        sys6(SYS_prctl, PR_GET_NAME, (long)name, 0, 0, 0, 0) == 0)
        __builtin_memcpy(slot->name, name, sizeof(slot->name));
}

// The alternate signal stack of the calling thread. With SS_AUTODISARM its size is not told, because a
// handler may leave the stack and come back to it.
static void read_signal_stack(struct seep_image_thread *slot) {
    stack_t stack = {.ss_flags = SS_DISABLE};
    sys3(SYS_sigaltstack, 0, &stack, 0);
    uint64_t start = stack.ss_flags & SS_DISABLE ? 0 : (uintptr_t)stack.ss_sp;
    if (!stack.ss_flags)
        start |= SEEP_SIGNAL_STACK_SIZE(stack.ss_size);
    slot->signal_stack_rt = (slot->signal_stack_rt & SEEP_SLOT_NAMED) | (start & ~SEEP_SLOT_NAMED);
}

// The program has just made the system call that is made here, so no filter forbids it. A child of vfork runs
// with the slot of its parent's thread and has a signal stack of its own. A handler that has interrupted a
// hook cannot enter; the stack that it sets stays if it leaves by longjmp, so it is read without entering.
// Slots are in the image, which may have been given up (give_up.c).
SEEP_COLD void seep_thread_has_signal_stack(void) {
    struct seep_thread *thread = seep_self();
    bool is_inside = thread->guard != SEEP_GUARD_WIPED && !SEEP_GUARD_IS_IDLE(thread->guard);
    if (!is_inside && !(thread = thread_enter()))
        return;
    if (seep_image_is_ours() && (seep_confined.filtered || sys_gettid() == thread->slot->tid))
        read_signal_stack(thread->slot);
    if (!is_inside)
        thread_leave(thread);
}

static SEEP_COLD struct seep_thread *take_slot(void) {
    uint32_t index, pid, tid = seep_thread_identify(&pid);
    if (!tid || !find_slot(tid, &index))
        return NULL;
    struct seep_image_thread *slot = &seep_g.threads[index];
    if (slot->chunk_dir_page == 0) {
        slot->chunk_dir_page = seep_pages_take(SEEP_CHUNKS_PER_THREAD * sizeof(uint32_t));
        if (slot->chunk_dir_page == 0)
            return NULL;
    }
    struct seep_thread *thread = private_memory(index, tid, pid);
    if (!thread)
        return NULL;
    seep_news_take();
    thread->slot = slot;
    thread->chunk_dir = (const uint32_t *)(seep_g.pages + slot->chunk_dir_page * SEEP_IMAGE_PAGE);
    slot->nr_owners++;
    slot->moving_rt = 0; // the owner before may have been killed at it
    slot->stack_rt = CPU_FRAME();
    slot->signal_stack_rt = 0;
    if (!seep_confined.filtered)
        read_signal_stack(slot); // a child of fork has it from before
    tell_memory(thread);
    if (events_are_kept())
        seep_events_begin(thread);
    seep_record_net(thread);
    slot->start_ns = seep_clock_ns(CLOCK_MONOTONIC);
    slot->tid = tid;
    read_name(slot);
    if (seep_g.sample_bytes)
        seep_sample_begin(thread);
    __atomic_fetch_add(&seep_g.header->nr_thread_starts, 1, __ATOMIC_RELAXED);
    return thread;
}

bool seep_is_on_alternate_stack(void) {
    stack_t alternate = {.ss_flags = SS_ONSTACK};
    sys3(SYS_sigaltstack, 0, &alternate, 0);
    return alternate.ss_flags & SS_ONSTACK;
}

// Whether the hook that set the guard will never come back: a signal handler that interrupted it has
// left by longjmp. Then the entering function is at its frame or further out on the stack. If a handler were
// still running, it would be further in, or on the alternate stack.
static bool abandoned(const struct seep_thread *thread, uint64_t frame) {
    // The kernel does not tell of an alternate stack that it has disarmed (SS_AUTODISARM). The stack of a
    // thread of libc's is below its descriptor.
    uint64_t descriptor = sys_thread_pointer();
    bool elsewhere = thread->tid != thread->pid && thread->guard < descriptor && frame >= descriptor;
    // A handler may come here often: whether calls are free is asked last, by system calls.
    if (frame < thread->guard || elsewhere || !seep_calls_are_free())
        return false;
    return !seep_is_on_alternate_stack();
}

// Releases what a hook of this thread held when a handler left it by longjmp.
static SEEP_COLD void release_held(uint32_t tid) {
    if (atomic_load_explicit(&seep_g.map_lock.owner, memory_order_relaxed) == tid)
        seep_mapping_index_again();
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(seep_g.locks); i++)
        if (atomic_load_explicit(&seep_g.locks[i].owner, memory_order_relaxed) == tid)
            seep_lock_release(&seep_g.locks[i]);
    seep_custom_pools_recover(tid);
    seep_annotations_recover(tid);
}

// What the abandoned hook was writing is forgotten, what it held is released.
static void recover(struct seep_thread *thread) {
    release_held(thread->tid);
    thread->memo_end = thread->frames;
    recent_none(thread);
    __builtin_memset(thread->recents, 0, sizeof(struct seep_recent) << SEEP_RECENTS_SHIFT);
    thread->leaf_start = SEEP_NO_LEAF;
    bool was_in_real = thread->quiet != 0;
    seep_quiet_recover(thread);
    if (was_in_real)
        seep_record_move_abandoned(thread);
    thread->guard = thread->mode.word;
}

// A thread has no guard while it takes a slot. The frame tells, as above, whether a handler left that by
// longjmp.
static uintptr_t slot_frame; // where the owner of threads_lock took it

static bool take_threads_lock(uint64_t frame) {
    uint32_t owner = atomic_load_explicit(&seep_g.threads_lock.owner, memory_order_relaxed);
    if (owner && frame >= __atomic_load_n(&slot_frame, __ATOMIC_RELAXED) && owner == sys_gettid() &&
        !seep_is_on_alternate_stack())
        release_held(owner);
    if (!seep_lock_take(&seep_g.threads_lock))
        return false;
    __atomic_store_n(&slot_frame, (uintptr_t)frame, __ATOMIC_RELAXED);
    return true;
}

// Whatever keeps the hot path from going on ends here: first call of all, first call of a thread,
// a child of fork, a signal handler inside a hook, a process that is passive.
SEEP_COLD struct seep_thread *seep_thread_slow(uint64_t frame) {
    struct seep_thread *thread = seep_self();
    if (thread->guard != SEEP_GUARD_WIPED && !SEEP_GUARD_IS_IDLE(thread->guard)) {
        if (!abandoned(thread, frame)) {
            if (thread->guard != thread->quiet)
                seep_lost(SEEP_LOST_REENTERED);
            return NULL;
        }
        recover(thread);
        return thread;
    }
    bool is_looked = atomic_load_explicit(&seep_g.entry, memory_order_acquire) != SEEP_ENTRY_READY;
    if (is_looked && !seep_start())
        return NULL;
    if (atomic_load_explicit(seep_g.alive, memory_order_acquire) != 1 && !seep_fork_child(frame, &is_looked))
        return NULL;
    thread = seep_self();
    if (SEEP_GUARD_IS_IDLE(thread->guard))
        return thread; // seep_start() came back here for us
    // Whether a filter has come since the start or the fork. If so no call is made.
    bool is_free = is_looked || seep_calls_are_free();
    (void)is_free;
    thread = NULL;
    if (take_threads_lock(frame)) {
        thread = take_slot();
        seep_lock_release(&seep_g.threads_lock);
    }
    if (!thread) {
        seep_lost(SEEP_LOST_NO_THREAD);
        return NULL;
    }
    thread->guard = thread->mode.word;
    seep_self_offset = (uintptr_t)thread - (uintptr_t)&seep_nobody;
    return thread;
}

SEEP_COLD bool seep_counters_chunk(struct seep_thread *thread, uint32_t site) {
    uint32_t page = seep_pages_take(SEEP_CHUNK_SITES * sizeof(struct seep_image_counters));
    if (page == 0) {
        seep_lost(SEEP_LOST_NO_COUNTERS);
        return false;
    }
    // Threads often get their name after their first allocation: look again at moments like this one.
    read_name(thread->slot);
    __atomic_store_n((uint32_t *)&thread->chunk_dir[site >> SEEP_CHUNK_SITES_SHIFT], page, __ATOMIC_RELEASE);
    return true;
}
