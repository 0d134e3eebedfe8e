// SPDX-License-Identifier: BSD-2-Clause
//
// In a forked child a new thread is the first to allocate, and then the thread that forked does. libc gives the
// new thread the stack of one that has ended, so pthread_create allocates nothing. "raw": by the system call.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile kept[2];

static void *first(void *unused) {
    kept[0] = malloc(1001);
    return unused;
}

static void run_first(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, first, NULL) != 0 || pthread_join(thread, NULL) != 0)
        _exit(9);
}

int main(int argc, char **argv) {
    (void)argv;
    int status;
    kept[1] = malloc(10);
    run_first();
    free(kept[0]);
    pid_t child = argc > 1 ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();
    if (child == 0) {
        run_first();
        kept[1] = malloc(2002);
        exit(3);
    }
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 8;
}
