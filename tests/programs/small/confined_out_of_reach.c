// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
static int confine(const char *how) {
    if (!strcmp(how, "descriptors"))
        return setrlimit(RLIMIT_NOFILE, &(struct rlimit){3, 3});
    return !strcmp(how, "chroot") ? chroot(".") : setgid(65534) || setuid(65534);
}
int main(int argc, char **argv) {
    if (!strcmp(argv[1], "end"))
        return 6;
    if (!malloc(100) || confine(argv[1]))
        return 1;
    execv(argv[2], (char *[]){argv[2], "end", 0});
    return 7;
}
