// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <stdlib.h>
#include <time.h>
int clock_gettime(clockid_t clock, struct timespec *now) {
    free(malloc(77));
    now->tv_sec = 1000000000;
    now->tv_nsec = 0;
    return 0;
}
