// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <stdio.h>
#include <stdlib.h>
int main(void) {
    static void *blocks[100];
    char line[16];
    int nr = 0;
    setvbuf(stdout, NULL, _IONBF, 0);
    while (fgets(line, sizeof(line), stdin)) {
        for (int wanted = atoi(line); nr != wanted;)
            if (nr < wanted)
                blocks[nr++] = malloc(1 << 20);
            else
                free(blocks[--nr]);
        puts("ok");
    }
    return 0;
}
