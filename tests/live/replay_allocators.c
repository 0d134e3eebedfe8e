// SPDX-License-Identifier: BSD-2-Clause
// Allocators that a replay must cope with: -DNEVER gives no memory, -DDIES=CODE does that at the hundredth call, which
// may crash, exit or not return, -DSTARTS=CODE when it is loaded, -DLOOPS=N is glibc that does N rounds of nothing in
// each 64th call.
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void __libc_free(void *);

#ifdef STARTS
__attribute__((constructor)) static void start(void) {
    STARTS;
}
#endif

void *malloc(size_t size) {
#if defined(LOOPS)
    static unsigned nr;
    if (++nr % 64 == 0)
        for (volatile int i = 0; i < LOOPS; i++)
            ;
    return __libc_malloc(size);
#elif defined(NEVER)
    return size > 500 ? NULL : __libc_malloc(size);
#else
#ifdef DIES
    static int nr;
    if (__atomic_add_fetch(&nr, 1, __ATOMIC_RELAXED) == 100)
        DIES;
#endif
    return __libc_malloc(size);
#endif
}

void free(void *block) {
    __libc_free(block);
}
