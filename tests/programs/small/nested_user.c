// SPDX-License-Identifier: BSD-2-Clause
// Allocates 10 blocks by each function, of a size of its own, and keeps 3 of them. An argument: "plain", no operators;
// else a library that it opens first.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

void *memalign(size_t, size_t);
void *valloc(size_t);
void *pvalloc(size_t);
#pragma weak _Znwm
#pragma weak _Znam
#pragma weak _ZdlPv
#pragma weak _ZdaPv
void *_Znwm(size_t);
void *_Znam(size_t);
void _ZdlPv(void *);
void _ZdaPv(void *);

static void *volatile kept;

static void one(int i, void *block, void (*gone)(void *)) {
    kept = block;
    if (!block)
        abort();
    if (i >= 3)
        gone(block);
}

int main(int nr_args, char **args) {
    int plain = nr_args > 1 && strcmp(args[1], "plain") == 0;
    if (nr_args > 1 && !plain && !dlopen(args[1], RTLD_NOW | RTLD_GLOBAL))
        return 2;
    for (int i = 0; i < 10; i++) {
        void *block = NULL;
        one(i, malloc(101), free);
        one(i, calloc(2, 51), free);
        one(i, realloc(NULL, 103), free);
        block = realloc(NULL, 33);
        one(i, realloc(block, 104), free);
        block = realloc(NULL, 34);
        if (realloc(block, 0))
            return 3;
        one(i, reallocarray(NULL, 1, 105), free);
        one(i, memalign(64, 106), free);
        one(i, posix_memalign(&block, 64, 107) ? NULL : block, free);
        one(i, aligned_alloc(64, 128), free);
        one(i, valloc(109), free);
        one(i, pvalloc(4096), free);
        block = malloc(35);
        one(i, reallocarray(block, 2, 55), free);
        if (_Znwm && !plain)
            one(i, _Znwm(111), _ZdlPv);
        if (_Znam && !plain)
            one(i, _Znam(112), _ZdaPv);
        block = malloc(36);
        if (realloc(block, (size_t)1 << 62)) // fails, and the block stays
            return 4;
    }
    return 0;
}
