// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv) {
    static void *kept[50000];
    for (int i = 0; i < 50000; i++)
        kept[i] = malloc(20);
    if (argc > 2 && fork() == 0)
        _exit(malloc(7) == NULL);
    puts("there");
    fflush(stdout);
    usleep((useconds_t)atoi(argv[1]) * 1000);
    return 0;
}
