// SPDX-License-Identifier: BSD-2-Clause
// Allocators that a replay must cope with: -DNEVER gives no memory, -DDIES crashes at the hundredth call, -DLOOPS=N is
// glibc that does N rounds of nothing in each 64th call.
#include <stddef.h>
#include <stdlib.h>

extern void *__libc_malloc(size_t);
extern void __libc_free(void *);

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
    static int nr;
    if (++nr == 100)
        abort();
    return __libc_malloc(size);
#endif
}

void free(void *block) {
    __libc_free(block);
}
