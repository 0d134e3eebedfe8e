// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <malloc.h>
int main(int argc, char **argv) {
    // Which allocator it is shows in the blocks: what may be used of 33 bytes, of 1000, and how far apart they are.
    char *a = malloc(33), *b = malloc(1000);
    printf("%zu %zu\n", malloc_usable_size(a), malloc_usable_size(b));
    free(a);
    char maps[4096], *end = NULL;
    FILE *file = fopen("/proc/self/maps", "r");
    while (fgets(maps, sizeof(maps), file))
        if (strstr(maps, argv[1])) end = "mapped";
    puts(end ? end : "not mapped");
    return 5;
}
