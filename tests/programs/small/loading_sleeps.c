// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int main(void) {
    struct timespec now, nap = {0, 20000000};
    void *volatile block = malloc(1000);
    nanosleep(&nap, NULL);
    clock_gettime(CLOCK_MONOTONIC, &now);
    printf("%ld\n", (long)now.tv_sec);
    return block == NULL;
}
