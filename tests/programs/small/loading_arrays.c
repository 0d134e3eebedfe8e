// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <malloc.h>
int main(void) {
    char *text = NULL;
    for (int i = 1; i < 200; i++) {
        text = reallocarray(text, i, 50);
        memset(text, i, i * 50);
    }
    printf("%d\n", malloc_usable_size(text) >= 199 * 50);
    free(text);
    void *aligned = NULL;
    printf("%d\n", posix_memalign(&aligned, 256, 100));
    free(aligned);
    free(strdup("text"));
    return 0;
}
