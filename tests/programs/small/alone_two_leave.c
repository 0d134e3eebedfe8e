// SPDX-License-Identifier: BSD-2-Clause
// Two threads leave at the same time, as the workers of a server that shuts down. The way is the first argument.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *volatile kept;
static pthread_barrier_t both;
static const char *way;

static void *leave(void *is_first) {
    pthread_barrier_wait(&both);
    if (is_first && strcmp(way, "two-ways") == 0)
        exit(7);
    _exit(7);
}

int main(int argc, char **argv) {
    (void)argc;
    pthread_t thread;
    way = argv[1];
    for (int i = 0; i < 100000; i++)
        kept = malloc(200); // so that the file takes a while
    if (pthread_barrier_init(&both, NULL, 2) || pthread_create(&thread, NULL, leave, NULL))
        return 1;
    leave(&both);
}
