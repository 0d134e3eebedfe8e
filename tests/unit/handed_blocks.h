// SPDX-License-Identifier: BSD-2-Clause
//
// Blocks that the threads of a test hand to each other under ThreadSanitizer. Nothing is stored at their addresses.
#ifndef SEEP_TESTS_HANDED_BLOCKS_H
#define SEEP_TESTS_HANDED_BLOCKS_H

#include <pthread.h>

#include "preload/record.h"

enum { BLOCKS = 600, HANDING_THREADS_MAX = 8 };

static pthread_barrier_t all_done;
static struct {
    pthread_mutex_t lock;
    uint64_t blocks[HANDING_THREADS_MAX * BLOCKS];
    size_t nr;
} handed = {.lock = PTHREAD_MUTEX_INITIALIZER};

// What went wrong in a thread. cmocka's asserts jump to where the main thread was: never from another one.
static _Atomic uint32_t nr_not_entered, nr_not_known;

// One block is granule-sized, so that every address is its own.
static uint64_t address_of(uint64_t thread, uint64_t block) {
    return UINT64_C(0x500000000000) + (thread << 27) + block * 64;
}

static struct seep_thread *enter(void) {
    struct seep_thread *thread = thread_enter();
    nr_not_entered += !thread;
    return thread;
}

// Hands over half of the thread's blocks, frees the other half, then whatever is handed over by any thread.
static void hand_over_and_release(uint64_t self, void (*release)(uint64_t address)) {
    pthread_mutex_lock(&handed.lock);
    for (uint64_t i = 0; i < BLOCKS; i += 2)
        handed.blocks[handed.nr++] = address_of(self, i);
    pthread_mutex_unlock(&handed.lock);
    for (uint64_t i = 1; i < BLOCKS; i += 2)
        release(address_of(self, i));
    for (uint64_t address = 1; address;) {
        pthread_mutex_lock(&handed.lock);
        address = handed.nr ? handed.blocks[--handed.nr] : 0;
        if (address)
            release(address);
        pthread_mutex_unlock(&handed.lock);
    }
}

#endif
