// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv) {
    char *volatile lost = malloc(501);
    lost = 0;
    if (strcmp(argv[1], "exit") == 0) exit(3);
    if (strcmp(argv[1], "_exit") == 0) _exit(3);
    if (strcmp(argv[1], "call") == 0) syscall(SYS_exit_group, 3);
    return 3;
}
