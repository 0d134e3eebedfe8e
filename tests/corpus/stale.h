// SPDX-License-Identifier: BSD-2-Clause
//
// Put in front of a program of the corpus (-include): before main it leaves old words everywhere. 200 blocks are
// lost, and blocks of all small sizes are freed, so that the program gets their memory; the addresses of both stand
// in tables that are freed as well, and whose memory is handed out again to buffers that are kept and not written.
// Without wiping all that the program loses in that memory is held by these buffers.
#ifndef CORPUS_STALE_H
#define CORPUS_STALE_H

#include <stdlib.h>
#include <string.h>

#ifndef CORPUS_LIBRARY

enum {
    STALE_LOST = 200,
    STALE_SIZES = 64,
    STALE_EACH = 7,
    STALE_ALL = STALE_LOST + STALE_SIZES * STALE_EACH
};

void *stale_buffers[3];

__attribute__((constructor, noinline)) static void leave_old_words(void) {
    void *volatile *tables[2];
    void *walls[2];
    for (int t = 0; t < 2; t++) {
        tables[t] = (void *volatile *)malloc(STALE_ALL * sizeof(void *));
        walls[t] = malloc(2000); // so that what is freed stays apart
    }
    for (int i = 0; i < STALE_ALL; i++)
        tables[0][i] = tables[1][i] =
            malloc(i < STALE_LOST ? 40 : 16 * (size_t)((i - STALE_LOST) / STALE_EACH) + 8);
    for (int i = STALE_LOST; i < STALE_ALL; i++)
        free(tables[0][i]);
    for (int t = 0; t < 2; t++) {
        free((void *)tables[t]);
        stale_buffers[t] = malloc(STALE_ALL * sizeof(void *)); // and not written
    }
    stale_buffers[2] = malloc(1); // holds nothing
    free(walls[0]);
    free(walls[1]);
    volatile char stack[16384];
    memset((void *)stack, 0, sizeof(stack));
}

#endif
#endif
