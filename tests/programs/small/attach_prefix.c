// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
#include <stdio.h>
int main(void) {
    setvbuf(stdout, NULL, _IONBF, 0);
    setvbuf(stdin, NULL, _IONBF, 0);
    puts("ready");
    getchar();
    for (int i = 0; i < 10; i++) {
        char *volatile block = je_malloc(20);
        if (i % 2)
            je_free(block);
    }
    puts("done");
    getchar();
    return 0;
}
