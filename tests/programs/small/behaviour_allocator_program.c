// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <malloc.h>
static void *work(void *arg) {
    unsigned seed = (unsigned)(size_t)arg;
    char *held[64] = {0};
    for (int i = 0; i < 20000; i++) {
        seed = seed * 1664525 + 1013904223;
        char **at = &held[seed >> 26];
        size_t size = 1 + (seed >> 10) % 3000;
        if (seed & 4) { free(*at); *at = malloc(size); }
        else if (seed & 8) *at = realloc(*at, size);
        else { free(*at); if (posix_memalign((void **)at, 64, size) || (size_t)*at % 64) abort(); }
        if (!*at || malloc_usable_size(*at) < size) abort();
        memset(*at, 1, size);
    }
    for (int i = 0; i < 64; i++) free(held[i]);
    return NULL;
}
int main(void) {
    pthread_t t[4];
    for (size_t i = 0; i < 4; i++) pthread_create(&t[i], NULL, work, (void *)i);
    for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
    for (int i = 1; i <= 100; i++) { char *volatile p = malloc(8); (void)p; }
    for (int i = 1; i <= 50; i++) { char *volatile p = calloc(3, 9); (void)p; }
    puts("done");
    return 0;
}
