// SPDX-License-Identifier: BSD-2-Clause
// A thread sleeps on a futex; its word is written when the process leaves, without a wake: a lock whose memory died
// with the frame of main. It must sleep on, and what it holds is held: on its stack (3000), in its own storage (2000).
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int word = 2;
static __thread void *volatile own;
static volatile pid_t sleeper;

static void *sleep_on(void *unused) {
    void *volatile here = malloc(3000);
    own = malloc(2000);
    sleeper = (pid_t)syscall(SYS_gettid);
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
    (void)!write(1, "ran on\n", 7);
    free(here);
    for (;;)
        pause();
    return unused;
}

// In the kernel, and in that call.
static int is_asleep(pid_t tid) {
    char path[64], line[256] = "";
    snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", (int)tid);
    FILE *file = fopen(path, "r");
    if (!file)
        return 0;
    (void)!fgets(line, sizeof(line), file);
    fclose(file);
    return strtol(line, NULL, 10) == SYS_futex && strncmp(line, "running", 7) != 0;
}

static void die(void) {
    word = 7;
}

int main(int argc, char **argv) {
    pthread_t thread;
    if (argc > 1 && strcmp(argv[1], "dies") == 0)
        atexit(die);
    if (pthread_create(&thread, NULL, sleep_on, NULL))
        return 1;
    while (!sleeper || !is_asleep(sleeper))
        usleep(1000);
    return 0;
}
