// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    for (int i = 0; i < 5; i++) {
        if (!fork()) {
            if (malloc(20))
                raise(i ? SIGKILL : SIGSEGV);
        }
        wait(NULL);
    }
    return 0;
}
