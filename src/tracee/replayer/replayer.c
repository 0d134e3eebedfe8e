// SPDX-License-Identifier: BSD-2-Clause
//
// The replayer: does to the allocator that it was started with what a recorded program did, on as many
// threads, and measures. A fresh process for each run; libc only.
//
// What it needs itself lies in shared mappings, so that its anonymous memory is the allocator's, but for what
// there was before the first call, which is subtracted. It calls no allocator but where the stream says so.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "plan/stream.h"

enum {
    // Of futex(2). The folders of musl-gcc lack the kernel's headers, and generated programs have this file.
    FUTEX_WAIT_PRIVATE = 0 | 128,
    FUTEX_WAKE_PRIVATE = 1 | 128,
    STACK_BYTES = 256 << 10,
    SPINS = 200,
    PAGE = 4096,
    CHUNK_BYTES = 64 << 10,
    BUFFERS = 8,
    ON_STACK = 16 << 10,
    CROWD = 32 // threads; of more than these, those that wait sleep
};

// What others wait for: of a thread how many operations are done, as far as others wait for them; of a gate
// whether it is open.
struct point {
    _Atomic uint64_t reached;
    _Atomic uint32_t nr_of_sleeper; // 1 + the thread that was the last to go to sleep until this goes on
    _Atomic int64_t left;   // of a gate: threads that have not arrived, less what is not known of them
    unsigned char pad[104]; // two lines: neighbours are fetched together
};

// A thread that waits sleeps until it is woken itself.
struct sleeper {
    uint64_t wanted;
    uint32_t nr_of_next; // of those that sleep until the same point goes on
    _Atomic uint32_t is_asleep;
    unsigned char pad[112];
};

static const struct seep_replay_head *head;
static const struct seep_replay_thread *threads;
static const struct seep_replay_op *ops;
static struct seep_replay_results *results;
static void **slots;
static struct point *points; // of the threads, then of the gates
static struct sleeper *sleepers;
static _Atomic uint32_t nr_ready, nr_done, is_on;
static uint64_t start_ns, base_rss;
static int status_fd = -1;

static uint64_t now_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static inline uint64_t ticks(void) {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t value;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
#else
    return now_ns(CLOCK_MONOTONIC);
#endif
}

static inline void pause_a_little(unsigned *spins) {
    if (++*spins < SPINS) {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    } else {
        sched_yield();
    }
}

static inline bool is_crowd(void) {
    return head->nr_threads > CROWD;
}

static void sleep_while(_Atomic uint32_t *word, uint32_t value) {
    syscall(SYS_futex, (void *)word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void wake(_Atomic uint32_t *word, int nr) {
    syscall(SYS_futex, (void *)word, FUTEX_WAKE_PRIVATE, nr, NULL, NULL, 0);
}

// ---- memory ----------------------------------------------------------------------------------------------

// "RssAnon:  1234 kB", without stdio, which would allocate.
static uint64_t anonymous_bytes(void) {
    static const char key[] = "RssAnon:";
    char text[4096];
    ssize_t nr = pread(status_fd, text, sizeof(text) - 1, 0);
    if (nr <= 0)
        return 0;
    text[nr] = 0;
    const char *at = strstr(text, key);
    uint64_t kib = 0;
    for (at = at ? at + sizeof(key) - 1 : ""; *at && *at != '\n'; at++)
        if (*at >= '0' && *at <= '9')
            kib = kib * 10 + (uint64_t)(*at - '0');
    return kib * 1024;
}

static void measure(uint32_t sample) {
    uint64_t bytes = anonymous_bytes();
    if (sample < SEEP_REPLAY_SAMPLES_MAX)
        results->rss[sample] = bytes > base_rss ? bytes - base_rss : 1;
}

// Volatile: stores to memory that is freed next are stores all the same.
static inline void touch(void *block, uint64_t bytes) {
    volatile unsigned char *at = block;
    if (!bytes || results->how.touch == SEEP_REPLAY_TOUCH_NONE)
        return;
    at[0] = 1;
    if (results->how.touch == SEEP_REPLAY_TOUCH_FIRST)
        return;
    for (uint64_t i = PAGE; i < bytes; i += PAGE)
        at[i] = 1;
    at[bytes - 1] = 1;
}

// ---- one thread ------------------------------------------------------------------------------------------

// The block, or NULL of a free. The program's stores come after it, and are not part of the call.
static inline void *call(const struct seep_replay_op *op) {
    void *block = NULL;
    switch (op->kind) {
    case SEEP_REPLAY_MALLOC:
        return malloc(op->value);
    case SEEP_REPLAY_CALLOC:
        return calloc(1, op->value);
    case SEEP_REPLAY_ALIGNED:
        return posix_memalign(&block, (size_t)1 << op->align_shift, op->value) == 0 ? block : NULL;
    case SEEP_REPLAY_REALLOC:
        return realloc(slots[op->slot], op->value);
    default:
        free(slots[op->slot]);
        return NULL;
    }
}

static inline void keep(const struct seep_replay_op *op, void *block) {
    if (op->kind == SEEP_REPLAY_FREE) {
        slots[op->slot] = NULL;
    } else if (block) {
        slots[op->slot] = block;
        if (!(op->flags & SEEP_REPLAY_TOUCHED))
            touch(block, op->value);
    } else {
        __atomic_fetch_add(&results->nr_failed, 1, __ATOMIC_RELAXED);
    }
}

static void note_latency(const struct seep_replay_op *op, uint64_t taken_ticks) {
    uint32_t bucket = seep_replay_bucket(taken_ticks);
    __atomic_fetch_add(&results->latency[op->kind][bucket], 1, __ATOMIC_RELAXED);
}

static void call_timed(const struct seep_replay_op *op) {
    uint64_t before = ticks();
    void *block = call(op);
    uint64_t taken = ticks() - before;
    keep(op, block);
    note_latency(op, taken);
}

// In place of a call: what the replayer does besides it.
static void call_nothing(const struct seep_replay_op *op, bool is_timed) {
    uint64_t before = is_timed ? ticks() : 0;
    *(void *volatile *)&slots[op->slot] = NULL;
    if (is_timed)
        note_latency(op, ticks() - before);
}

// ---- what an advice would have the program do ------------------------------------------------------------

struct own_buffer {
    void *block;
    uint64_t bytes;
    bool is_taken;
};

struct own_memory {
    void *free_pieces;
    void *chunks; // each begins with the one before it
    void *spare;  // of an arena that has ended
    unsigned char *at;
    uint64_t left;
    struct own_buffer buffers[BUFFERS];
};

static __thread struct own_memory own;

static void *next_bytes(uint64_t bytes) {
    bytes = (bytes + 15) & ~UINT64_C(15);
    if (own.left < bytes) {
        uint64_t room = bytes + 16 > CHUNK_BYTES ? bytes + 16 : CHUNK_BYTES;
        unsigned char *chunk = room == CHUNK_BYTES ? own.spare : NULL;
        if (chunk)
            own.spare = *(void **)(void *)chunk;
        else
            chunk = malloc(room);
        if (!chunk)
            return NULL;
        *(void **)(void *)chunk = own.chunks;
        own.chunks = chunk;
        own.at = chunk + 16;
        own.left = room - 16;
    }
    void *block = own.at;
    own.at += bytes;
    own.left -= bytes;
    return block;
}

static void *take_piece(uint64_t bytes) {
    void *piece = own.free_pieces;
    if (!piece)
        return next_bytes(bytes);
    own.free_pieces = *(void **)piece;
    return piece;
}

static void give_piece(void *piece) {
    if (!piece)
        return;
    *(void **)piece = own.free_pieces;
    own.free_pieces = piece;
}

// Its chunks are for the next one. Blocks are far smaller than a chunk, so all chunks are of one size.
static void end_arena(void) {
    for (void *chunk = own.chunks, *before; chunk; chunk = before) {
        before = *(void **)chunk;
        *(void **)chunk = own.spare;
        own.spare = chunk;
    }
    own.chunks = NULL;
    own.left = 0;
}

static void *take_buffer(uint64_t bytes) {
    struct own_buffer *free_one = NULL;
    for (unsigned i = 0; i < BUFFERS; i++) {
        struct own_buffer *buffer = &own.buffers[i];
        if (buffer->is_taken)
            continue;
        if (buffer->bytes >= bytes && buffer->block) {
            buffer->is_taken = true;
            return buffer->block;
        }
        free_one = buffer->block || !free_one ? buffer : free_one;
    }
    if (!free_one)
        return malloc(bytes);
    if (free_one->block) // it grows by more than it has to, as who keeps a buffer does
        bytes += bytes / 2;
    free(free_one->block);
    *free_one = (struct own_buffer){.block = malloc(bytes), .bytes = bytes, .is_taken = true};
    return free_one->block;
}

static void give_buffer(void *block) {
    for (unsigned i = 0; i < BUFFERS; i++)
        if (own.buffers[i].block == block) {
            own.buffers[i].is_taken = false;
            return;
        }
    free(block);
}

__attribute__((noinline)) static void use_stack(uint64_t bytes) {
    volatile unsigned char block[ON_STACK];
    touch((void *)(uintptr_t)block, bytes < ON_STACK ? bytes : ON_STACK);
}

static void advised(const struct seep_replay_op *op) {
    void **slot = &slots[op->slot];
    switch (op->kind) {
    case SEEP_REPLAY_POOL_TAKE:
        *slot = take_piece(op->value);
        break;
    case SEEP_REPLAY_ARENA_TAKE:
        *slot = next_bytes(op->value);
        break;
    case SEEP_REPLAY_BUFFER_TAKE:
        *slot = take_buffer(op->value);
        break;
    case SEEP_REPLAY_POOL_GIVE:
        give_piece(*slot);
        return;
    case SEEP_REPLAY_BUFFER_GIVE:
        give_buffer(*slot);
        return;
    case SEEP_REPLAY_ARENA_END:
        end_arena();
        return;
    case SEEP_REPLAY_STACK:
        use_stack(op->value);
        return;
    case SEEP_REPLAY_TOUCH:
        if (*slot)
            touch(*slot, op->value);
        return;
    default:
        if (*slot && slots[(uint32_t)op->value])
            memcpy(*slot, slots[(uint32_t)op->value], op->value >> 32);
        return;
    }
    if (*slot)
        touch(*slot, op->value);
}

// ---- one thread after another ----------------------------------------------------------------------------

static void put_sleeper(struct point *point, uint32_t index) {
    uint32_t nr = atomic_load(&point->nr_of_sleeper);
    do
        sleepers[index].nr_of_next = nr;
    while (!atomic_compare_exchange_weak(&point->nr_of_sleeper, &nr, index + 1));
}

// Those that want more than what is reached go on sleeping. What is reached while they are in no list is
// looked for again, as who reaches it finds no sleeper.
static void wake_sleepers(struct point *point) {
    uint64_t reached;
    do {
        reached = atomic_load(&point->reached);
        uint32_t nr = atomic_exchange(&point->nr_of_sleeper, 0);
        while (nr) {
            uint32_t index = nr - 1;
            struct sleeper *sleeper = &sleepers[index];
            nr = sleeper->nr_of_next;
            if (sleeper->wanted > reached) {
                put_sleeper(point, index);
            } else {
                atomic_store(&sleeper->is_asleep, 0);
                wake(&sleeper->is_asleep, 1);
            }
        }
    } while (atomic_load(&point->reached) != reached);
}

// Each of hundreds of threads that yield would have its turn before the one that it waits for.
static void sleep_until(uint32_t index, struct point *point, uint64_t value) {
    struct sleeper *sleeper = &sleepers[index];
    sleeper->wanted = value;
    atomic_store(&sleeper->is_asleep, 1);
    put_sleeper(point, index);
    if (atomic_load(&point->reached) >= value) // and who reached it may have found no sleeper
        wake_sleepers(point);
    while (atomic_load(&sleeper->is_asleep))
        sleep_while(&sleeper->is_asleep, 1);
}

static void wait_for(uint32_t index, struct point *point, uint64_t value) {
    unsigned spins = 0;
    // Pairs with the store in reach(): what that thread did to its blocks is seen here.
    while (atomic_load_explicit(&point->reached, memory_order_acquire) < value)
        if (is_crowd())
            sleep_until(index, point, value);
        else
            pause_a_little(&spins);
}

static void reach(struct point *point, uint64_t value) {
    if (!is_crowd()) {
        atomic_store_explicit(&point->reached, value, memory_order_release);
        return;
    }
    atomic_store(&point->reached, value);
    if (atomic_load(&point->nr_of_sleeper))
        wake_sleepers(point);
}

// Each gate arrives at the next one, as the threads do. How many arrive is known with one of them (`nr`; with
// others 0), so that until then `left` is below zero.
static void arrive(uint64_t gate, uint64_t nr) {
    int64_t change = nr ? (int64_t)nr + (gate > 0) - 1 : -1;
    for (; gate < head->nr_gates; gate++, change = -1) {
        struct point *point = &points[head->nr_threads + gate];
        if (atomic_fetch_add(&point->left, change) + change != 0)
            return;
        reach(point, 1);
    }
}

static void wait_until(struct seep_replay_progress *progress, uint64_t ns) {
    for (uint64_t now; (now = now_ns(CLOCK_MONOTONIC) - start_ns) < ns;) {
        uint64_t left = ns - now;
        struct timespec time = {left >= 1000000000, left >= 1000000000 ? 0 : (long)left};
        nanosleep(&time, NULL);
        __atomic_store_n(&progress->nr_beats, progress->nr_beats + 1, __ATOMIC_RELAXED);
    }
}

static void run(uint32_t index) {
    const struct seep_replay_op *first = ops + threads[index].first_op;
    struct seep_replay_progress *progress = &results->progress[index];
    bool is_empty = results->how.is_empty, measures = results->how.measures;
    for (uint64_t i = 0; i < threads[index].nr_ops; i++) {
        const struct seep_replay_op *op = &first[i];
        __atomic_store_n(&progress->at, i, __ATOMIC_RELAXED);
        if (op->kind < SEEP_REPLAY_CALLS_NR) {
            bool is_timed = op->flags & SEEP_REPLAY_TIMED && !measures;
            if (is_empty)
                call_nothing(op, is_timed);
            else if (is_timed)
                call_timed(op);
            else
                keep(op, call(op));
        } else if (op->kind == SEEP_REPLAY_WAIT) {
            wait_for(index, &points[op->slot], op->value);
        } else if (op->kind == SEEP_REPLAY_ARRIVE) {
            arrive(op->slot, op->value);
        } else if (op->kind == SEEP_REPLAY_PASS) {
            wait_for(index, &points[head->nr_threads + op->slot], 1);
        } else if (op->kind == SEEP_REPLAY_MEASURE) {
            if (measures)
                measure(op->slot);
        } else if (op->kind == SEEP_REPLAY_TIME) {
            wait_until(progress, op->value);
        } else if (!is_empty) {
            advised(op);
        }
        if (op->flags & SEEP_REPLAY_PUBLISH)
            reach(&points[index], i + 1);
    }
    __atomic_store_n(&progress->at, threads[index].nr_ops, __ATOMIC_RELAXED);
    if (atomic_fetch_add(&nr_done, 1) + 1 == head->nr_threads && is_crowd())
        wake(&nr_done, 1);
}

static void *thread_main(void *argument) {
    uint32_t index = (uint32_t)(uintptr_t)argument;
    unsigned spins = 0;
    atomic_fetch_add(&nr_ready, 1);
    while (!atomic_load_explicit(&is_on, memory_order_acquire))
        if (is_crowd())
            sleep_while(&is_on, 0);
        else
            pause_a_little(&spins);
    run(index);
    for (;;) // its end is not measured
        pause();
    return NULL;
}

// ---- all of it -------------------------------------------------------------------------------------------

static void *map(int fd, uint64_t bytes, int access) {
    int flags = MAP_SHARED | MAP_POPULATE | (fd < 0 ? MAP_ANONYMOUS : 0);
    void *at = mmap(NULL, bytes ? bytes : 1, access, flags, fd, 0);
    return at == MAP_FAILED ? NULL : at;
}

static bool map_own(void) {
    slots = map(-1, head->nr_slots * sizeof(*slots), PROT_READ | PROT_WRITE);
    points = map(-1, (head->nr_threads + head->nr_gates) * sizeof(*points), PROT_READ | PROT_WRITE);
    sleepers = map(-1, head->nr_threads * sizeof(*sleepers), PROT_READ | PROT_WRITE);
    status_fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    return slots && points && sleepers && status_fd >= 0;
}

static bool start_threads(void) {
    pthread_attr_t attributes;
    pthread_t thread;
    if (pthread_attr_init(&attributes) != 0 || pthread_attr_setstacksize(&attributes, STACK_BYTES) != 0)
        return false;
    for (uint32_t i = 1; i < head->nr_threads; i++)
        if (pthread_create(&thread, &attributes, thread_main, (void *)(uintptr_t)i) != 0 ||
            pthread_detach(thread) != 0)
            return false;
    unsigned spins = 0;
    while (atomic_load(&nr_ready) + 1 < head->nr_threads)
        pause_a_little(&spins);
    return true;
}

static void replay(void) {
    struct rusage before, after;
    base_rss = anonymous_bytes();
    getrusage(RUSAGE_SELF, &before);
    __atomic_store_n(&results->is_on, 1, __ATOMIC_RELAXED);
    uint64_t cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID), tick = ticks();
    start_ns = now_ns(CLOCK_MONOTONIC);
    atomic_store_explicit(&is_on, 1, memory_order_release);
    if (is_crowd())
        wake(&is_on, INT32_MAX);
    run(0);
    unsigned spins = 0;
    for (uint32_t nr; (nr = atomic_load_explicit(&nr_done, memory_order_acquire)) < head->nr_threads;)
        if (is_crowd())
            sleep_while(&nr_done, nr);
        else
            pause_a_little(&spins);
    results->wall_ns = now_ns(CLOCK_MONOTONIC) - start_ns;
    uint64_t nr_ticks = ticks() - tick;
    results->cpu_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    getrusage(RUSAGE_SELF, &after);
    results->faults = (uint64_t)(after.ru_minflt - before.ru_minflt + after.ru_majflt - before.ru_majflt);
    results->ns_per_tick = nr_ticks ? (double)results->wall_ns / (double)nr_ticks : 1;
}

#ifdef SEEP_GENERATED

// ---- a plan that is in this file (seep replay --generate) ------------------------------------------------

struct reader {
    size_t part;
    const char *at;
    uint32_t bits;
    unsigned nr_bits;
};

static unsigned value_of(char digit) {
    return digit >= 'a'   ? (unsigned)(digit - 'a') + 26
           : digit >= 'A' ? (unsigned)(digit - 'A')
           : digit >= '0' ? (unsigned)(digit - '0') + 52
           : digit == '+' ? 62
                          : 63;
}

static unsigned char next_byte(struct reader *reader) {
    while (reader->nr_bits < 8) {
        if (!*reader->at)
            reader->at = generated[++reader->part];
        reader->bits = reader->bits << 6 | value_of(*reader->at++);
        reader->nr_bits += 6;
    }
    reader->nr_bits -= 8;
    return (unsigned char)(reader->bits >> reader->nr_bits);
}

static uint64_t next_number(struct reader *reader) {
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        unsigned char byte = next_byte(reader);
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return value;
    }
}

static void read_ops(struct seep_replay_thread *all, struct seep_replay_op *op) {
    struct reader reader = {.at = generated[0]};
    uint64_t first = 0;
    for (uint32_t i = 0; i < GENERATED_THREADS; i++) {
        uint32_t slot = 0;
        all[i] = (struct seep_replay_thread){.first_op = first, .nr_ops = next_number(&reader)};
        first += all[i].nr_ops;
        for (uint64_t k = 0; k < all[i].nr_ops; k++, op++) {
            unsigned char kind = next_byte(&reader);
            uint64_t step = next_number(&reader);
            slot += (uint32_t)(step >> 1 ^ (step & 1 ? UINT64_MAX : 0));
            *op = (struct seep_replay_op){.kind = kind & 31, .flags = kind >> 5, .slot = slot};
            if (op->kind != SEEP_REPLAY_FREE)
                op->value = next_number(&reader);
            if (op->kind == SEEP_REPLAY_ALIGNED)
                op->align_shift = next_byte(&reader);
        }
    }
}

int main(void) {
    static struct seep_replay_head own = {.nr_threads = GENERATED_THREADS,
                                          .nr_ops = GENERATED_OPS,
                                          .nr_slots = GENERATED_SLOTS,
                                          .nr_gates = GENERATED_GATES};
    struct seep_replay_thread *all = map(-1, GENERATED_THREADS * sizeof(*all), PROT_READ | PROT_WRITE);
    struct seep_replay_op *op = map(-1, GENERATED_OPS * sizeof(*op), PROT_READ | PROT_WRITE);
    results = map(-1, seep_replay_results_bytes(GENERATED_THREADS), PROT_READ | PROT_WRITE);
    if (!all || !op || !results)
        return 3;
    read_ops(all, op);
    results->how = (struct seep_replay_how){.touch = GENERATED_TOUCH, .measures = 1};
    head = &own;
    threads = all;
    ops = op;
    if (!map_own() || !start_threads())
        return 3;
    replay();
    uint64_t peak = 0;
    for (uint32_t i = 0; i < SEEP_REPLAY_SAMPLES_MAX; i++)
        peak = results->rss[i] > peak ? results->rss[i] : peak;
    dprintf(STDOUT_FILENO, "%llu calls on %u thread%s: %.3f ms, %llu page faults, %llu KiB at the peak\n",
            (unsigned long long)GENERATED_CALLS, (unsigned)GENERATED_THREADS,
            GENERATED_THREADS == 1 ? "" : "s", (double)results->wall_ns / 1e6,
            (unsigned long long)results->faults, (unsigned long long)peak / 1024);
    return results->nr_failed != 0;
}

#else

static bool map_all(int stream_fd, int results_fd) {
    struct stat status;
    if (fstat(stream_fd, &status) != 0 || (uint64_t)status.st_size < sizeof(*head))
        return false;
    head = map(stream_fd, (uint64_t)status.st_size, PROT_READ);
    if (!head || head->magic != SEEP_REPLAY_MAGIC || head->version != SEEP_REPLAY_VERSION)
        return false;
    results = map(results_fd, seep_replay_results_bytes(head->nr_threads), PROT_READ | PROT_WRITE);
    if (!results)
        return false;
    threads = (const void *)((const char *)head + head->threads_off);
    ops = (const void *)((const char *)head + head->ops_off);
    return map_own();
}

int main(int argc, char **argv) {
    if (argc != 3 || !map_all(atoi(argv[1]), atoi(argv[2])) || !head->nr_threads)
        return 3;
    if (!start_threads())
        return SEEP_REPLAY_NO_THREADS;
    replay();
    __atomic_store_n(&results->is_done, 1, __ATOMIC_RELEASE);
    _exit(0);
}

#endif
