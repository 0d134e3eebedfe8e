// SPDX-License-Identifier: BSD-2-Clause
// A child that libc knows nothing of, so its thread keeps the parent's number. What main held is lost when it returned.
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
    void *volatile held[300];
    long child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    for (int i = 0; i < 300; i++)
        held[i] = malloc(3005);
    if (child)
        wait(NULL);
    return 0;
}
