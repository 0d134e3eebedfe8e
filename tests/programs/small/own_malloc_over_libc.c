// SPDX-License-Identifier: BSD-2-Clause
// A malloc of the program's own over glibc's own names; also calls of these names, and blocks of theirs that free
// takes.
#include <stdio.h>
#include <stdlib.h>

extern void *__libc_malloc(size_t size) __attribute__((weak));
extern void __libc_free(void *block) __attribute__((weak));
extern void *__libc_calloc(size_t count, size_t size) __attribute__((weak));
extern void *__libc_realloc(void *block, size_t size) __attribute__((weak));
extern void *__libc_memalign(size_t alignment, size_t size) __attribute__((weak));
extern void *__libc_valloc(size_t size) __attribute__((weak));
extern void *__libc_pvalloc(size_t size) __attribute__((weak));

#ifdef OWN
void *malloc(size_t size) {
    return __libc_malloc(size);
}
void free(void *block) {
    __libc_free(block);
}
void *calloc(size_t count, size_t size) {
    return __libc_calloc(count, size);
}
void *realloc(void *block, size_t size) {
    return __libc_realloc(block, size);
}
#endif

void *volatile lost;

__attribute__((noinline)) static void use(void) {
    lost = malloc(1001);
    lost = realloc(calloc(1, 11), 1002);
    lost = __libc_malloc(1003);
    free(__libc_calloc(1, 12));
    __libc_free(malloc(13));
    free(__libc_realloc(__libc_malloc(14), 15));
    __libc_free(__libc_memalign(64, 64));
    free(__libc_valloc(16));
    __libc_free(__libc_pvalloc(17));
    lost = NULL;
}

int main(void) {
    if (__libc_malloc)
        use();
    return 0;
}
