// SPDX-License-Identifier: BSD-2-Clause
// Frees blocks of malloc by a function of the allocator beside it, and the reverse, at addresses that were freed before.
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef OF_JEMALLOC
void *mallocx(size_t size, int flags);
void dallocx(void *block, int flags);
#define TAKE(size)  mallocx(size, 0)
#define GIVE(block) dallocx(block, 0)
#elif defined OF_TCMALLOC
void *tc_malloc(size_t size);
void tc_free(void *block);
#define TAKE(size)  tc_malloc(size)
#define GIVE(block) tc_free(block)
#else
void *mi_malloc(size_t size);
void mi_free_size(void *block, size_t size);
#define TAKE(size)  mi_malloc(size)
#define GIVE(block) mi_free_size(block, 1)
#endif

int main(void) {
    for (int i = 0; i < 40; i++) {
        free(malloc(3000));
        void *taken = TAKE(3000);
        free(taken);
        GIVE(malloc(3000));
        taken = TAKE(3000);
        taken = realloc(taken, 6000);
        free(taken);
        GIVE(malloc(64000)); // what is carved out of it is no part of it
        void *pieces[4];
        for (int k = 0; k < 4; k++)
            pieces[k] = TAKE(3000);
        for (int k = 0; k < 4; k++)
            free(pieces[k]);
    }
    puts("ended");
    return 0;
}
