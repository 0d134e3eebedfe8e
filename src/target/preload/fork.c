// SPDX-License-Identifier: BSD-2-Clause
//
// A child of fork, or of any clone without CLONE_VM, gets an image of its own at its first heap
// operation: until then it costs nothing, and it never writes to its parent's. It is recognised by
// memory that the kernel wipes in children, so raw clones are seen too. What the parent does between
// the fork and that first operation is undone in the child's image (undo.h).
#include "preload/annotation.h"
#include "preload/custom_pool.h"
#include "preload/mapping.h"
#include "preload/undo.h"

enum { WIPED = 0, OWN = 1, SETTING_UP = 2 };

// Emulators of the kernel (qemu-user) take MADV_WIPEONFORK and do nothing. Where start.c finds that, the
// atfork handler does it; a child of a raw clone, which runs none, is not recognised there.
void seep_fork_wipe(void) {
    uint64_t nr_slots = seep_g.header ? seep_g.header->areas[SEEP_AREA_THREADS].used : 0;
    for (uint64_t i = 0; i < nr_slots; i++)
        if (seep_g.thread_of_slot[i])
            *seep_g.thread_of_slot[i] = (struct seep_thread){.guard = SEEP_GUARD_WIPED};
    atomic_store_explicit(seep_g.alive, WIPED, memory_order_release);
}

// Of a fork: when it was, and of when the image is that the child will copy. A child without an image that
// forks leaves its own children its parent's.
struct moment {
    uint64_t fork_ns;
    uint64_t image_ns;
};

static struct moment pending; // taken by the parent: it may go on long before the child does
static struct moment of_fork; // in a child
static uint32_t forked_pid;   // of the child that ran the handler below: one of a raw clone does not

uint64_t seep_fork_ns(void) {
    return forked_pid == sys_getpid() ? of_fork.fork_ns : UINT64_MAX;
}

uint64_t seep_fork_image_ns(void) {
    return forked_pid == sys_getpid() ? of_fork.image_ns : UINT64_MAX;
}

void seep_fork_prepare(void) {
    pending.fork_ns = pending.image_ns = seep_clock_ns(CLOCK_MONOTONIC);
    if (seep_g.alive && atomic_load_explicit(seep_g.alive, memory_order_acquire) != OWN &&
        forked_pid == sys_getpid())
        pending.image_ns = of_fork.image_ns;
    seep_undo_prepare();
}

void seep_fork_in_child(void) {
    if (atomic_load_explicit(&seep_g.entry, memory_order_relaxed) != SEEP_ENTRY_READY)
        return;
    of_fork = pending;
    forked_pid = sys_getpid();
    seep_undo_in_child();
    if (seep_g.emulated)
        seep_fork_wipe();
}

static void forget_parent(void) {
    // Locks may have been held by threads that do not exist here.
    struct seep_lock *locks[] = {&seep_g.image_lock,   &seep_g.tree_lock, &seep_g.rules_lock,
                                 &seep_g.threads_lock, &seep_g.odd_lock,  &seep_g.map_lock,
                                 &seep_g.misuse_lock};
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(locks); i++)
        seep_lock_release(locks[i]);
}

static bool set_up(void) {
    forget_parent();
    if (seep_g.config.ignore_children || seep_confined.filtered || !seep_image_create_as_copy()) {
        if (!seep_g.config.ignore_children)
            seep_lost(SEEP_LOST_FORK); // counted in the parent's image: one atomic add, nothing else
        atomic_store_explicit(&seep_g.entry, SEEP_ENTRY_PASSIVE, memory_order_release);
        return false;
    }
    for (uint32_t i = 0; i < seep_g.header->areas[SEEP_AREA_THREADS].used; i++)
        seep_g.threads[i].tid = 0; // the parent's threads: none of them is here
    seep_mapping_index_again();
    seep_custom_pools_in_child();
    seep_annotations_in_child();
    return true;
}

bool seep_fork_child(void) {
    uint32_t wiped = WIPED;
    if (atomic_compare_exchange_strong_explicit(seep_g.alive, &wiped, SETTING_UP, memory_order_acquire,
                                                memory_order_acquire)) {
        bool own = set_up();
        atomic_store_explicit(seep_g.alive, own ? OWN : SETTING_UP, memory_order_release);
        return own;
    }
    // Another thread of the child is at it: wait a little, else let this one event pass.
    for (int i = 0; i < 1000 && wiped != OWN; i++) {
        if (atomic_load_explicit(&seep_g.entry, memory_order_relaxed) == SEEP_ENTRY_PASSIVE)
            return false;
        sys3(SYS_sched_yield, 0, 0, 0);
        wiped = atomic_load_explicit(seep_g.alive, memory_order_acquire);
    }
    return wiped == OWN;
}
