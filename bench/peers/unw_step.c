// SPDX-License-Identifier: BSD-2-Clause
//
// A peer to measure against: what a malloc tracer costs that calls libunwind's unw_step for each frame.
// It keeps nothing but a sum of the frames, so a tracer that also keeps books costs more than this.
// libunwind's cache is per thread, its fastest setting.
#define UNW_LOCAL_ONLY
#include <dlfcn.h>
#include <libunwind.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FRAMES = 1024, BOOT_BYTES = 1 << 16 };

static __thread int inside __attribute__((tls_model("initial-exec")));
static __thread uint64_t sum __attribute__((tls_model("initial-exec")));
static void *(*real_malloc)(size_t);
static void *(*real_calloc)(size_t, size_t);
static void *(*real_realloc)(void *, size_t);
static void (*real_free)(void *);
static char boot[BOOT_BYTES] __attribute__((aligned(16)));
static size_t boot_used;

// dlsym may allocate before it has found the real functions.
static void *boot_get(size_t size) {
    size_t at = boot_used;
    boot_used = at + ((size + 15) & ~(size_t)15);
    return boot_used <= BOOT_BYTES ? &boot[at] : NULL;
}

static void find_real(void) {
    inside++;
    *(void **)&real_calloc = dlsym(RTLD_NEXT, "calloc");
    *(void **)&real_realloc = dlsym(RTLD_NEXT, "realloc");
    *(void **)&real_free = dlsym(RTLD_NEXT, "free");
    *(void **)&real_malloc = dlsym(RTLD_NEXT, "malloc");
    unw_set_caching_policy(unw_local_addr_space, UNW_CACHE_PER_THREAD);
    inside--;
}

static void unwind(void) {
    if (inside)
        return;
    inside = 1;
    unw_context_t context;
    unw_cursor_t cursor;
    unw_word_t pc;
    unw_getcontext(&context);
    unw_init_local(&cursor, &context);
    for (int i = 0; i < MOST_FRAMES && unw_get_reg(&cursor, UNW_REG_IP, &pc) == 0 && pc; i++) {
        sum = sum * 31 + pc;
        if (unw_step(&cursor) <= 0)
            break;
    }
    inside = 0;
}

void *malloc(size_t size) {
    if (!real_malloc) {
        if (inside)
            return boot_get(size);
        find_real();
    }
    unwind();
    return real_malloc(size);
}

void *calloc(size_t count, size_t size) {
    if (!real_malloc) {
        if (inside)
            return boot_get(count * size);
        find_real();
    }
    unwind();
    return real_calloc(count, size);
}

void *realloc(void *block, size_t size) {
    if (!real_malloc)
        find_real();
    if ((char *)block >= boot && (char *)block < boot + BOOT_BYTES) {
        void *fresh = malloc(size);
        size_t most = (size_t)(boot + BOOT_BYTES - (char *)block);
        return fresh ? memcpy(fresh, block, size < most ? size : most) : NULL;
    }
    unwind();
    return real_realloc(block, size);
}

void free(void *block) {
    if (!block || ((char *)block >= boot && (char *)block < boot + BOOT_BYTES))
        return;
    if (!real_malloc)
        find_real();
    real_free(block);
}
