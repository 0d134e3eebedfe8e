// SPDX-License-Identifier: BSD-2-Clause
//
// Resident memory, by the kernel's account: of many live blocks, or of many waiting threads. Prints
// one JSON object. The account covers this process only; the pages of a traced program's image are
// mapped in it, and so are counted.
//
//   memory blocks COUNT SIZE     COUNT live blocks of SIZE bytes, first byte of each written
//   memory threads COUNT         COUNT threads that allocated at 8 stacks and now wait
#include <pthread.h>

#include "bench.h"

static void *volatile keep;
static pthread_barrier_t all_there, all_may_go;

static BENCH_NOINLINE void fill(void *argument, long amount) {
    size_t size = *(size_t *)argument;
    void **last = NULL;
    for (long i = 0; i < amount; i++) {
        void **block = bench_check(malloc(size));
        *block = last; // a list, so that nothing else is needed to keep them
        last = block;
    }
    keep = last;
}

static BENCH_NOINLINE void some_blocks(void *argument, long amount) {
    void **blocks = argument;
    for (long i = 0; i < amount; i++)
        blocks[i] = bench_check(malloc(32));
}

static void *wait_with_blocks(void *argument) {
    (void)argument;
    void *blocks[8][4];
    for (int i = 0; i < 8; i++)
        bench_at_depth(10 + i, some_blocks, blocks[i], 4);
    pthread_barrier_wait(&all_there);
    pthread_barrier_wait(&all_may_go);
    for (int i = 0; i < 32; i++)
        free(blocks[i / 4][i % 4]);
    return NULL;
}

static long status_kib(const char *name) {
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    long value = -1;
    if (!file)
        bench_die("/proc/self/status");
    while (fgets(line, sizeof(line), file))
        if (!strncmp(line, name, strlen(name)))
            value = strtol(line + strlen(name), NULL, 10);
    fclose(file);
    return value;
}

static void print_account(double seconds) {
    printf("{\"rss_kib\": %ld, \"anonymous_kib\": %ld, \"shared_kib\": %ld, \"seconds\": %.3f}\n",
           status_kib("VmRSS:"), status_kib("RssAnon:"), status_kib("RssShmem:"), seconds);
    fflush(stdout);
}

int main(int nr_arguments, char **arguments) {
    if (nr_arguments == 4 && !strcmp(arguments[1], "blocks")) {
        size_t size = (size_t)atol(arguments[3]);
        double begin = bench_wall_ns();
        bench_at_depth(15, fill, &size, atol(arguments[2]));
        print_account((bench_wall_ns() - begin) / 1e9);
        _exit(0); // the account is what this is for, not the freeing
    }
    if (nr_arguments == 3 && !strcmp(arguments[1], "threads")) {
        int nr = atoi(arguments[2]);
        pthread_t *threads = bench_check(calloc((size_t)nr, sizeof(*threads)));
        pthread_barrier_init(&all_there, NULL, (unsigned)nr + 1);
        pthread_barrier_init(&all_may_go, NULL, (unsigned)nr + 1);
        for (int i = 0; i < nr; i++)
            if (pthread_create(&threads[i], NULL, wait_with_blocks, NULL))
                bench_die("pthread_create");
        pthread_barrier_wait(&all_there);
        print_account(0);
        pthread_barrier_wait(&all_may_go);
        for (int i = 0; i < nr; i++)
            pthread_join(threads[i], NULL);
        free(threads);
        return 0;
    }
    fprintf(stderr, "usage: memory blocks COUNT SIZE | memory threads COUNT\n");
    return 2;
}
