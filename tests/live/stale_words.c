// SPDX-License-Identifier: BSD-2-Clause
// Blocks that are lost, but for old words in memory that is handed out again and not written: a table of them is
// freed, and its memory given to a buffer (by malloc, by a realloc that grows, or by memalign). It tells how many old
// words are in that.
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NR = 1000, BYTES = NR * sizeof(void *) };
static void *volatile kept;

__attribute__((noinline)) static void lose(const char *how) {
    void *volatile *table = malloc(BYTES);
    for (int i = 0; i < NR; i++)
        table[i] = malloc(24);
    int grows = strcmp(how, "realloc") == 0;
    void *first = grows ? malloc(64) : NULL;
    void *volatile wall = malloc(24); // so that the heap's end does not take the memory back
    memset((void *)table, 0, grows ? 128 : 0);
    free((void *)table);
    kept = grows ? realloc(first, BYTES) : strcmp(how, "memalign") == 0 ? memalign(16, BYTES) : malloc(BYTES);
    free((void *)wall);
}

__attribute__((noinline)) static int nr_old_words(void) {
    void *const *words = (void *const *)kept;
    int nr = 0;
    for (int i = 8; i < NR; i++) // a realloc keeps the 64 bytes before
        nr += words[i] != NULL;
    return nr;
}

__attribute__((noinline)) static void scrub(void) {
    volatile char stack[32768];
    memset((void *)stack, 0, sizeof(stack));
}

int main(int argc, char **argv) {
    lose(argc > 1 ? argv[1] : "");
    printf("%d\n", nr_old_words());
    scrub();
    return 0;
}
