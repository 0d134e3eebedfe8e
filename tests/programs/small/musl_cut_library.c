// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <pthread.h>
#include <stdlib.h>
static void *blocks[8];
static int nr;
static int compare_in_library(const void *a, const void *b) {
    blocks[nr++ % 8] = malloc(200);
    return *(const int *)a - *(const int *)b;
}
static void *sort_in_thread(void *unused) {
    int numbers[] = {3, 1, 2};
    qsort(numbers, 3, sizeof(int), compare_in_library);
    blocks[7] = malloc(300);
    return unused;
}
void thread_of_library(void) {
    pthread_t thread;
    if (pthread_create(&thread, 0, sort_in_thread, 0) == 0)
        pthread_join(thread, 0);
}
