// SPDX-License-Identifier: BSD-2-Clause
// Waits for a line on its input, then allocates in known ways, says "done", waits for another line.
// Arguments: rounds. Each round leaves 3 blocks of 100, 101, 102 bytes (malloc), one of 24 (calloc) and one
// of 300 (realloc), and frees 150 others. At most one realloc per round fails.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static void *volatile kept;

__attribute__((noinline)) static void *make(size_t size) {
    void *block = malloc(size);
    kept = block; // no tail call
    return block;
}

__attribute__((noinline)) static void leave(void) {
    for (size_t i = 0; i < 3; i++)
        kept = make(100 + i);
    kept = calloc(3, 8);
    kept = realloc(malloc(10), 300);
}

__attribute__((noinline)) static void balance(void) {
    for (size_t i = 0; i < 50; i++) {
        void *a = make(16 + i), *b = calloc(2, i + 1), *c = NULL;
        a = realloc(a, 500 + i);
        if (posix_memalign(&c, 64, 100) != 0)
            abort();
        kept = realloc(b, SIZE_MAX / 2 - i); // fails, and b lives on
        free(c);
        free(b);
        free(a);
        free(NULL);
    }
}

int main(int argc, char **argv) {
    long rounds = argc > 1 ? atol(argv[1]) : 1;
    setvbuf(stdout, NULL, _IONBF, 0);
    setvbuf(stdin, NULL, _IONBF, 0);
    if (getchar() == EOF)
        return 1;
    for (long i = 0; i < rounds; i++) {
        leave();
        balance();
    }
    puts("done");
    getchar();
    return 0;
}
