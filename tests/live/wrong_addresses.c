// SPDX-License-Identifier: BSD-2-Clause
// Frees what is no block: an address on its stack, of a variable, or where there is no memory. Ends by it.
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static char variable[100];

static void *unmapped(void) {
    char *place = mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(place, 1 << 20);
    return place + 4096 + 64;
}

__attribute__((noinline)) static void place_bad(const char *what) {
    char local[64];
    memset(local, 0, sizeof(local));
    void *volatile address = strcmp(what, "stack") == 0    ? local + 16
                             : strcmp(what, "static") == 0 ? variable + 32
                             : strcmp(what, "wild") == 0   ? (void *)0x1230
                                                           : unmapped();
    free(address);
}

int main(int argc, char **argv) {
    void *volatile block = malloc(10);
    place_bad(argc > 1 ? argv[1] : "");
    free(block);
    return 0;
}
