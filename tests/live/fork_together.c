// SPDX-License-Identifier: BSD-2-Clause
// The first heap operations of a forked child are those of two threads at the same time, and its parent's heap is
// large, so that its image takes a while. The second thread comes while the first one makes it, and gives up the only
// processor to it only when it sleeps. EXPECT: 200 blocks of 40 bytes in the child, all freed.
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NR_BLOCKS = 100, NR_LIVE = 1000000, NO_RIGHT = 77 };

static pthread_barrier_t together;
static void *volatile live[NR_LIVE];

static void use_one_processor(void) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof(one), &one);
}

__attribute__((noinline)) static void work(void) {
    for (int i = 0; i < NR_BLOCKS; i++) {
        void *volatile block = malloc(40);
        free(block);
    }
}

static void *first(void *used) {
    pthread_barrier_wait(&together);
    if (used)
        work();
    return NULL;
}

static void *second(void *used) {
    struct sched_param now = {.sched_priority = 1};
    if (used && sched_setscheduler(0, SCHED_FIFO, &now) != 0)
        _exit(NO_RIGHT);
    pthread_barrier_wait(&together);
    if (used) {
        usleep(300);
        work();
    }
    return NULL;
}

// Stacks and storage of threads that have ended are used again, without an allocation.
static void run(void *used) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, first, used);
    pthread_create(&threads[1], NULL, second, used);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
}

int main(void) {
    pthread_barrier_init(&together, NULL, 2);
    for (int i = 0; i < NR_LIVE; i++)
        live[i] = malloc(16);
    run(NULL);
    pid_t child = fork();
    if (child == 0) {
        use_one_processor();
        run(&together);
        _exit(5);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}
