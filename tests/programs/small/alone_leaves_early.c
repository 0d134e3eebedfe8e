// SPDX-License-Identifier: BSD-2-Clause
// A thread makes events until the file that the first argument names is there. Then the process ends.
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static void *volatile kept;

static void *work(void *unused) {
    for (;;) {
        kept = malloc(200);
        free(kept);
    }
    return unused;
}

int main(int argc, char **argv) {
    (void)argc;
    pthread_t thread;
    kept = malloc(4000);
    if (pthread_create(&thread, NULL, work, NULL))
        return 1;
    while (access(argv[1], F_OK) != 0)
        usleep(1000);
    exit(7);
}
