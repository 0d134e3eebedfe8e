// SPDX-License-Identifier: BSD-2-Clause
// Changes its root, and its user if an argument names one, then allocates and waits.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *volatile kept;

__attribute__((noinline)) static void grow(void) {
    kept = malloc(1000);
}

int main(int argc, char **argv) {
    char line[8];
    if (argc != 3 || chroot(argv[1]) != 0 || chdir("/") != 0 || setuid((uid_t)atoi(argv[2])) != 0)
        return 1;
    grow();
    puts("ok");
    fflush(stdout);
    return fgets(line, sizeof(line), stdin) == NULL;
}
