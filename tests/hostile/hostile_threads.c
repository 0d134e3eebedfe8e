// SPDX-License-Identifier: BSD-2-Clause
//
// Threads that stop one after the other, each some time after the one before it: a thread that waits for its child of
// vfork does not stop before that has ended. Says "ready" when all of them wait; leaves when its input ends. With an
// argument: leaves while so many threads wait on a futex with a timeout, which ends during the scan; they do not wait again.
// With "execute": a thread hangs in execve, because the tracer of another thread does not reap that thread. With "leave
// SECONDS": one thread that waits for its child of vfork for so long; leaves then. With "stay": one whose child ends at
// the first line of the input.
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../programs/small/asleep.h"

#define THREADS 6
#define STEP_S  2

static void *wait_long(void *data) {
    unsigned seconds = (unsigned)(uintptr_t)data;
    pid_t child = vfork();
    if (child == 0) {
        sleep(seconds);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    return NULL;
}

static struct timespec until;
static int word = 1, ends[2];

static void *wait_for_line(void *data) {
    pid_t child = vfork();
    if (child == 0) {
        char byte;
        while (read(0, &byte, 1) == 1 && byte != '\n')
            continue;
        _exit(0);
    }
    waitpid(child, NULL, 0);
    return data;
}

static void *wait_until_then(void *data) {
    (void)!syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, 1, &until, NULL, FUTEX_BITSET_MATCH_ANY);
    (void)!read(ends[0], &(char){0}, 1);
    return data;
}

static int64_t left_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)(until.tv_sec - now.tv_sec) * 1000000000 + until.tv_nsec - now.tv_nsec;
}

static void leave_late(unsigned nr) {
    pthread_attr_t small;
    pthread_t thread;
    if (pipe(ends) != 0 || pthread_attr_init(&small) != 0 || pthread_attr_setstacksize(&small, 64 << 10) != 0)
        exit(1);
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec++;
    while (nr--)
        if (pthread_create(&thread, &small, wait_until_then, NULL) != 0)
            exit(1);
    while (left_ns() > 40000000)
        usleep(1000);
    exit(0);
}

static pid_t traced;

static void *wait_always(void *data) {
    __atomic_store_n(&traced, gettid(), __ATOMIC_RELEASE);
    for (;;)
        pause();
    return data;
}

static void *execute(void *data) {
    execl("/proc/self/exe", "hostile-threads", "0", NULL);
    return data;
}

// Never returns. The tracer ends when the input does.
static void execute_for_ever(void) {
    pthread_t thread;
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    if (pipe(ends) != 0 || pthread_create(&thread, NULL, wait_always, NULL) != 0)
        exit(1);
    while (!__atomic_load_n(&traced, __ATOMIC_ACQUIRE))
        usleep(1000);
    pid_t tracer = fork();
    if (tracer == 0) {
        if (ptrace(PTRACE_SEIZE, traced, NULL, NULL) != 0 || write(ends[1], "", 1) != 1)
            _exit(1);
        (void)!getchar();
        _exit(0);
    }
    if (tracer < 0 || read(ends[0], &(char){0}, 1) != 1 || pthread_create(&thread, NULL, execute, NULL) != 0)
        exit(1);
    for (;;)
        pause();
}

// Makes a child of vfork as libc does on this CPU.
static void wait_for_vfork(int nr_threads) {
    static const long calls[] = {
        SYS_clone,
#ifdef SYS_vfork
        SYS_vfork,
#endif
    };
    wait_for_sleepers(nr_threads, calls, sizeof(calls) / sizeof(*calls));
}

int main(int argc, char **argv) {
    void *volatile block = malloc(100);
    pthread_t threads[THREADS];
    if (argc == 2 && strcmp(argv[1], "execute") == 0)
        execute_for_ever();
    bool stays = argc == 2 && strcmp(argv[1], "stay") == 0;
    if (argc == 2 && !stays)
        leave_late((unsigned)atoi(argv[1]));
    unsigned nr_threads = argc > 1 ? 1 : THREADS, step_s = argc > 2 ? (unsigned)atoi(argv[2]) : STEP_S;
    for (unsigned i = 0; i < nr_threads; i++)
        if (pthread_create(&threads[i], NULL, stays ? wait_for_line : wait_long,
                           (void *)(uintptr_t)((i + 1) * step_s)) != 0)
            return 1;
    wait_for_vfork((int)nr_threads);
    if (argc > 2)
        exit(0);
    puts("ready");
    fflush(stdout);
    if (stays)
        pthread_join(threads[0], NULL);
    (void)!getchar();
    free(block);
    _exit(0);
}
