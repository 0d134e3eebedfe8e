// SPDX-License-Identifier: BSD-2-Clause
// Allocates through eight places in ways that make peaks, keeps account of what each holds, and prints what each
// held when all together were highest: "NAME BYTES" a line. at_peak MODE [SEED]
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PLACES = 8, MOST = 4096 };

// In no memory of the heap.
static struct {
    char *block;
    long bytes;
    int place;
} kept[MOST];
static int nr_kept;
static long held[PLACES], then[PLACES], sum, highest;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define PLACE(n)                                                                                             \
    __attribute__((noinline)) static void *place_##n(size_t bytes) {                                         \
        char *volatile block = malloc(bytes);                                                                \
        return block;                                                                                        \
    }
PLACE(0);
PLACE(1);
PLACE(2);
PLACE(3);
PLACE(4);
PLACE(5);
PLACE(6);
PLACE(7);
static void *(*const places[PLACES])(size_t) = {place_0, place_1, place_2, place_3,
                                                place_4, place_5, place_6, place_7};

static void note(void) {
    if (sum <= highest)
        return;
    highest = sum;
    memcpy(then, held, sizeof(then));
}

static void put(int place, long bytes) {
    pthread_mutex_lock(&lock);
    if (nr_kept < MOST) {
        kept[nr_kept].place = place;
        kept[nr_kept].bytes = bytes;
        kept[nr_kept++].block = places[place]((size_t)bytes);
        held[place] += bytes;
        sum += bytes;
        note();
    }
    pthread_mutex_unlock(&lock);
}

static void drop(int i) {
    pthread_mutex_lock(&lock);
    if (i < nr_kept) {
        held[kept[i].place] -= kept[i].bytes;
        sum -= kept[i].bytes;
        free(kept[i].block);
        kept[i] = kept[--nr_kept];
    }
    pthread_mutex_unlock(&lock);
}

static void drop_all(void) {
    while (nr_kept)
        drop(nr_kept - 1);
}

static void *churn(void *seed) {
    uint64_t state = (uint64_t)(uintptr_t)seed * 2 + 1;
    for (int i = 0; i < 30000; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        unsigned at = (unsigned)(state >> 33);
        // Waves: for a while more is taken than given, then the other way round; each place has its time.
        int wave = i / 1500 % 4;
        if (at % 8 < (wave < 2 ? 6u : 2u))
            put((int)((at >> 8) % 3 + (unsigned)wave * 2) % PLACES, 16 + (long)((at >> 12) % 4000));
        else if (nr_kept)
            drop((int)((at >> 8) % (unsigned)nr_kept));
    }
    return NULL;
}

static void print(void) {
    printf("peak %ld\n", highest);
    for (int i = 0; i < PLACES; i++)
        printf("place_%d %ld\n", i, then[i]);
}

// One block is most of it, and its release ends the peak.
static void one_block(void) {
    for (int i = 0; i < 500; i++)
        put(0, 1000);
    put(1, 30000000);
    drop(nr_kept - 1);
    drop_all();
    for (int i = 0; i < 500; i++)
        put(2, 2000);
}

// The end is the peak: nothing is ever freed.
static void rising(void) {
    for (int i = 0; i < 4000; i++)
        put(i % PLACES, 100 + i);
}

static void threads(long seed) {
    pthread_t all[4];
    for (long i = 0; i < 4; i++)
        pthread_create(&all[i], NULL, churn, (void *)(seed * 4 + i));
    for (int i = 0; i < 4; i++)
        pthread_join(all[i], NULL);
}

// The child begins with what its parent held.
static void child(long seed) {
    for (int i = 0; i < 1000; i++)
        put(i % 3, 1000);
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        drop_all();
        highest = 0;
        churn((void *)seed);
        for (int i = 0; i < 2000; i++)
            put(5, 5000);
        drop_all();
        print();
        exit(0);
    }
    waitpid(pid, NULL, 0);
    drop_all();
}

int main(int argc, char **argv) {
    static char room[4096];
    setvbuf(stdout, room, _IOFBF, sizeof(room));
    const char *mode = argc > 1 ? argv[1] : "";
    long seed = argc > 2 ? atol(argv[2]) : 1;
    if (strcmp(mode, "one") == 0)
        one_block();
    else if (strcmp(mode, "rising") == 0)
        rising();
    else if (strcmp(mode, "churn") == 0)
        churn((void *)seed);
    else if (strcmp(mode, "threads") == 0)
        threads(seed);
    else if (strcmp(mode, "child") == 0)
        child(seed);
    else
        return 2;
    if (strcmp(mode, "child") != 0)
        print();
    return 0;
}
