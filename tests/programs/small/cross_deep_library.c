// SPDX-License-Identifier: BSD-2-Clause
// A library that calls malloc by its linkage table, and calloc and free by words of its data, which have relocations of
// another kind.
#include <stdlib.h>

static void *(*const volatile by_word)(size_t, size_t) = calloc;
static void (*volatile free_by_word)(void *) = free;

void *library_alloc(size_t size) {
    free_by_word(by_word(1, 2 * size));
    return malloc(size);
}

void library_free(void *block) {
    free_by_word(block);
}
