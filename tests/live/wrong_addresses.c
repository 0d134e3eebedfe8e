// SPDX-License-Identifier: BSD-2-Clause
// Frees, or with "realloc" resizes, an address that is no block: on the stack, of a variable, without memory, or of a
// large block that was freed and unmapped. The program ends by it.
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static char variable[100];

static void *unmapped(void) {
    char *place = mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(place, 1 << 20);
    return place + 4096 + 64;
}

static void *freed_large(void) {
    char *volatile block = malloc(4 << 20);
    free(block);
    return block;
}

__attribute__((noinline)) static void place_bad(const char *what, int resizes) {
    char local[64];
    memset(local, 0, sizeof(local));
    void *volatile address = strcmp(what, "stack") == 0    ? local + 16
                             : strcmp(what, "static") == 0 ? variable + 32
                             : strcmp(what, "wild") == 0   ? (void *)0x1230
                             : strcmp(what, "large") == 0  ? freed_large()
                                                           : unmapped();
    if (resizes)
        address = realloc(address, 1000);
    else
        free(address);
}

int main(int argc, char **argv) {
    void *volatile block = malloc(10);
    place_bad(argc > 1 ? argv[1] : "", argc > 2);
    free(block);
    return 0;
}
