// SPDX-License-Identifier: BSD-2-Clause
// Holds a block that is to be suppressed and a block that is not, of as many bytes as its arguments say.
#include <stdlib.h>

static void *held[2];

static void keep_known(size_t bytes) {
    held[0] = malloc(bytes);
}

static void keep_own(size_t bytes) {
    held[1] = malloc(bytes);
}

int main(int argc, char **argv) {
    if (argc != 3)
        return 1;
    keep_known(strtoul(argv[1], NULL, 10));
    keep_own(strtoul(argv[2], NULL, 10));
    return 0;
}
