// SPDX-License-Identifier: BSD-2-Clause
// A handler leaves mlockall by siglongjmp; then a library is opened (argument) that allocates. Prints "left" then.
#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static sigjmp_buf out;
static volatile sig_atomic_t is_inside;

static void leave(int number) {
    (void)number;
    if (is_inside)
        siglongjmp(out, 1);
}

int main(int argc, char **argv) {
    (void)argc;
    signal(SIGUSR1, leave);
    void *volatile block = malloc(100);
    if (sigsetjmp(out, 1) == 0) {
        is_inside = 1;
        mlockall(MCL_CURRENT);
        is_inside = 0;
    } else {
        is_inside = 0;
        puts("left");
    }
    void *library = dlopen(argv[1], RTLD_NOW);
    void (*late)(void) = library ? (void (*)(void))dlsym(library, "late") : NULL;
    if (!late || !block)
        return 9;
    late();
    return 0;
}
