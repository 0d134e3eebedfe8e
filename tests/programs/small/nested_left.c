// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
// LIBRARY: an allocator that finds the next one by dlsym. It raises SIGUSR1 in malloc of 4141 bytes and after free of
// the block `leave_free`. Otherwise a program whose handler leaves both by siglongjmp, repeatedly from one function.
// Its next calls are at the same depth of the stack.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>

#ifdef LIBRARY
void *leave_free;
#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
void *malloc(size_t size) {
    if (size == 4141)
        raise(SIGUSR1);
    return NEXT(malloc)(size);
}
void free(void *block) {
    NEXT(free)(block);
    if (block && block == leave_free) {
        leave_free = NULL;
        raise(SIGUSR1);
    }
}
#else
extern void *leave_free;
static sigjmp_buf outside;
static void handle(int number) {
    (void)number;
    siglongjmp(outside, 1);
}
int main(void) {
    signal(SIGUSR1, handle);
    for (int i = 0; i < 20; i++) {
        void *volatile block;
        if (!sigsetjmp(outside, 1))
            block = malloc(4141);
        block = malloc(60);
        if (!sigsetjmp(outside, 1)) {
            leave_free = block;
            free(block);
        }
        block = malloc(77);
        free(block);
    }
    return 0;
}
#endif
