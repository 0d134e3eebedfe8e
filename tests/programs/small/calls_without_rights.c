// SPDX-License-Identifier: BSD-2-Clause
//
// A child that gives up its rights before its first heap operation.
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
    free(malloc(11));
    if (fork()) {
        int status;
        return wait(&status) < 0 || status != 0;
    }
    if (setgid(65534) || setuid(65534))
        return 1;
    free(malloc(22));
    return 0;
}
