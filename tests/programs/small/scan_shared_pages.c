// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
enum { BYTES = 32 << 20 };
static char *volatile held;
static void *volatile gone;
int main(void) {
    held = malloc(BYTES);
    memset(held, 1, BYTES);
    int ends[2];
    if (pipe(ends) != 0)
        return 1;
    if (fork() == 0) {
        gone = malloc(1001);
        gone = NULL;
        printf("%d\n", (int)getpid());
        fflush(stdout);
    }
    return read(ends[0], ends, 1) != 1; // the test kills both
}
