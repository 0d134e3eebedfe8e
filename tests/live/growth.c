// SPDX-License-Identifier: BSD-2-Clause
//
// For test_growth.py: three places that grow, fill and stop, rise and fall. What each has is a function of
// the time that has passed, not of how often the loop came round: so a busy machine does not change the
// shapes.
//
//   live-growth MILLISECONDS        does that and ends
//   live-growth MILLISECONDS fork   a child does it, the parent waits
//   live-growth MILLISECONDS maps   maps memory and touches it, and nothing else
//   live-growth steps               one step of 20 for each line of standard input, answered by "ok"
//   live-growth eat BYTES           allocates and touches BYTES, a mebibyte each ten milliseconds, and ends
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PLACES 64

struct node {
    struct node *next;
    char bytes[1992];
};

static struct node *grown;
static void *volatile cached[PLACES];
static void *volatile risen[PLACES];
static unsigned nr_grown, nr_cached, nr_risen;

__attribute__((noinline)) static void grow(void) {
    struct node *node = malloc(sizeof(*node));
    node->next = grown;
    grown = node;
    nr_grown++;
}

__attribute__((noinline)) static void fill(void) {
    cached[nr_cached++] = malloc(3000);
}

__attribute__((noinline)) static void rise(void) {
    risen[nr_risen++] = malloc(5000);
}

static void fall(void) {
    while (nr_risen)
        free(risen[--nr_risen]);
}

// `part` of the whole, 0 to 1.
static void be_at(double part) {
    static unsigned tooth;
    unsigned now = (unsigned)(part * 4);
    while (nr_grown < (unsigned)(part * 1000))
        grow();
    while (nr_cached < PLACES && nr_cached < (unsigned)(part * 3 * PLACES))
        fill();
    if (now != tooth)
        fall();
    tooth = now;
    while (nr_risen < PLACES && nr_risen < (unsigned)((part * 4 - now) * PLACES))
        rise();
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void run(double duration) {
    double start = seconds(), passed;
    while ((passed = seconds() - start) < duration) {
        be_at(passed / duration);
        usleep(2000);
    }
}

static void follow_lines(void) {
    char line[16];
    unsigned step = 0;
    setvbuf(stdout, NULL, _IONBF, 0);
    while (fgets(line, sizeof(line), stdin)) {
        be_at(++step / 20.0);
        puts("ok");
    }
}

static void eat(size_t bytes) {
    static char *volatile eaten;
    for (size_t i = 0; i < bytes >> 20; i++) {
        eaten = malloc(1 << 20);
        if (eaten)
            memset((char *)eaten, 1, 1 << 20);
        usleep(10000);
    }
}

// What a program maps and never unmaps, and the heap has no part in.
__attribute__((noinline)) static void map(double duration) {
    double start = seconds(), passed;
    unsigned nr = 0;
    while ((passed = seconds() - start) < duration) {
        for (; nr < (unsigned)(passed / duration * 400); nr++) {
            char *at = mmap(NULL, 32 << 10, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (at != MAP_FAILED)
                memset(at, 1, 32 << 10);
        }
        usleep(2000);
    }
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "steps") == 0) {
        follow_lines();
    } else if (argc == 3 && strcmp(argv[1], "eat") == 0) {
        eat(strtoul(argv[2], NULL, 10));
    } else if (argc == 3 && strcmp(argv[2], "maps") == 0) {
        map(atoi(argv[1]) / 1e3);
    } else if (argc == 3 && strcmp(argv[2], "fork") == 0) {
        if (fork() == 0)
            run(atoi(argv[1]) / 1e3);
        else
            wait(NULL);
    } else if (argc == 2) {
        run(atoi(argv[1]) / 1e3);
    } else {
        return 2;
    }
    return 0;
}
