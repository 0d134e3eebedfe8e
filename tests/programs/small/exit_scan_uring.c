// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <errno.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "asleep.h"
static int ring, pipe_ends[2];
static unsigned nr_submitted;
static struct io_uring_params parameters;
static char bytes[8];
// A read of a pipe that never has data.
static int submit(void) {
    char *queue = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
    struct io_uring_sqe *entry = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
    if (queue == MAP_FAILED || entry == MAP_FAILED || pipe(pipe_ends)) return 1;
    memset(entry, 0, sizeof(*entry));
    entry->opcode = IORING_OP_READ;
    entry->fd = pipe_ends[0];
    entry->addr = (unsigned long)bytes;
    entry->len = sizeof(bytes);
    ((unsigned *)(queue + parameters.sq_off.array))[0] = 0;
    *(volatile unsigned *)(queue + parameters.sq_off.tail) = 1;
    nr_submitted = 1;
    return 0;
}
static void *waits(void *unused) {
    long result = syscall(SYS_io_uring_enter, ring, nr_submitted, 1, IORING_ENTER_GETEVENTS, NULL, 0);
    printf("woken: %ld, %d\n", result, errno);
    fflush(stdout);
    _exit(9);
}
int main(int argc, char **argv) {
    pthread_t thread;
    ring = syscall(SYS_io_uring_setup, 8, &parameters);
    if (ring < 0) return 2;
    if (argc > 1 && submit()) return 3;
    if (pthread_create(&thread, NULL, waits, NULL)) return 1;
    wait_for_sleepers(1, (long[]){SYS_io_uring_enter}, 1);
    exit(0);
}
