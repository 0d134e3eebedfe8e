// SPDX-License-Identifier: BSD-2-Clause
//
// A program that tells seep of its pools, marks, threads, ignored blocks and roots. Compiled as C and as
// C++. Prints whether it is traced, and errno, which must stay. `fork`: a child goes on with the pools.
#include <seep.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct pool {
    char *at;
    char *end;
};

__attribute__((noinline)) static struct pool *make_pool(const char *name, size_t bytes) {
    struct pool *pool = (struct pool *)malloc(sizeof(*pool));
    pool->at = (char *)malloc(bytes);
    pool->end = pool->at + bytes;
    seep_pool_create(pool, name);
    return pool;
}

__attribute__((noinline)) static void *take(struct pool *pool, size_t bytes) {
    void *piece = pool->at + bytes <= pool->end ? pool->at : NULL;
    if (piece)
        pool->at += bytes;
    seep_pool_alloc(pool, piece, bytes);
    return piece;
}

__attribute__((noinline)) static void leak_pieces(struct pool *pool) {
#pragma GCC unroll 1
    for (int i = 0; i < 3; i++) {
        take(pool, 100);
        __asm__ volatile("" ::: "memory");
    }
}

__attribute__((noinline)) static void give_all_back(struct pool *pool) {
    void *pieces[50];
#pragma GCC unroll 1
    for (int i = 0; i < 50; i++)
        pieces[i] = take(pool, 7); // also at odd addresses
#pragma GCC unroll 1
    for (int i = 0; i < 50; i++)
        seep_pool_free(pool, pieces[i]);
}

__attribute__((noinline)) static void resize(struct pool *pool) {
    char *piece = (char *)take(pool, 64);
    seep_pool_resize(pool, piece, piece, 32); // in its place
    char *moved = pool->at;
    pool->at += 128;
    seep_pool_resize(pool, piece, moved, 128);
    seep_pool_resize(pool, moved, NULL, 1 << 30); // fails: the old one stays
}

static void *work(void *argument) {
    seep_thread_name("eater of pieces");
    struct pool *pool = make_pool("of a thread", 100000);
#pragma GCC unroll 1
    for (int i = 0; i < 1000; i++)
        take(pool, 10);
    free(malloc(11));
    if (argument)
        seep_pool_destroy(pool);
    return NULL;
}

static void threads(void) {
    pthread_t all[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&all[i], NULL, work, (void *)(long)(i > 0));
    for (int i = 0; i < 4; i++)
        pthread_join(all[i], NULL);
}

static void in_child(struct pool *pool) {
    pid_t child = fork();
    if (child == 0) {
        free(malloc(1));
        seep_pool_clear(pool); // what was inherited
        take(pool, 5);
        seep_mark("in the child");
        exit(0);
    }
    waitpid(child, NULL, 0);
}

int main(int argc, char **argv) {
    errno = 77;
    struct pool *leaky = make_pool("leaky", 4096);
    leak_pieces(leaky);
    give_all_back(leaky);
    seep_mark("loaded");
    resize(leaky);
    struct pool *cleared = make_pool(NULL, 1000);
    take(cleared, 500);
    take(cleared, 500);
    take(cleared, 500); // exhausted: NULL
    seep_pool_clear(cleared);
    struct pool *gone = make_pool("gone", 1000);
    take(gone, 1);
    seep_pool_destroy(gone);
    seep_pool_free(gone, gone); // never seen
    char *custom = (char *)malloc(1000);
    seep_pool_alloc(NULL, custom + 10, 600);
    seep_pool_alloc(NULL, custom + 700, 20);
    seep_pool_free(NULL, custom + 700);
    char **kept = (char **)malloc(48), **given = (char **)malloc(56);
    seep_ignore(kept);
    seep_ignore(given);
    free(given);
    void *roots = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    seep_root_add(roots, 4096);
    seep_root_add(leaky, sizeof(*leaky));
    seep_root_remove(leaky, sizeof(*leaky));
    if (argc > 1 && strcmp(argv[1], "threads") == 0)
        threads();
    if (argc > 1 && strcmp(argv[1], "fork") == 0)
        in_child(leaky);
    seep_mark("end");
    printf("%d %d %p\n", seep_is_tracing(), errno,
           argc > 1 && strcmp(argv[1], "places") == 0 ? (void *)kept : NULL);
    return 0;
}
