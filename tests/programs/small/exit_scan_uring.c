// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <errno.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
static int ring;
static void *waits(void *unused) {
    long result = syscall(SYS_io_uring_enter, ring, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0);
    printf("woken: %ld, %d\n", result, errno);
    fflush(stdout);
    _exit(9);
}
int main(void) {
    struct io_uring_params parameters;
    pthread_t thread;
    memset(&parameters, 0, sizeof(parameters));
    ring = syscall(SYS_io_uring_setup, 8, &parameters);
    if (ring < 0) return 2;
    if (pthread_create(&thread, NULL, waits, NULL)) return 1;
    usleep(50000); // until it waits
    exit(0);
}
