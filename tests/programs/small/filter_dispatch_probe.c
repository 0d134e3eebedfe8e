// SPDX-License-Identifier: BSD-2-Clause
//
// Asks whether the kernel dispatches system calls to programs, and lets a child allocate.
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DISPATCH = 59, OFF = 0 }; // of linux/prctl.h

int main(void) {
    int status = 1;
    if (prctl(DISPATCH, OFF, 0, 0, 0) || syscall(SYS_prctl, DISPATCH, OFF, 0, 0, 0))
        return 77;
    if (fork() == 0) {
        for (int i = 0; i < 1000; i++)
            free(malloc(9));
        _exit(0);
    }
    wait(&status);
    return status != 0;
}
