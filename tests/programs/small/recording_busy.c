// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

    #include <stdio.h>
    #include <stdlib.h>
    int main(int argc, char **argv) {
        for (int i = 0; i < 100000; i++)
            free(malloc(10));
        FILE *done = fopen(argv[1], "w");
        return argc != 2 || !done || fclose(done);
    }