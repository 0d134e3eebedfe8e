// SPDX-License-Identifier: BSD-2-Clause
//
// What seep tells its replayer to do, and what that found: two files that both have mapped. The stream is
// read only; the results are written by the replayer alone. The progress of each thread follows them.
// docs/replay.md says what the figures mean.
//
// Invariant: a wait names an operation that came earlier in the recording, so no two threads wait for each
// other.
//
// A gate is open when each thread that had operations since the gate before it has arrived, and that one is
// open. So who passes it has waited for all threads, in one wait.
#ifndef SEEP_PLAN_STREAM_H
#define SEEP_PLAN_STREAM_H

#include <stdint.h>

#define SEEP_REPLAY_MAGIC   UINT64_C(0x594c504552504553) // "SEPREPLY"
#define SEEP_REPLAY_VERSION 4u

enum seep_replay_kind {
    SEEP_REPLAY_MALLOC,  // slot = malloc(value)
    SEEP_REPLAY_CALLOC,  // slot = calloc(1, value)
    SEEP_REPLAY_ALIGNED, // posix_memalign(&slot, 1 << align_shift, value)
    SEEP_REPLAY_REALLOC, // slot = realloc(slot, value)
    SEEP_REPLAY_FREE,    // free(slot)
    SEEP_REPLAY_CALLS_NR,
    SEEP_REPLAY_WAIT = SEEP_REPLAY_CALLS_NR, // until thread `slot` has published `value` or more
    SEEP_REPLAY_ARRIVE,  // at gate `slot`; of one thread of each, `value` is how many arrive
    SEEP_REPLAY_PASS,    // until gate `slot` is open
    SEEP_REPLAY_MEASURE, // resident memory, as sample `slot`; `value` bytes are live now
    SEEP_REPLAY_TIME,    // not before `value` ns after the start
    SEEP_REPLAY_TOUCH,   // the first `value` bytes of slot are written
    // What an advice would have the program do in place of a call. Each thread has a pool, an arena and
    // buffers of its own.
    SEEP_REPLAY_POOL_TAKE,   // slot = a piece of `value` bytes, all of the same size
    SEEP_REPLAY_POOL_GIVE,   // it may be taken again
    SEEP_REPLAY_ARENA_TAKE,  // slot = the next `value` bytes of the arena
    SEEP_REPLAY_ARENA_END,   // all that was taken of the arena is free
    SEEP_REPLAY_BUFFER_TAKE, // slot = a buffer that is kept, of at least `value` bytes
    SEEP_REPLAY_BUFFER_GIVE, // it may be taken again
    SEEP_REPLAY_STACK,       // `value` bytes of the stack are written
    SEEP_REPLAY_COPY,        // of slot `value` % 2^32, the first `value` / 2^32 bytes, into slot
};

#define SEEP_REPLAY_NO_THREADS 4 // how the replayer exits that could not start its threads

#define SEEP_REPLAY_PUBLISH 1u // others wait for it: once it is done, publish its index + 1
#define SEEP_REPLAY_TIMED   2u // its latency is measured
#define SEEP_REPLAY_TOUCHED 4u // of its block that is written which TOUCH says, behind it

// One operation of a thread: what its words mean for each kind is said above.
struct seep_replay_op {
    uint64_t value;
    uint32_t slot;
    uint8_t kind;
    uint8_t align_shift;
    uint8_t flags;
    uint8_t unused;
};

// Of a new block: the first word of each page, its first word, or nothing is written.
enum seep_replay_touch { SEEP_REPLAY_TOUCH_PAGES, SEEP_REPLAY_TOUCH_FIRST, SEEP_REPLAY_TOUCH_NONE };

struct seep_replay_head {
    uint64_t magic;
    uint32_t version;
    uint32_t nr_threads;
    uint64_t nr_ops;
    uint64_t nr_slots;
    uint64_t nr_gates;
    uint64_t threads_off; // struct seep_replay_thread[nr_threads]
    uint64_t ops_off;     // struct seep_replay_op[nr_ops]
};

// The operations of one thread, an index and a number, in the order in which it does them.
struct seep_replay_thread {
    uint64_t first_op;
    uint64_t nr_ops;
};

// How this run of the stream is made: beside it, as all runs share the stream.
struct seep_replay_how {
    uint32_t touch;    // enum seep_replay_touch
    uint32_t measures; // memory; else time
    uint32_t is_empty; // no call and no touch: what the replayer itself costs
    uint32_t unused;
};

#define SEEP_REPLAY_SAMPLES_MAX 4096u
// Latencies in ticks: 8 buckets for each power of two.
#define SEEP_REPLAY_BUCKETS 512u

// A line of its own for each thread. Neither changes while the thread is in a call.
struct seep_replay_progress {
    uint64_t at;       // the operation that it does now
    uint64_t nr_beats; // grows while the thread waits for its time
    uint64_t unused[6];
};

struct seep_replay_results {
    struct seep_replay_how how; // written by the tool
    uint64_t is_on;             // all threads are there, and the calls have begun
    uint64_t is_done;
    uint64_t wall_ns;
    uint64_t cpu_ns;
    uint64_t faults;
    uint64_t nr_failed; // calls that returned no block
    double ns_per_tick;
    uint64_t
        rss[SEEP_REPLAY_SAMPLES_MAX]; // anonymous memory, bytes, less what there was at the start; 0: none
    uint64_t latency[SEEP_REPLAY_CALLS_NR][SEEP_REPLAY_BUCKETS];
    uint64_t unused[7];                     // up to a whole line
    struct seep_replay_progress progress[]; // by thread
};

// The bucket of a duration: exact below 8 ticks, then eight to each power of two; the last has all that is
// longer.
static inline uint32_t seep_replay_bucket(uint64_t ticks) {
    if (ticks < 8)
        return (uint32_t)ticks;
    uint32_t power = 63u - (uint32_t)__builtin_clzll(ticks);
    uint32_t bucket = (power - 2) * 8 + (uint32_t)(ticks >> (power - 3) & 7);
    return bucket < SEEP_REPLAY_BUCKETS ? bucket : SEEP_REPLAY_BUCKETS - 1;
}

// The size of the file of results.
static inline uint64_t seep_replay_results_bytes(uint32_t nr_threads) {
    return sizeof(struct seep_replay_results) + (uint64_t)nr_threads * sizeof(struct seep_replay_progress);
}

_Static_assert(sizeof(struct seep_replay_op) == 16, "wire size");
_Static_assert(sizeof(struct seep_replay_progress) == 64, "a line");
_Static_assert(sizeof(struct seep_replay_results) % 64 == 0, "progress begins with a line");

#endif
