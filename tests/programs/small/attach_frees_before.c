// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
// Has three blocks and says "ready"; after a line on its input it frees them and one of its own, says "done", waits again.
#include <stdio.h>
#include <stdlib.h>
static char *volatile before[3];
static char *volatile own;
int main(void) {
    setvbuf(stdout, NULL, _IONBF, 0);
    setvbuf(stdin, NULL, _IONBF, 0);
    for (int i = 0; i < 3; i++)
        before[i] = malloc(100 + i);
    puts("ready");
    getchar();
    for (int i = 0; i < 3; i++)
        free(before[i]);
    own = malloc(50);
    free(own);
    puts("done");
    getchar();
    return 0;
}
