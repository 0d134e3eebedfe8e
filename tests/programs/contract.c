// SPDX-License-Identifier: BSD-2-Clause
//
// What libc promises and programs rely on: alignment of every block, errno kept when a call succeeds,
// contents kept, usable sizes as without seep (printed: the test compares with an untraced run).
// EXPECT:
// {
//   "sites": [
//     {"in": "alignment", "live_blocks": 0},
//     {"in": "errno_kept", "live_blocks": 0},
//     {"in": "contents", "live_blocks": 0},
//     {"in": "usable", "live_blocks": 0}
//   ]
// }
#include "program.h"
#include <errno.h>
#include <malloc.h>

APART static void alignment(void) {
    for (size_t n = 0; n < 300; n++) {
        void *p = keep(malloc(n)), *q = keep(calloc(n, 1)), *r = keep(realloc(NULL, n + 1));
        CHECK((uintptr_t)p % 16 == 0 && (uintptr_t)q % 16 == 0 && (uintptr_t)r % 16 == 0);
        free(p), free(q), free(r);
    }
    for (size_t a = 16; a <= 1 << 20; a *= 2) {
        void *p = NULL, *q = keep(aligned_alloc(a, a)), *r = keep(memalign(a, 5));
        CHECK(posix_memalign(&p, a, 1) == 0);
        CHECK((uintptr_t)p % a == 0 && (uintptr_t)q % a == 0 && (uintptr_t)r % a == 0);
        free(p), free(q), free(r);
    }
}

APART static void errno_kept(void) {
    errno = 4321;
    for (size_t n = 1; n < 1 << 24; n *= 3) {
        void *p = keep(malloc(n));
        CHECK(errno == 4321);
        p = keep(realloc(p, n * 2));
        CHECK(errno == 4321);
        free(p);
        CHECK(errno == 4321);
        p = keep(calloc(3, n));
        CHECK(errno == 4321);
        free(p);
        CHECK(errno == 4321);
        CHECK(posix_memalign(&p, 256, n) == 0);
        CHECK(errno == 4321);
        free(p);
    }
}

APART static void contents(void) {
    unsigned char *blocks[64] = {0};
    size_t sizes[64] = {0};
    uint32_t seed = 1;
    for (int i = 0; i < 20000; i++) {
        seed = seed * 1664525 + 1013904223;
        unsigned k = seed >> 26;
        for (size_t j = 0; j < sizes[k]; j += 17)
            CHECK(blocks[k][j] == (unsigned char)(k + j));
        size_t size = seed >> 8 & 2047;
        if (seed & 1) {
            free(blocks[k]);
            blocks[k] = keep(malloc(size));
        } else if (size > 0) {
            blocks[k] = keep(realloc(blocks[k], size));
            for (size_t j = 0; j < size && j < sizes[k]; j += 17)
                CHECK(blocks[k][j] == (unsigned char)(k + j));
        } else {
            free(blocks[k]);
            blocks[k] = NULL;
        }
        sizes[k] = size;
        for (size_t j = 0; j < size; j++)
            blocks[k][j] = (unsigned char)(k + j);
    }
    for (int k = 0; k < 64; k++)
        free(blocks[k]);
}

APART static void usable(void) {
    for (size_t n = 0; n < 200000; n = n * 5 / 4 + 7) {
        void *p = keep(malloc(n));
        printf("%zu %zu\n", n, malloc_usable_size(p));
        free(p);
    }
    CHECK(malloc_usable_size(NULL) == 0);
}

int main(void) {
    static char buffer[65536];
    setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
    alignment();
    errno_kept();
    contents();
    usable();
    return 0;
}
