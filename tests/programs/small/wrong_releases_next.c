// SPDX-License-Identifier: BSD-2-Clause
// Blocks of libc's own malloc, at addresses that were freed before, passed to the usual free. With LIBRARY: the library
// that finds that malloc, by HOW. Without HOW it calls malloc. With an argument the program frees a block twice too, in
// two threads, which glibc does not see.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef HOW
#define HOW malloc
#endif

#ifdef LIBRARY
extern void *__libc_malloc(size_t size);

void *next_block(size_t size) {
    static void *(*next)(size_t);
    if (!next)
        next = (void *(*)(size_t))HOW;
    return next(size);
}
#else
void *next_block(size_t size);

static void *free_in_thread(void *block) {
    free(block);
    return NULL;
}

int main(int argc, char **argv) {
    int again = 0;
    (void)argv;
    for (int i = 0; i < 50; i++) {
        void *volatile before = malloc(100);
        free(before);
        void *block = next_block(100);
        again += block == before;
        free(block);
    }
    printf("%s\n", again ? "again" : "never");
    if (argc > 1) {
        pthread_t thread;
        void *volatile twice = malloc(300);
        void *volatile behind = malloc(100);
        pthread_create(&thread, NULL, free_in_thread, twice);
        pthread_join(thread, NULL);
        free(twice);
        free(behind);
    }
    return 0;
}
#endif
