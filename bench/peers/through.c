// SPDX-License-Identifier: BSD-2-Clause
//
// Hooks that call the real functions and do nothing else: what it costs to be in between at all.
#include <dlfcn.h>
#include <stddef.h>

static void *(*real_malloc)(size_t);
static void (*real_free)(void *);

__attribute__((constructor)) static void find_real(void) {
    *(void **)&real_malloc = dlsym(RTLD_NEXT, "malloc");
    *(void **)&real_free = dlsym(RTLD_NEXT, "free");
}

void *malloc(size_t size) {
    if (__builtin_expect(!real_malloc, 0))
        find_real();
    void *block = real_malloc(size);
    __asm__ volatile("" : "+r"(block)); // a hook has something to do here: no tail call
    return block;
}

void free(void *block) {
    if (__builtin_expect(!real_free, 0))
        find_real();
    real_free(block);
}
