// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

// Children one after the other, all with the process id of the first one.
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static void *volatile block;
int main(void) {
    pid_t pid = 0;
    for (int i = 0; i < 4; i++) {
        struct clone_args how = {.exit_signal = SIGCHLD, .set_tid = (uintptr_t)&pid, .set_tid_size = pid != 0};
        long child = syscall(SYS_clone3, &how, pid ? sizeof(how) : CLONE_ARGS_SIZE_VER0);
        if (child < 0)
            return 77;
        if (child == 0) {
            block = malloc(501);
            _exit(0);
        }
        pid = child;
        waitpid(pid, NULL, 0);
    }
    return 0;
}
