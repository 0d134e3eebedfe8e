// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    if (!malloc(10))
        return 1;
    for (int i = 0; i < 6; i++) {
        if (!fork())
            _exit(i == 5 && malloc(20) ? 3 : 0);
        wait(NULL);
    }
    return 0;
}
