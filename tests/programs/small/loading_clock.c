// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
// As libfaketime does: asks for the real function when it is first called, and keeps something in the heap.
static int (*real)(clockid_t, struct timespec *);
static char *kept;
__attribute__((constructor)) static void start(void) { kept = malloc(123); }
int clock_gettime(clockid_t clock, struct timespec *ret_now) {
    if (!real)
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, ret_now);
    ret_now->tv_sec = 1000;
    return result;
}
void *dlopen(const char *path, int mode) {
    void *(*next)(const char *, int) = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
    return next(path, mode);
}
