// SPDX-License-Identifier: BSD-2-Clause
//
// Locks for cold paths. Taking one gives up after a while rather than hang: the owner may have been
// cancelled, or be the very code that the signal handler we run in has interrupted.
#include "preload/preload.h"

enum { SPINS = 200, YIELDS = 2000 };

SEEP_INLINE void cpu_relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

bool seep_lock_take(struct seep_lock *lock) {
    uint32_t self = seep_self ? seep_self->tid : sys_gettid();
    if (self == 0)
        self = 1;
    for (int i = 0; i < SPINS + YIELDS; i++) {
        uint32_t free_lock = 0;
        // acquire pairs with the release in seep_lock_release
        if (atomic_compare_exchange_weak_explicit(&lock->owner, &free_lock, self, memory_order_acquire,
                                                  memory_order_relaxed))
            return true;
        if (free_lock == self)
            return false;
        if (i < SPINS)
            cpu_relax();
        else
            sys3(SYS_sched_yield, 0, 0, 0);
    }
    return false;
}

void seep_lock_release(struct seep_lock *lock) {
    atomic_store_explicit(&lock->owner, 0, memory_order_release);
}
