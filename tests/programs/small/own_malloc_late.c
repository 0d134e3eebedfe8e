// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <stddef.h>
#include <stdio.h>
#include <string.h>

// An allocator that works from main on, as that of GNU Common Lisp. Who calls it before dies.
static char memory[1 << 20];
static size_t used;
static int has_begun;

void *malloc(size_t size) {
    if (!has_begun)
        return (void *)-1;
    void *block = memory + used;
    used += (size + 15) & ~(size_t)15;
    return block;
}

void free(void *block) {
    (void)block;
}

void *calloc(size_t nr, size_t size) {
    return malloc(nr * size);
}

void *realloc(void *old, size_t size) {
    void *block = malloc(size);
    if (old)
        memcpy(block, old, size);
    return block;
}

int main(void) {
    has_begun = 1;
    char *text = malloc(100);
    strcpy(text, "works");
    puts(text);
    return 5;
}
