// SPDX-License-Identifier: BSD-2-Clause
// FILE: threads that allocate and free until standard input ends, and say in the file, which is mapped, how far they
// are: how many allocations, how many frees, and when each 64th allocation was.
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 3, EVERY = 64, TIMES = 65536 };

struct said {
    _Atomic uint64_t allocations;
    _Atomic uint64_t frees;
    uint64_t times_ns[TIMES];
};

static struct said *said;
static atomic_bool stop;

static void *work(void *arg) {
    uint64_t self = (uintptr_t)arg;
    struct said *own = &said[self];
    void *kept[8] = {NULL};
    for (uint64_t i = 0; !stop && i < (uint64_t)EVERY * TIMES; i++) {
        void **place = &kept[i % 8];
        if (*place) {
            free(*place);
            own->frees++;
        }
        *place = malloc(1000 + self);
        own->allocations++;
        if (i % EVERY == 0) {
            struct timespec now;
            clock_gettime(CLOCK_MONOTONIC, &now);
            own->times_ns[i / EVERY] = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
            struct timespec pause = {0, 100000};
            nanosleep(&pause, NULL);
        }
    }
    for (int i = 0; i < 8; i++)
        if (kept[i]) {
            free(kept[i]);
            own->frees++;
        }
    return NULL;
}

int main(int argc, char **argv) {
    int fd = argc == 2 ? open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;
    if (fd < 0 || ftruncate(fd, THREADS * sizeof(*said)) != 0)
        return 1;
    said = mmap(NULL, THREADS * sizeof(*said), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (said == MAP_FAILED)
        return 1;
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)i))
            return 1;
    char byte;
    while (read(0, &byte, 1) > 0)
        ;
    stop = true;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
