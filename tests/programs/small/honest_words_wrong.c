// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <signal.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    char *volatile block = malloc(5000), *volatile kept = malloc(1000);
    kept[0] = 1;
    free(block);
    if (argc > 1)
        raise(argv[1][0] == 'k' ? SIGKILL : SIGSEGV);
    signal(SIGABRT, SIG_DFL);
    free(block); /* glibc may end the program for it */
    return 3;
}
