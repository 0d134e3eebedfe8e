// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
// WAITS: begins when a byte comes. KILLED: by itself at its end. TIMES: so many blocks.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#ifndef TIMES
#define TIMES 100000
#endif
int main(int argc, char **argv) {
#ifdef WAITS
    char go;
    if (read(0, &go, 1) != 1)
        return 1;
#endif
    for (int i = 0; i < TIMES; i++)
        free(malloc(10));
#ifdef KILLED
    raise(SIGKILL);
#endif
    FILE *done = fopen(argv[1], "w");
    return argc != 2 || !done || fclose(done);
}
