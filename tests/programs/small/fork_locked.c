// SPDX-License-Identifier: BSD-2-Clause
// Forks while a thread waits in the realloc of fork_locked_allocator.c for the lock that the fork holds.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

void lock_in_forks(void);
void unlock(void);
extern atomic_int begin, is_inside;

static void *grow(void *block) {
    for (size_t size = 200; size <= 400; size += 100) {
        while (!begin)
            sched_yield();
        begin = 0;
        block = realloc(block, size);
    }
    return block;
}

int main(void) {
    pthread_t thread;
    void *block = malloc(100);
    lock_in_forks();
    pthread_create(&thread, NULL, grow, block);
    for (int i = 0; i < 3; i++) {
        pid_t child = fork();
        if (child == 0) {
            void *volatile own = malloc(7);
            _exit(!own);
        }
        waitpid(child, NULL, 0);
        unlock();
        while (is_inside)
            sched_yield();
    }
    pthread_join(thread, &block);
    free(block);
    return 0;
}
