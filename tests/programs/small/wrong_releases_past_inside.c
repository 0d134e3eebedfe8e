// SPDX-License-Identifier: BSD-2-Clause
// Frees a block by libc's own free, and frees by the usual one what libc's own malloc carves out of it.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    void *libc = dlopen("libc.so.6", RTLD_NOW);
    void *(*own_malloc)(size_t) = (void *(*)(size_t))dlsym(libc, "malloc");
    void (*own_free)(void *) = (void (*)(void *))dlsym(libc, "free");
    char *block = malloc(4000), *volatile behind = malloc(100);
    own_free(block);
    char *first = own_malloc(1200), *second = own_malloc(1200);
    printf("%d\n", first == block && second > block && second < block + 4000);
    free(second);
    own_free(first);
    free(behind);
    return 0;
}
