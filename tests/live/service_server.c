// SPDX-License-Identifier: BSD-2-Clause
// A server that grows: a block of 100 bytes each 10 ms, until SIGTERM, which it leaves by exit(). With an argument
// it allocates that many MiB at once first.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static volatile sig_atomic_t stop;
static void *last;

static void on_term(int number) {
    (void)number;
    stop = 1;
}

__attribute__((noinline)) static void grow_by(size_t bytes) {
    void **block = malloc(bytes);
    memset(block, 1, bytes);
    *block = last;
    last = block;
}

int main(int argc, char **argv) {
    struct sigaction action = {.sa_handler = on_term};
    sigaction(SIGTERM, &action, NULL);
    if (argc > 1)
        grow_by((size_t)atoi(argv[1]) << 20);
    while (!stop) {
        grow_by(100);
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    puts("bye");
    return 0;
}
