// SPDX-License-Identifier: BSD-2-Clause
//
// What a recording knows of blocks beyond their number: how long they live, how they are resized, and that another thread
// frees them. 20 blocks live for 30 milliseconds; a block grows 9 times by half; 30 are freed by another thread.
// EXPECT:
// {
//   "sites": [
//     {"in": "lived", "via": "malloc", "allocations": 20, "frees": 20},
//     {"in": "grown", "via": "malloc", "allocations": 1, "frees": 1},
//     {"in": "grown", "via": "realloc", "allocations": 9, "frees": 9},
//     {"in": "handed_over", "via": "malloc", "allocations": 30, "frees": 30},
//     {"in": "kept", "via": "malloc", "live_blocks": 1, "live_bytes": 5000}
//   ]
// }
#include <pthread.h>
#include <unistd.h>

#include "program.h"

static void *blocks[30];

APART static void lived(void) {
    for (int i = 0; i < 20; i++)
        blocks[i] = keep(malloc(40));
    usleep(30000);
    for (int i = 0; i < 20; i++)
        free(blocks[i]);
}

APART static void grown(void) {
    size_t size = 1000;
    void *block = keep(malloc(size));
    for (int i = 0; i < 9; i++) {
        size += size / 2;
        block = keep(realloc(block, size));
    }
    free(block);
}

APART static void handed_over(void) {
    for (int i = 0; i < 30; i++)
        blocks[i] = keep(malloc(100));
}

static void *other(void *nothing) {
    for (int i = 0; i < 30; i++)
        free(blocks[i]);
    return nothing;
}

APART static void kept(void) {
    keep(malloc(5000));
}

int main(void) {
    kept();
    lived();
    grown();
    handed_over();
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, other, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    return 0;
}
