// SPDX-License-Identifier: BSD-2-Clause
// One program for each advice: what it would be worth is planted at plant(), and -DFIXED does what is advised.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(FIXED)
enum { IS_FIXED = 1 };
#else
enum { IS_FIXED = 0 };
#endif

#if !defined(TIMES)
#define TIMES 1000 // how often it is done, or how large it is, in thousandths
#endif
#define OFTEN(nr) ((int)((long)(nr)*TIMES / 1000))

static volatile unsigned long sink;

static void use(void *block, size_t bytes) {
    unsigned char *at = block;
    for (size_t i = 0; i < bytes; i += 4096)
        at[i] = (unsigned char)i;
    at[bytes - 1] = 1;
    sink += at[0];
}

static unsigned next_random(void) {
    static unsigned state = 12345;
    return (state = state * 1103515245u + 12345u) >> 8;
}

// A piece of one size, or the next bytes of a chunk: what the pool and the arena of -DFIXED are made of.
static unsigned char *chunk_at;
static size_t chunk_left;
static void *chunks, *spare, *free_pieces;

static void *next_bytes(size_t bytes) {
    bytes = (bytes + 15) & ~(size_t)15;
    if (chunk_left < bytes) {
        void **chunk = spare ? spare : malloc(64 << 10);
        spare = spare ? *chunk : NULL;
        *chunk = chunks;
        chunks = chunk;
        chunk_at = (unsigned char *)chunk + 16;
        chunk_left = (64 << 10) - 16;
    }
    void *block = chunk_at;
    chunk_at += bytes;
    chunk_left -= bytes;
    return block;
}

static void *take_piece(size_t bytes) {
    void *piece = free_pieces;
    if (!piece)
        return next_bytes(bytes);
    free_pieces = *(void **)piece;
    return piece;
}

static void give_piece(void *piece) {
    *(void **)piece = free_pieces;
    free_pieces = piece;
}

static void end_arena(void) {
    for (void **chunk = chunks, **before; chunk; chunk = before) {
        before = *chunk;
        *chunk = spare;
        spare = chunk;
    }
    chunks = NULL;
    chunk_left = 0;
}

#if defined(STACK)
__attribute__((noinline)) static void plant(size_t bytes) {
    unsigned char own[1024];
    unsigned char *block = IS_FIXED ? own : malloc(bytes);
    use(block, bytes);
    if (!IS_FIXED)
        free(block);
}
static void run(void) {
    for (int i = 0; i < OFTEN(3000000); i++)
        plant(200 + next_random() % 700);
}
#elif defined(RESERVE)
__attribute__((noinline)) static void plant(void) {
    size_t room = IS_FIXED ? 20000 : 4, nr = 0;
    uint64_t *items = malloc(room * sizeof(*items));
    for (; nr < 20000; nr++) {
        if (nr == room)
            items = realloc(items, (room += room / 4 + 1) * sizeof(*items));
        items[nr] = nr;
    }
    sink += items[nr / 2];
    free(items);
}
static void run(void) {
    for (int i = 0; i < OFTEN(1500); i++)
        plant();
}
#elif defined(BUFFER)
static unsigned char *kept;
__attribute__((noinline)) static void plant(size_t bytes) {
    if (!IS_FIXED || !kept)
        kept = malloc(IS_FIXED ? OFTEN(35 << 20) : bytes);
    use(kept, bytes);
    if (!IS_FIXED)
        free(kept);
}
static void run(void) {
    for (int i = 0; i < 8; i++) // each larger than the one before: mapped anew, not from the heap
        plant(OFTEN(33 << 20) + i * 4096);
}
#elif defined(ARENA)
enum { NR = 4000 };
static void *blocks[NR];
__attribute__((noinline)) static void *plant(size_t bytes) {
    return IS_FIXED ? next_bytes(bytes) : malloc(bytes);
}
static void run(void) {
    for (int round = 0; round < OFTEN(500); round++) {
        for (int i = 0; i < NR; i++)
            use(blocks[i] = plant(24 + next_random() % 200), 24);
        for (int i = 0; i < NR && !IS_FIXED; i++)
            free(blocks[i]);
        if (IS_FIXED)
            end_arena();
    }
}
#elif defined(POOL)
enum { NR = 4096 };
static void *blocks[NR];
__attribute__((noinline)) static void *plant(void) {
    return IS_FIXED ? take_piece(104) : malloc(104);
}
static void run(void) {
    for (int i = 0; i < OFTEN(4000000); i++) {
        void **at = &blocks[next_random() % NR];
        if (*at && IS_FIXED)
            give_piece(*at);
        else if (*at)
            free(*at);
        use(*at = plant(), 104);
    }
}
#elif defined(PACK)
enum { NR = OFTEN(600000) };
static void *blocks[NR];
__attribute__((noinline)) static void *plant(void) {
    return IS_FIXED ? next_bytes(9) : malloc(9);
}
static void run(void) {
    for (int i = 0; i < NR; i++)
        use(blocks[i] = plant(), 9);
    for (int i = 0; i < OFTEN(3000000); i++) // it works, too
        sink += *(unsigned char *)blocks[next_random() % NR];
}
#elif defined(HUGE)
enum { NR = OFTEN(2000) };
static void *blocks[NR];
__attribute__((noinline)) static void *plant(size_t bytes) {
    return malloc(bytes);
}
static void run(void) {
    for (int i = 0; i < NR; i++)
        use(blocks[i] = plant(100000), 100000);
}
#elif defined(TUNABLE)
// What is at the top of the heap is trimmed each time, and faulted in again.
enum { NR = 150 };
static void *blocks[NR];
__attribute__((noinline)) static void *plant(size_t bytes) {
    return malloc(bytes);
}
static void run(void) {
    for (int round = 0; round < OFTEN(15); round++) {
        for (int i = 0; i < NR; i++)
            use(blocks[i] = plant(30000), 30000);
        for (int i = NR - 1; i >= 0; i--)
            free(blocks[i]);
    }
}
#endif

int main(void) {
    run();
    printf("%lu\n", sink);
    return 0;
}
