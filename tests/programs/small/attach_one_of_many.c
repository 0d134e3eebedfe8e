// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

        #include <stdio.h>
        #include <stdlib.h>
        int main(void) { void *volatile kept = malloc(10); puts("ready"); fflush(stdout); getchar(); return !kept; }