// SPDX-License-Identifier: BSD-2-Clause
//
// The micro benchmark: malloc and free pairs whose stack has a given depth, in several shapes. Prints
// one JSON object. Also compiled as C++ (pairs_cxx.cpp), where the blocks come from operator new.
//
// "Depth" is the whole stack from the caller of malloc outward: the loop, frames between, main, and
// libc's three start frames (of a thread: its entry and libc's two).
//
// A run takes -t milliseconds in slices of a few and reports the median slice; with -n it does exactly
// n pairs, for instruction counts. One thread is timed by its CPU time, so that what else the machine
// does counts little; several threads, and with -w one, by wall time, because waiting for a lock is
// part of the cost. With -a it waits for a byte of input first, so that a tracer can attach to it.
#include <getopt.h>
#include <pthread.h>
#include <stdlib.h>

#include "bench.h"

#ifdef __cplusplus
#define GET(size)  kept(operator new(size))
#define PUT(block) operator delete(block)
#else
#define GET(size)  kept(bench_check(malloc(size)))
#define PUT(block) free(block)
#endif

// For all the compiler knows the block is used: it must not optimize a malloc and its free away.
static inline void *kept(void *block) {
    __asm__ volatile("" : "+r"(block)::"memory");
    return block;
}

static struct {
    const char *shape;
    int depth, change, threads, log2_sites;
    long live, pairs;
    double budget_ns;
    bool wall, asks;
} options = {"pair", 20, 1, 1, 10, 1000, 0, 60e6, false, false};

enum { FRAMES_OF_MAIN = 5, FRAMES_OF_THREAD = 4, RECURSION = 64, PATH_BITS = 20 };

// What one thread works on.
struct work {
    void **ring;
    long at, live;
    uint64_t count; // operations so far, over all slices
    int levels;     // frames to put between
    double ns;      // result: median slice, per pair
    double first_ns;
};

// ---- shapes: each does `amount` pairs ---------------------------------------------------------------

static BENCH_NOINLINE void do_pairs(void *argument, long amount) {
    struct work *work = (struct work *)argument;
    void **ring = work->ring;
    long at = work->at, live = work->live;
    uint64_t count = work->count;
    for (long i = 0; i < amount; i++) {
        PUT(ring[at]);
        ring[at] = GET(16 + (count++ & 63) * 16);
        if (++at == live)
            at = 0;
    }
    work->at = at;
    work->count = count;
}

#ifndef __cplusplus
static BENCH_NOINLINE void do_calloc(void *argument, long amount) {
    struct work *work = (struct work *)argument;
    for (long i = 0; i < amount; i++) {
        free(work->ring[work->at]);
        work->ring[work->at] = bench_check(calloc(4, 4 + (size_t)(work->count++ & 63) * 4));
        if (++work->at == work->live)
            work->at = 0;
    }
}

// One realloc that grows or shrinks each block in turn.
static BENCH_NOINLINE void do_realloc(void *argument, long amount) {
    struct work *work = (struct work *)argument;
    for (long i = 0; i < amount; i++) {
        work->ring[work->at] =
            bench_check(realloc(work->ring[work->at], 16 + (size_t)(work->count++ * 7 & 63) * 16));
        if (++work->at == work->live)
            work->at = 0;
    }
}
#endif

// A call path whose innermost `change` frames differ from those of the operation before.
#define PATH(name, next)                                                                                     \
    static BENCH_NOINLINE void *name(int levels, size_t size) {                                              \
        void *block = levels <= 1 ? GET(size) : next(levels - 1, size);                                      \
        __asm__ volatile("" : "+r"(block)::"memory");                                                        \
        return block;                                                                                        \
    }
PATH(path_a, path_a)
PATH(path_b, path_b)

static BENCH_NOINLINE void do_change(void *argument, long amount) {
    struct work *work = (struct work *)argument;
    for (long i = 0; i < amount; i++) {
        PUT(work->ring[work->at]);
        work->ring[work->at] = work->count++ & 1 ? path_a(options.change, 32) : path_b(options.change, 32);
        if (++work->at == work->live)
            work->at = 0;
    }
}

// Allocates at each level on the way down, frees on the way up.
static BENCH_NOINLINE void recurse(int levels) {
    void *block = GET(16 + (size_t)levels * 8);
    if (levels > 1)
        recurse(levels - 1);
    BENCH_NO_TAIL_CALL();
    PUT(block);
}

static BENCH_NOINLINE void do_recursion(void *argument, long amount) {
    struct work *work = (struct work *)argument;
    for (long i = 0; i < amount; i += RECURSION)
        recurse(RECURSION);
    work->count += (uint64_t)amount;
}

// Many distinct sites: PATH_BITS frames, of which each bit of `path` takes one of two.
static void *fork_one(int bits, uint64_t path);
static BENCH_NOINLINE void *fork_zero(int bits, uint64_t path) {
    void *block = bits == 0  ? GET(32)
                  : path & 1 ? fork_one(bits - 1, path >> 1)
                             : fork_zero(bits - 1, path >> 1);
    __asm__ volatile("" : "+r"(block)::"memory");
    return block;
}
static BENCH_NOINLINE void *fork_one(int bits, uint64_t path) {
    void *block = bits == 0  ? GET(32)
                  : path & 1 ? fork_one(bits - 1, path >> 1)
                             : fork_zero(bits - 1, path >> 1);
    __asm__ volatile("" : "+r"(block)::"memory");
    return block;
}

// Odd multiplier: visits each of the 2^n sites once before any again, with no near neighbours.
static BENCH_NOINLINE void do_sites(void *argument, long amount) {
    struct work *work = (struct work *)argument;
    uint64_t mask = ((uint64_t)1 << options.log2_sites) - 1;
    for (long i = 0; i < amount; i++) {
        PUT(work->ring[work->at]);
        work->ring[work->at] = fork_zero(PATH_BITS, work->count++ * 0x9e3779b1u & mask);
        if (++work->at == work->live)
            work->at = 0;
    }
}

// ---- measuring ---------------------------------------------------------------------------------------

static bench_body *body;

static int by_value(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double timed(struct work *work, long amount) {
    clockid_t clock = options.threads == 1 && !options.wall ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
    double begin = bench_clock(clock);
    bench_at_depth(work->levels, body, work, amount);
    return bench_clock(clock) - begin;
}

static void measure(struct work *work) {
    static const int MOST = 4096;
    double *slices = (double *)bench_check(malloc((size_t)MOST * sizeof(*slices)));
    double begin = bench_wall_ns();
    long amount = 64;
    int nr = 0;
    // Warm-up: finds how many pairs fill a slice, at least one round of the ring.
    for (double ns = 0; ns < 1.5e6 && bench_wall_ns() - begin < options.budget_ns; amount *= 2)
        ns = timed(work, amount);
    while (nr < MOST && (nr < 3 || bench_wall_ns() - begin < options.budget_ns * 1.3))
        slices[nr++] = timed(work, amount) / (double)amount;
    qsort(slices, (size_t)nr, sizeof(*slices), by_value);
    work->ns = slices[nr / 2];
    free(slices);
}

static pthread_barrier_t together;

static void run(struct work *work) {
    work->live = options.live;
    work->ring = (void **)bench_check(calloc((size_t)options.live, sizeof(*work->ring)));
    for (long i = 0; i < options.live; i++)
        work->ring[i] = GET(16 + (size_t)(i & 63) * 16);
    if (options.threads > 1)
        pthread_barrier_wait(&together);
    if (body == do_sites) {
        long all = 1L << options.log2_sites;
        work->first_ns = timed(work, all) / (double)all;
    }
    if (options.pairs) {
        work->ns = timed(work, options.pairs) / (double)options.pairs;
    } else {
        measure(work);
    }
    for (long i = 0; i < options.live; i++)
        PUT(work->ring[i]);
    free(work->ring);
}

static void *thread_main(void *argument) {
    struct work *work = (struct work *)argument;
    work->levels = options.depth - FRAMES_OF_THREAD;
    run(work);
    return NULL;
}

static bench_body *body_of(const char *shape) {
    static const struct {
        const char *name;
        bench_body *body;
    } shapes[] = {{"pair", do_pairs},    {"change", do_change},   {"recursion", do_recursion},
#ifndef __cplusplus
                  {"calloc", do_calloc}, {"realloc", do_realloc},
#endif
                  {"sites", do_sites}};
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
        if (!strcmp(shapes[i].name, shape))
            return shapes[i].body;
    fprintf(stderr, "pairs: unknown shape '%s'\n", shape);
    exit(2);
}

int main(int nr_arguments, char **arguments) {
    int option;
    while ((option = getopt(nr_arguments, arguments, "s:d:k:j:b:l:n:t:wa")) != -1) {
        switch (option) {
        case 's':
            options.shape = optarg;
            break;
        case 'd':
            options.depth = atoi(optarg);
            break;
        case 'k':
            options.change = atoi(optarg);
            break;
        case 'j':
            options.threads = atoi(optarg);
            break;
        case 'b':
            options.log2_sites = atoi(optarg);
            break;
        case 'l':
            options.live = atol(optarg);
            break;
        case 'n':
            options.pairs = atol(optarg);
            break;
        case 't':
            options.budget_ns = atof(optarg) * 1e6;
            break;
        case 'w':
            options.wall = true;
            break;
        case 'a':
            options.asks = true;
            break;
        default:
            return 2;
        }
    }
    if (options.asks && getchar() == EOF)
        return 1;
    body = body_of(options.shape);
    int inner = body == do_change ? options.change : body == do_sites ? PATH_BITS + 1 : 0;
    struct work *works = (struct work *)bench_check(calloc((size_t)options.threads, sizeof(*works)));
    pthread_t *threads = (pthread_t *)bench_check(calloc((size_t)options.threads, sizeof(*threads)));
    options.depth -= inner;
    double cpu = bench_clock(CLOCK_PROCESS_CPUTIME_ID);
    if (options.threads == 1) {
        works[0].levels = options.depth - FRAMES_OF_MAIN - 1; // run() is one of them
        run(&works[0]);
    } else {
        pthread_barrier_init(&together, NULL, (unsigned)options.threads);
        for (int i = 0; i < options.threads; i++)
            if (pthread_create(&threads[i], NULL, thread_main, &works[i]))
                bench_die("pthread_create");
        for (int i = 0; i < options.threads; i++)
            pthread_join(threads[i], NULL);
    }
    cpu = bench_clock(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    double sum = 0, first = 0, count = 0;
    for (int i = 0; i < options.threads; i++) {
        sum += works[i].ns;
        first += works[i].first_ns;
        count += (double)works[i].count;
    }
    printf("{\"ns\": %.2f, \"first_ns\": %.2f, \"cpu_ns\": %.2f, \"rss_kib\": %ld}\n", sum / options.threads,
           first / options.threads, count > 0 ? cpu / count : 0, bench_rss_kib());
    return 0;
}
