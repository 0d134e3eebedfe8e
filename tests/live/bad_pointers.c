// SPDX-License-Identifier: BSD-2-Clause
//
// Pointers that lead nowhere, given to functions of libseep.so that look at what they are given: the kernel refuses
// them, and so the program must see it. Prints how many were refused.
#include <errno.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

int main(void) {
    char *arguments[] = {(char *)"true", NULL};
    int nr = 0, refused = 0;
    free(malloc(10));
    for (uintptr_t at = 1; at <= 4095; at = at < 9 ? at + 1 : at * 2 + 1) {
        char *bad[] = {(char *)at, NULL};
        nr += 6;
        refused += execve((char *)at, arguments, NULL) < 0 && errno == EFAULT;
        refused += execve("/bin/true", (char **)at, NULL) < 0 && errno == EFAULT;
        refused += execve("/bin/true", arguments, (char **)at) < 0 && errno == EFAULT;
        refused += execve("/bin/true", arguments, bad) < 0 && errno == EFAULT;
        refused += execv((char *)at, arguments) < 0 && errno == EFAULT;
        refused += execveat(-100, (char *)at, arguments, bad, 0) < 0 && errno == EFAULT;
    }
    printf("%d of %d refused\n", refused, nr);
    return refused == nr ? 5 : 6;
}
