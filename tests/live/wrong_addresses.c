// SPDX-License-Identifier: BSD-2-Clause
// Frees what is no block: an address on its stack, of a variable, or where no program has memory. Ends by it.
#include <stdlib.h>
#include <string.h>

static char variable[100];

__attribute__((noinline)) static void place_bad(const char *what) {
    char local[64];
    memset(local, 0, sizeof(local));
    void *volatile address = strcmp(what, "stack") == 0    ? local + 16
                             : strcmp(what, "static") == 0 ? variable + 32
                                                           : (void *)0x1230;
    free(address);
}

int main(int argc, char **argv) {
    void *volatile block = malloc(10);
    place_bad(argc > 1 ? argv[1] : "");
    free(block);
    return 0;
}
