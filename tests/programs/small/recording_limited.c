// SPDX-License-Identifier: BSD-2-Clause
// Four threads allocate at once. With an argument the program first limits its address space to so many MiB more than it has.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

enum { THREADS = 4, TIMES = 50000 };

static pthread_barrier_t start;

static void *work(void *argument) {
    pthread_barrier_wait(&start);
    for (int i = 0; i < TIMES; i++)
        free(malloc(32 + i % 64));
    return argument;
}

static int limit(unsigned long more_mib) {
    unsigned long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    if (!statm || fscanf(statm, "%lu", &pages) != 1)
        return 1;
    fclose(statm);
    rlim_t bytes = pages * sysconf(_SC_PAGESIZE) + (more_mib << 20);
    return setrlimit(RLIMIT_AS, &(struct rlimit){bytes, bytes});
}

int main(int argc, char **argv) {
    pthread_t threads[THREADS];
    if (argc > 1 && limit(strtoul(argv[1], NULL, 10)))
        return 2;
    pthread_barrier_init(&start, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, NULL) != 0)
            return 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
