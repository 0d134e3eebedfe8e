// SPDX-License-Identifier: BSD-2-Clause
// 1,000 blocks are kept, then one after the other is freed at once, all from one line, until input ends.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { NR_KEPT = 1000, REST_US = 300 };

static void *kept[NR_KEPT];

static void *allocate(void *unused) {
    (void)unused;
    for (int i = 0;; i++) {
        void *block = malloc(40);
        if (i < NR_KEPT) {
            kept[i] = block;
            continue;
        }
        if (i == NR_KEPT) {
            puts("ok");
            fflush(stdout);
        }
        free(block);
        usleep(REST_US);
    }
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, allocate, NULL);
    return getchar() == EOF && kept[0] == NULL;
}
