// SPDX-License-Identifier: BSD-2-Clause
// The least that a recording of every event can cost on this machine: a thread reads the clock and stores one
// event of 8 bytes, the low bits of the clock and of an address, in a ring, and another thread packs what is
// in the ring with zstd at level 1, as the tool does. There is no hook, no stack, no site, no order between
// threads and no file. Prints what an event adds to the processor time of the program's loop, with a counter
// in place of the clock and with the clock; the time that packing takes; how often the program waited for
// room; and bytes an event.
//
//     cc -O2 -fno-builtin -pthread -o event_floor bench/event_floor.c -lzstd && ./event_floor 5000000
//
// With `heap` behind the number it makes so many events by malloc and free instead, of blocks of random
// sizes, and prints the processor time of its thread for one: the difference between `seep run --mode record`
// and `seep run` of it is what seep adds.
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <zstd.h>

#if defined(__x86_64__)
#define CLOCK() __builtin_ia32_rdtsc()
#elif defined(__aarch64__)
static inline uint64_t CLOCK(void) {
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
}
#endif

enum { EVENTS = 32768, PART = EVENTS / 4, HELD = 4096 };

static uint64_t ring[EVENTS];
static _Alignas(64) uint64_t written;
static _Alignas(64) uint64_t taken;
static uint64_t nr_events, nr_waits, packed_bytes;
static double packing_ns;

static double thread_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

// As a server that replaces blocks of random sizes at random does, without the allocator.
static uint64_t next_address(uint64_t *random) {
    static uint64_t held[HELD];
    *random ^= *random << 13, *random ^= *random >> 7, *random ^= *random << 17;
    uint64_t *place = &held[*random % HELD];
    *place += *random >> 20 & 4080;
    return *place;
}

enum way { NO_EVENTS, COUNTED, CLOCKED };

// Returns the processor time. Inlined, so that no way pays for another.
static inline __attribute__((always_inline)) double produce(enum way way) {
    uint64_t random = 88172645463325252u, room = EVENTS, sum = 0;
    double begin_ns = thread_ns();
    for (uint64_t i = 0; i < nr_events; i++) {
        uint64_t address = next_address(&random);
        if (way == NO_EVENTS) {
            sum += address;
            continue;
        }
        while (!room && !(room = EVENTS - (i - __atomic_load_n(&taken, __ATOMIC_ACQUIRE)))) {
            nr_waits++;
            sched_yield();
        }
        room--;
        ring[i % EVENTS] = (way == CLOCKED ? CLOCK() : i) << 32 | (uint32_t)address;
        __atomic_store_n(&written, i + 1, __ATOMIC_RELEASE);
    }
    __asm__ volatile("" : : "r"(sum));
    return thread_ns() - begin_ns;
}

static void *consume(void *context) {
    static unsigned char packed[2 * sizeof(ring)];
    for (uint64_t done = 0; done < nr_events;) {
        uint64_t nr = __atomic_load_n(&written, __ATOMIC_ACQUIRE) - done;
        uint64_t part = nr_events - done < PART ? nr_events - done : PART;
        if (nr < part) {
            sched_yield();
            continue;
        }
        part = part < EVENTS - done % EVENTS ? part : EVENTS - done % EVENTS;
        double begin_ns = thread_ns();
        size_t bytes =
            ZSTD_compressCCtx(context, packed, sizeof(packed), &ring[done % EVENTS], part * sizeof(*ring), 1);
        packing_ns += thread_ns() - begin_ns;
        packed_bytes += ZSTD_isError(bytes) ? 0 : bytes;
        done += part;
        __atomic_store_n(&taken, done, __ATOMIC_RELEASE);
    }
    return NULL;
}

static double use_heap(void) {
    static void *held[HELD];
    uint64_t random = 88172645463325252u;
    double begin_ns = thread_ns();
    for (uint64_t i = 0; i < nr_events; i += 2) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        void **place = &held[random % HELD];
        free(*place);
        *place = malloc(16 + (random >> 20) % 300);
    }
    return thread_ns() - begin_ns;
}

static double packed_while(enum way way, ZSTD_CCtx *context) {
    pthread_t thread;
    written = taken = nr_waits = packed_bytes = 0;
    packing_ns = 0;
    if (pthread_create(&thread, NULL, consume, context) != 0)
        exit(1);
    double ns = way == CLOCKED ? produce(CLOCKED) : produce(COUNTED);
    pthread_join(thread, NULL);
    return ns;
}

int main(int argc, char **argv) {
    ZSTD_CCtx *context = ZSTD_createCCtx();
    nr_events = argc == 2 || argc == 3 ? strtoull(argv[1], NULL, 10) : 0;
    if (!nr_events || !context)
        return 2;
    if (argc == 3) {
        printf("%.1f ns an event\n", use_heap() / (double)nr_events);
        return 0;
    }
    double least_ns = produce(NO_EVENTS);
    double counted_ns = packed_while(COUNTED, context) - least_ns;
    double clocked_ns = packed_while(CLOCKED, context) - least_ns;
    ZSTD_freeCCtx(context);
    double nr = (double)nr_events;
    printf("counter %.1f, clock %.1f, packing %.1f ns an event; %llu waits, %.2f bytes an event\n",
           counted_ns / nr, clocked_ns / nr, packing_ns / nr, (unsigned long long)nr_waits,
           (double)packed_bytes / nr);
    return 0;
}
