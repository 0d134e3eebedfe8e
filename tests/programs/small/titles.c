// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
// Forks workers that put a title in place of their arguments, as servers do; each keeps a block of its own size.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile kept;

static void work(char **argv, size_t room, int number) {
    memset(argv[0], 0, room);
    snprintf(argv[0], room, "shop: worker %d  ", number);
    kept = malloc((size_t)number * 1000);
    exit(0);
}

int main(int argc, char **argv) {
    size_t room = (size_t)(argv[argc - 1] + strlen(argv[argc - 1]) + 1 - argv[0]);
    for (int i = 1; i <= 2; i++)
        if (fork() == 0)
            work(argv, room, i);
    while (wait(NULL) > 0)
        continue;
    return 0;
}
