// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
void *kept;
int main(int argc, char **argv) {
    if (strcmp(argv[1], "killed") == 0) {
        int pipes[2];
        char byte;
        if (pipe(pipes) != 0)
            return 9;
        pid_t child = fork();
        if (child < 0)
            return 9;
        if (child == 0) {
            kept = malloc(123456);
            if (write(pipes[1], "x", 1) != 1)
                _exit(9);
            for (;;)
                pause();
        }
        if (read(pipes[0], &byte, 1) != 1)
            return 9;
        kill(child, atoi(argv[2]));
        wait(NULL);
        return 0;
    }
    kept = malloc(5000);
    if (strcmp(argv[1], "call") == 0)
        syscall(SYS_exit_group, 0);
    struct sock_filter all[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog filter = {1, all};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) ? 9 : 0;
}
