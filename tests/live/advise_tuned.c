// SPDX-License-Identifier: BSD-2-Clause
// Ten programs that leave nothing to advise, -DTUNED=1 to 10: they work, and allocate little, or as they should.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile unsigned long sink;
static unsigned state = 12345;

static unsigned next_random(void) {
    return (state = state * 1103515245u + 12345u) >> 8;
}

// So long that the page faults of a block of 400 KiB are less than a hundredth, where they are dear, too.
static void work(int rounds) {
    for (int i = 0; i < rounds * 4000; i++)
        sink += next_random();
}

__attribute__((unused)) static void *filled(size_t bytes) {
    void *block = malloc(bytes);
    memset(block, 1, bytes);
    return block;
}

#if TUNED == 1 // a buffer on the stack
static void run(void) {
    for (int i = 0; i < 2000; i++) {
        unsigned char buffer[1024];
        memset(buffer, i, sizeof(buffer));
        sink += buffer[i % 1024];
        work(10);
    }
}
#elif TUNED == 2  // all at the start, freed at the end
static void run(void) {
    static void *blocks[500];
    for (int i = 0; i < 500; i++)
        blocks[i] = filled(64 + next_random() % 1000);
    work(20000);
    for (int i = 0; i < 500; i++)
        free(blocks[i]);
}
#elif TUNED == 3  // one buffer that is kept
static void run(void) {
    unsigned char *buffer = filled(1 << 20);
    for (int i = 0; i < 20; i++) {
        memset(buffer, i, 1 << 20);
        work(1000);
    }
    free(buffer);
}
#elif TUNED == 4  // an array with all its room
static void run(void) {
    unsigned *items = malloc(100000 * sizeof(*items));
    for (int i = 0; i < 100000; i++)
        items[i] = next_random();
    work(20000);
    sink += items[5000];
    free(items);
}
#elif TUNED == 5  // a pool of its own
static void run(void) {
    enum { PIECE = 96, NR = 1000 };
    unsigned char *pieces = filled((size_t)PIECE * NR);
    for (int i = 0; i < 20000; i++) {
        memset(pieces + (size_t)PIECE * (next_random() % NR), i, PIECE);
        work(1);
    }
    free(pieces);
}
#elif TUNED == 6  // an arena that is emptied, and kept
static void run(void) {
    unsigned char *arena = filled(256 << 10);
    for (int i = 0; i < 500; i++) {
        for (size_t at = 0; at + 200 < 256 << 10; at += 16 + next_random() % 180)
            arena[at] = (unsigned char)i;
        work(40);
    }
    free(arena);
}
#elif TUNED == 7  // blocks of many sizes, made now and then
static void run(void) {
    static void *blocks[64];
    for (int i = 0; i < 2000; i++) {
        void **at = &blocks[next_random() % 64];
        free(*at);
        *at = filled(16 + next_random() % 2000);
        work(10);
    }
}
#elif TUNED == 8  // a string now and then
static void run(void) {
    for (int i = 0; i < 1000; i++) {
        char *text = strdup("a string now and then");
        sink += (unsigned char)text[3];
        work(20);
        free(text);
    }
}
#elif TUNED == 9  // an array that grows rarely
static void run(void) {
    size_t room = 64, nr = 0;
    unsigned *items = malloc(room * sizeof(*items));
    for (; nr < 20000; nr++) {
        if (nr == room)
            items = realloc(items, (room *= 2) * sizeof(*items));
        items[nr] = next_random();
        work(1);
    }
    sink += items[99];
    free(items);
}
#elif TUNED == 10 // threads with what each needs
static void *thread_main(void *argument) {
    unsigned char *own = filled(20000);
    unsigned long sum = 0;
    for (int i = 0; i < 50000000; i++)
        sum += own[i % 20000];
    sink += sum;
    free(own);
    return argument;
}
static void run(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, thread_main, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}
#endif

int main(void) {
    run();
    printf("%lu\n", sink);
    return 0;
}
