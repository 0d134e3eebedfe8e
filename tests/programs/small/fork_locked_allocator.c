// SPDX-License-Identifier: BSD-2-Clause
// A realloc under a lock that a fork takes and its parent keeps for a while, as jemalloc's; `begin` lets a call wait for it.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

void *__libc_realloc(void *block, size_t size);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
atomic_int is_inside;
atomic_int begin;

void *realloc(void *block, size_t size) {
    is_inside = 1;
    pthread_mutex_lock(&lock);
    void *fresh = __libc_realloc(block, size);
    is_inside = 0;
    pthread_mutex_unlock(&lock);
    return fresh;
}

static void prepare(void) {
    pthread_mutex_lock(&lock);
    begin = 1;
    while (!is_inside)
        sched_yield();
}

void unlock(void) {
    pthread_mutex_unlock(&lock);
}

void lock_in_forks(void) {
    pthread_atfork(prepare, NULL, unlock);
}
