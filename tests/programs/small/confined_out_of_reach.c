// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv) {
    if (!strcmp(argv[1], "end"))
        return 6;
    if (!malloc(100) || (!strcmp(argv[1], "chroot") ? chroot(".") : setgid(65534) || setuid(65534)))
        return 1;
    execv(argv[2], (char *[]){argv[2], "end", 0});
    return 7;
}
