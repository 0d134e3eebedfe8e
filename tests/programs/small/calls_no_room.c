// SPDX-License-Identifier: BSD-2-Clause
// The file of the log may grow no longer, in the middle of a line; later it may again.
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

static void may_grow_to(rlim_t bytes) {
    struct rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &limit);
}

int main(void) {
    may_grow_to(4099);
    for (int i = 0; i < 2000; i++)
        free(malloc(10));
    may_grow_to(RLIM_INFINITY);
    for (int i = 0; i < 1000; i++)
        free(malloc(77));
    return 0;
}
