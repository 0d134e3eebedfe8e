// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
static void *volatile keep;
static void nap(void) { struct timespec t = {0, 300000000}; nanosleep(&t, NULL); }
static void *work(void *unused) { keep = malloc(333); return unused; }
int main(void) {
    char *grown = malloc(100);
    keep = malloc(111);
    keep = aligned_alloc(64, 128);
    nap();
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    keep = malloc(222);
    keep = realloc(grown, 5000);
    free(malloc(444));
    return 0;
}
