// SPDX-License-Identifier: BSD-2-Clause
//
// Locks for cold paths. Taking one gives up after a while rather than hang: the owner may have been
// cancelled, or be the very code that the signal handler we run in has interrupted.
#include "preload/preload.h"

enum {
    SPINS = 200,
    YIELDS = 200,
    NAPS = 20000, // of NAP_US: about a second, on a machine with far more threads than CPUs
    NAP_US = 50,
};

// One of the turns of waiting. false: the owner will never give the lock back.
static bool wait_for(uint32_t owner, int turn) {
    if (turn < SPINS || (turn == SPINS && !seep_calls_are_free()) || seep_confined.filtered) {
        cpu_pause();
        return true;
    }
    if (turn < SPINS + YIELDS) {
        sys3(SYS_sched_yield, 0, 0, 0);
        return true;
    }
    if (sys3(SYS_tgkill, sys_getpid(), owner, 0) == -3 /* ESRCH */)
        return false;
    sys_nap_us(NAP_US);
    return true;
}

bool seep_lock_take(struct seep_lock *lock) {
    uint32_t self = seep_self()->tid ? seep_self()->tid : sys_gettid();
    if (!self)
        return false;
    uint32_t owner = 0;
    for (int turn = 0; turn < SPINS + YIELDS + NAPS; turn++) {
        owner = 0;
        // acquire pairs with the release in seep_lock_release
        if (atomic_compare_exchange_strong_explicit(&lock->owner, &owner, self, memory_order_acquire,
                                                    memory_order_relaxed))
            return true;
        if (owner == self ||
            (turn > SPINS + YIELDS && owner == atomic_load_explicit(&lock->overdue, memory_order_relaxed)))
            return false;
        // What a thread that died here left behind is whole: elements count only once they are complete. One
        // that gave the lock back before it ended has left nothing: then it is another's turn, or ours.
        if (!wait_for(owner, turn) &&
            atomic_compare_exchange_strong_explicit(&lock->owner, &owner, self, memory_order_acquire,
                                                    memory_order_relaxed))
            return true;
    }
    // A handler has left the owner's hook by longjmp, say, and the owner has called none since.
    atomic_store_explicit(&lock->overdue, owner, memory_order_relaxed);
    return false;
}

void seep_lock_release(struct seep_lock *lock) {
    atomic_store_explicit(&lock->overdue, 0, memory_order_relaxed);
    atomic_store_explicit(&lock->owner, 0, memory_order_release);
}
