// SPDX-License-Identifier: BSD-2-Clause
// Blocks of libc's own malloc, at addresses that were freed before, passed to the usual free and realloc.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    void *libc = dlopen("libc.so.6", RTLD_NOW), *volatile before[20];
    void *(*own)(size_t) = (void *(*)(size_t))dlsym(libc, "malloc");
    int again = 0;
    for (int i = 0; i < 20; i++) {
        before[i] = malloc(100);
        free(before[i]);
        void *block = own(100);
        again += block == before[i];
        free(i % 2 ? block : realloc(block, 200));
    }
    printf("%d\n", again > 0);
    return 0;
}
