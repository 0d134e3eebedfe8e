// SPDX-License-Identifier: BSD-2-Clause
// Threads that do nothing but allocate and free, or resize, until each sleeps: for room in its ring, because the tool
// is stopped. Then the process kills itself. Begins when a byte comes.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { THREADS = 4 };

static _Atomic long tids[THREADS];

static void *work(void *argument) {
    uintptr_t self = (uintptr_t)argument;
    void *odd =
        self / 2 ? malloc(8) : NULL; // so that the ring of one is full within an operation of two events
    void *block = malloc(8);
    tids[self] = syscall(SYS_gettid);
    for (size_t i = 0; odd != block; i++) {
        if (self % 2)
            block = realloc(block, 16 + i % 32);
        else
            free(malloc(16 + i % 32));
    }
    return NULL;
}

static int sleeps(long tid) {
    char path[64], text[256];
    snprintf(path, sizeof(path), "/proc/self/task/%ld/stat", tid);
    int fd = open(path, O_RDONLY);
    ssize_t nr = read(fd, text, sizeof(text) - 1);
    close(fd);
    text[nr > 0 ? nr : 0] = '\0';
    const char *end = strrchr(text, ')'); // of its name
    return end && strncmp(end, ") S", 3) == 0;
}

// Where the address space has a limit, rings are short.
static int limit(void) {
    unsigned long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    if (!statm || fscanf(statm, "%lu", &pages) != 1)
        return -1;
    fclose(statm);
    rlim_t bytes = pages * sysconf(_SC_PAGESIZE) + (1UL << 30);
    return setrlimit(RLIMIT_AS, &(struct rlimit){bytes, bytes});
}

int main(void) {
    char go;
    pthread_t thread;
    if (limit() || read(0, &go, 1) != 1)
        return 2;
    for (uintptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&thread, NULL, work, (void *)i) != 0)
            return 3;
    alarm(30);
    for (int nr = 0; nr < THREADS;)
        nr = tids[nr] && sleeps(tids[nr]) ? nr + 1 : 0;
    raise(SIGKILL);
    for (;;) // some kernels end the process a little later
        pause();
}
