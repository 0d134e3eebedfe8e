// SPDX-License-Identifier: BSD-2-Clause
//
// A library for the tool on a busy machine: whenever the tool looks at the clock, three seconds have passed, and
// another process has begun and ended.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *ret_now) {
    static _Atomic long passed_s;
    int (*next)(clockid_t, struct timespec *) =
        (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int result = next(clock, ret_now);
    if (clock == CLOCK_MONOTONIC) {
        ret_now->tv_sec += atomic_fetch_add(&passed_s, 3) + 3;
        pid_t child = vfork();
        if (!child)
            _exit(0);
        waitpid(child, 0, 0);
    }
    return result;
}
