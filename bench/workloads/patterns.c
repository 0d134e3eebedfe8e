// SPDX-License-Identifier: BSD-2-Clause
//
// Allocation patterns of threaded programs, in the shape of the classic allocator benchmarks but our
// own code. Prints one JSON object; `checksum` depends only on the arguments.
//
//   short     -n threads, one after the other in groups of -j, each with 100 pairs
//   handoff   -j pairs of threads: one allocates, the other frees (producer and consumer)
//   exchange  -j threads allocate batches, -j others free them, through one locked queue (as xmalloc-test)
//   server    -j threads replace random blocks of an array, which each hands to a successor (as larson)
//   stress    -j threads with short- and long-lived blocks that they swap with one another (as mstress)
#include <getopt.h>
#include <pthread.h>
#include <stdatomic.h>

#include "bench.h"

static struct {
    const char *pattern;
    int threads;
    long amount;
} options = {"short", 2, 1000};

enum { DEPTH = 12, PAIRS_OF_SHORT = 100, RING = 1024, BATCH = 64, SERVER_BLOCKS = 1000, GENERATIONS = 20 };

static pthread_t *start_threads(int nr, void *(*body)(void *)) {
    pthread_t *threads = bench_check(calloc((size_t)nr, sizeof(*threads)));
    for (int i = 0; i < nr; i++)
        if (pthread_create(&threads[i], NULL, body, (void *)(intptr_t)i))
            bench_die("pthread_create");
    return threads;
}

static void join_threads(pthread_t *threads, int nr) {
    for (int i = 0; i < nr; i++)
        pthread_join(threads[i], NULL);
    free(threads);
}

static _Atomic uint64_t checksum;

static void *touched(uint64_t size, uint64_t value) {
    unsigned char *block = bench_check(malloc(size));
    block[0] = (unsigned char)value;
    return block;
}

// ---- short -------------------------------------------------------------------------------------------

static BENCH_NOINLINE void short_body(void *argument, long amount) {
    (void)argument;
    void *kept[8] = {0};
    for (long i = 0; i < amount; i++) {
        free(kept[i & 7]);
        kept[i & 7] = touched(16 + (uint64_t)i % 50 * 8, 1);
    }
    for (int i = 0; i < 8; i++)
        free(kept[i]);
    atomic_fetch_add_explicit(&checksum, (uint64_t)amount, memory_order_relaxed);
}

static void *short_thread(void *argument) {
    (void)argument;
    bench_at_depth(DEPTH, short_body, NULL, PAIRS_OF_SHORT);
    return NULL;
}

static double run_short(void) {
    for (long done = 0; done < options.amount; done += options.threads)
        join_threads(start_threads(options.threads, short_thread), options.threads);
    return (double)options.amount;
}

// ---- handoff -----------------------------------------------------------------------------------------

struct ring {
    _Atomic uint64_t head __attribute__((aligned(64))); // written by the producer
    _Atomic uint64_t tail __attribute__((aligned(64))); // written by the consumer
    unsigned char *blocks[RING];
};

static struct ring *rings;

static BENCH_NOINLINE void produce(void *argument, long amount) {
    struct ring *ring = argument;
    for (long i = 0; i < amount; i++) {
        uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
        while (head - atomic_load_explicit(&ring->tail, memory_order_acquire) == RING)
            sched_yield();
        ring->blocks[head % RING] = touched(16 + (uint64_t)i % 30 * 16, (uint64_t)i);
        atomic_store_explicit(&ring->head, head + 1, memory_order_release);
    }
}

static BENCH_NOINLINE void consume(void *argument, long amount) {
    struct ring *ring = argument;
    uint64_t sum = 0;
    for (long i = 0; i < amount; i++) {
        uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
        while (tail == atomic_load_explicit(&ring->head, memory_order_acquire))
            sched_yield();
        unsigned char *block = ring->blocks[tail % RING];
        sum += *block;
        free(block);
        atomic_store_explicit(&ring->tail, tail + 1, memory_order_release);
    }
    atomic_fetch_add_explicit(&checksum, sum, memory_order_relaxed);
}

static void *handoff_thread(void *argument) {
    intptr_t number = (intptr_t)argument;
    bench_at_depth(DEPTH, number & 1 ? consume : produce, &rings[number / 2], options.amount);
    return NULL;
}

static double run_handoff(void) {
    rings = bench_check(aligned_alloc(64, (size_t)options.threads * sizeof(*rings)));
    memset(rings, 0, (size_t)options.threads * sizeof(*rings));
    join_threads(start_threads(2 * options.threads, handoff_thread), 2 * options.threads);
    free(rings);
    return (double)options.amount * options.threads;
}

// ---- exchange ----------------------------------------------------------------------------------------

struct batch {
    struct batch *next;
    void *blocks[BATCH];
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t filled, emptied;
    struct batch *first;
    int length;
    long to_take;
} queue = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, 0, 0};

static BENCH_NOINLINE void fill_batches(void *argument, long amount) {
    uint64_t state = (uint64_t)(intptr_t)argument;
    for (long i = 0; i < amount; i++) {
        struct batch *batch = bench_check(malloc(sizeof(*batch)));
        for (int k = 0; k < BATCH; k++)
            batch->blocks[k] = touched(16 + bench_random(&state) % 496, 1);
        pthread_mutex_lock(&queue.lock);
        while (queue.length >= 64)
            pthread_cond_wait(&queue.emptied, &queue.lock);
        batch->next = queue.first;
        queue.first = batch;
        queue.length++;
        pthread_cond_signal(&queue.filled);
        pthread_mutex_unlock(&queue.lock);
    }
}

static struct batch *take_batch(void) {
    pthread_mutex_lock(&queue.lock);
    bool more = queue.to_take > 0;
    struct batch *batch = NULL;
    if (more) {
        queue.to_take--;
        while (!queue.first)
            pthread_cond_wait(&queue.filled, &queue.lock);
        batch = queue.first;
        queue.first = batch->next;
        queue.length--;
        pthread_cond_signal(&queue.emptied);
    }
    pthread_mutex_unlock(&queue.lock);
    return batch;
}

static BENCH_NOINLINE void empty_batches(void *argument, long amount) {
    (void)argument;
    (void)amount;
    struct batch *batch;
    uint64_t sum = 0;
    while ((batch = take_batch())) {
        for (int k = 0; k < BATCH; k++) {
            sum += *(unsigned char *)batch->blocks[k];
            free(batch->blocks[k]);
        }
        free(batch);
    }
    atomic_fetch_add_explicit(&checksum, sum, memory_order_relaxed);
}

static void *exchange_thread(void *argument) {
    intptr_t number = (intptr_t)argument;
    bench_at_depth(DEPTH, number & 1 ? empty_batches : fill_batches, argument, options.amount / BATCH);
    return NULL;
}

static double run_exchange(void) {
    queue.to_take = options.amount / BATCH * options.threads;
    join_threads(start_threads(2 * options.threads, exchange_thread), 2 * options.threads);
    return (double)(options.amount / BATCH * BATCH) * options.threads;
}

// ---- server ------------------------------------------------------------------------------------------

struct shift {
    unsigned char *blocks[SERVER_BLOCKS];
    uint64_t state, sum;
    long amount; // of one generation
    int generations;
};

static BENCH_NOINLINE void serve(void *argument, long amount) {
    struct shift *shift = argument;
    for (long i = 0; i < amount; i++) {
        uint64_t random = bench_random(&shift->state);
        unsigned char **place = &shift->blocks[random % SERVER_BLOCKS];
        if (*place)
            shift->sum += **place;
        free(*place);
        *place = touched(10 + (random >> 32) % 490, random >> 24);
    }
}

// Does one generation's work, then starts its successor with the same blocks and ends.
static void *serve_thread(void *argument) {
    struct shift *shift = argument;
    bench_at_depth(DEPTH, serve, shift, shift->amount);
    if (--shift->generations > 0) {
        pthread_t next;
        if (pthread_create(&next, NULL, serve_thread, shift))
            bench_die("pthread_create");
        pthread_join(next, NULL);
    }
    return NULL;
}

static void *server_thread(void *argument) {
    struct shift *shift = bench_check(calloc(1, sizeof(*shift)));
    *shift = (struct shift){.state = (uint64_t)(intptr_t)argument + 1, .generations = GENERATIONS};
    shift->amount = options.amount / GENERATIONS;
    serve_thread(shift);
    for (int i = 0; i < SERVER_BLOCKS; i++)
        free(shift->blocks[i]);
    atomic_fetch_add_explicit(&checksum, shift->sum, memory_order_relaxed);
    free(shift);
    return NULL;
}

static double run_server(void) {
    join_threads(start_threads(options.threads, server_thread), options.threads);
    return (double)options.amount * options.threads;
}

// ---- stress ------------------------------------------------------------------------------------------

enum { SHARED_SLOTS = 512 };
static _Atomic(uint64_t *) shared[SHARED_SLOTS];

// Blocks carry their own length, so that the thread that frees one checks it.
static uint64_t *stress_get(uint64_t words) {
    uint64_t *block = bench_check(words % 3 ? malloc(words * 8) : calloc(words, 8));
    block[0] = words;
    block[words - 1] = words == 1 ? 1 : ~words;
    return block;
}

static uint64_t stress_put(uint64_t *block) {
    if (!block)
        return 0;
    uint64_t words = block[0];
    if (words > 1 && block[words - 1] != ~words) {
        fprintf(stderr, "patterns: a block was damaged\n");
        abort();
    }
    free(block);
    return 1;
}

static BENCH_NOINLINE void stress(void *argument, long amount) {
    uint64_t state = (uint64_t)(intptr_t)argument + 99;
    enum { KEPT = 2000 };
    uint64_t **kept = bench_check(calloc(KEPT, sizeof(*kept)));
    uint64_t freed = 0;
    for (long i = 0; i < amount; i++) {
        uint64_t random = bench_random(&state);
        uint64_t words = 1 + (random >> 40) % (random >> 60 ? 32 : 2000);
        uint64_t **place = &kept[(random >> 8) % KEPT];
        uint64_t *block = stress_get(words);
        if (random % 8 == 0)
            block = atomic_exchange(&shared[(random >> 3) % SHARED_SLOTS], block);
        if (random % 8 < 4) {
            uint64_t *old = *place;
            *place = block;
            block = old;
        }
        freed += stress_put(block);
    }
    for (int i = 0; i < KEPT; i++)
        freed += stress_put(kept[i]);
    free(kept);
    atomic_fetch_add_explicit(&checksum, freed, memory_order_relaxed);
}

static void *stress_thread(void *argument) {
    bench_at_depth(DEPTH, stress, argument, options.amount);
    return NULL;
}

static double run_stress(void) {
    join_threads(start_threads(options.threads, stress_thread), options.threads);
    for (int i = 0; i < SHARED_SLOTS; i++)
        atomic_fetch_add_explicit(&checksum, stress_put(atomic_load(&shared[i])), memory_order_relaxed);
    return (double)options.amount * options.threads;
}

// ------------------------------------------------------------------------------------------------------

static double run_pattern(const char *name) {
    static const struct {
        const char *name;
        double (*run)(void);
    } patterns[] = {{"short", run_short},
                    {"handoff", run_handoff},
                    {"exchange", run_exchange},
                    {"server", run_server},
                    {"stress", run_stress}};
    for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
        if (!strcmp(patterns[i].name, name))
            return patterns[i].run();
    fprintf(stderr, "patterns: unknown pattern '%s'\n", name);
    exit(2);
}

int main(int nr_arguments, char **arguments) {
    int option;
    bool quiet = false;
    while ((option = getopt(nr_arguments, arguments, "p:j:n:q")) != -1) {
        switch (option) {
        case 'p':
            options.pattern = optarg;
            break;
        case 'j':
            options.threads = atoi(optarg);
            break;
        case 'n':
            options.amount = atol(optarg);
            break;
        case 'q':
            quiet = true;
            break;
        default:
            return 2;
        }
    }
    double wall = bench_wall_ns(), cpu = bench_clock(CLOCK_PROCESS_CPUTIME_ID);
    double operations = run_pattern(options.pattern);
    wall = bench_wall_ns() - wall;
    cpu = bench_clock(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    if (quiet) // as a program whose output is compared
        printf("%s %llu\n", options.pattern, (unsigned long long)atomic_load(&checksum));
    else
        printf("{\"ns\": %.2f, \"cpu_ns\": %.2f, \"rss_kib\": %ld, \"checksum\": %llu}\n", wall / operations,
               cpu / operations, bench_rss_kib(), (unsigned long long)atomic_load(&checksum));
    return 0;
}
