// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int main(void) {
    struct timespec now;
    for (int i = 0; i < 50; i++) {
        clock_gettime(CLOCK_REALTIME, &now);
        char *volatile p = malloc(31);
        if (i % 2)
            free(p);
    }
    printf("%ld\n", (long)now.tv_sec);
    return 0;
}
