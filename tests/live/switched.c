// SPDX-License-Identifier: BSD-2-Clause
//
// For test_control.py: threads that do the same two operations for ever, and a main thread that does one step
// for each line that it is given, and says "ok".
//
//   live-switched THREADS   steps: "keep N", "drop N" (the newest), "deep N", "fork",
//                           "table" (what is kept is in a new block, and nowhere else), "lose N",
//                           "spare" (frees a block of the beginning), "end"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEPT_MOST 100000

static void *kept_first[KEPT_MOST];
static void **kept = kept_first;
static int nr_kept;
static void *spare[64];
static int nr_spare;
static void *volatile last;

static void *turn(void *data) {
    for (;;) {
        void *volatile block = malloc(40);
        free(block);
    }
    return data;
}

__attribute__((noinline)) static void keep(void) {
    kept[nr_kept++] = malloc(1000);
}

__attribute__((noinline)) static void drop(void) {
    free(kept[--nr_kept]);
}

static void table(void) {
    void **made = malloc(KEPT_MOST * sizeof(*made));
    memcpy(made, kept, (size_t)nr_kept * sizeof(*made));
    memset(kept, 0, (size_t)nr_kept * sizeof(*made));
    if (kept != kept_first)
        free(kept);
    kept = made;
}

__attribute__((noinline)) static void lose(int n) {
    void *volatile block;
    while (n-- > 0)
        block = malloc(333);
    block = NULL;
    (void)block;
}

__attribute__((noinline)) static int deep(int levels) {
    if (levels == 0) {
        last = malloc(77);
        return 0;
    }
    return deep(levels - 1) + 1;
}

// Lives until its parent has ended, and does as its parent: allocates.
static void child(void) {
    static int to_child[2], ready[2];
    char byte = 0;
    if (pipe(to_child) != 0 || pipe(ready) != 0)
        exit(1);
    if (fork() != 0) {
        if (read(ready[0], &byte, 1) != 1)
            exit(1);
        return;
    }
    close(to_child[1]);
    keep();
    if (write(ready[1], &byte, 1) != 1)
        _exit(1);
    while (read(to_child[0], &byte, 1) > 0)
        continue;
    _exit(0);
}

int main(int argc, char **argv) {
    static char line[64];
    setvbuf(stdin, malloc(4096), _IOFBF, 4096);
    setvbuf(stdout, malloc(4096), _IOLBF, 4096);
    for (int i = 0; i < atoi(argv[1]); i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, turn, NULL) != 0)
            return 1;
    }
    while (nr_spare < 64)
        spare[nr_spare++] = malloc(24);
    puts("ok");
    while (fgets(line, sizeof(line), stdin) && strcmp(line, "end\n") != 0) {
        int n = 0;
        if (sscanf(line, "keep %d", &n) == 1) {
            while (n-- > 0 && nr_kept < KEPT_MOST)
                keep();
        } else if (sscanf(line, "drop %d", &n) == 1) {
            while (n-- > 0 && nr_kept > 0)
                drop();
        } else if (sscanf(line, "deep %d", &n) == 1) {
            deep(n);
        } else if (sscanf(line, "lose %d", &n) == 1) {
            lose(n);
        } else if (strcmp(line, "table\n") == 0) {
            table();
        } else if (strcmp(line, "spare\n") == 0 && nr_spare) {
            free(spare[--nr_spare]);
        } else if (strcmp(line, "fork\n") == 0) {
            child();
        }
        puts("ok");
    }
    return 0;
}
