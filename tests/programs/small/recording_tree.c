// SPDX-License-Identifier: BSD-2-Clause
// A tree of six forked processes: each frees, resizes and makes blocks at random, those of its parent among them,
// while its parent does the same.
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HELD = 2000 };
static void *held[HELD];
static uint64_t seed = 88172645463325252u;

static uint32_t next(void) {
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return (uint32_t)(seed >> 16);
}

static void change(int nr) {
    while (nr--) {
        void **place = &held[next() % HELD];
        if (next() % 5 == 0) {
            *place = realloc(*place, 1 + next() % 900);
        } else {
            free(*place);
            *place = malloc(1 + next() % 500);
        }
    }
}

static void grow(unsigned depth) {
    change(1500);
    for (unsigned child = 0; child < 2 && depth; child++) {
        if (fork() == 0) {
            seed ^= (uint64_t)(depth * 77 + child) * 1234567;
            grow(depth - 1);
            _exit(0);
        }
        change(800);
    }
    while (wait(NULL) > 0)
        ;
}

int main(void) {
    grow(2);
    return 0;
}
