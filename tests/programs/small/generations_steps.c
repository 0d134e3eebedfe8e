// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <stdio.h>
#include <stdlib.h>
static void *volatile keep[16];
int main(void) {
    static char in[64], out[64];
    setvbuf(stdin, in, _IOLBF, sizeof(in));
    setvbuf(stdout, NULL, _IONBF, 0);
    (void)out;
    for (int i = 0, size; scanf("%d", &size) == 1; i++) {
        keep[i] = malloc(size);
        puts("ok");
    }
    return 0;
}
