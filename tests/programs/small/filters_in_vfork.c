// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
// Children of vfork set a filter of system calls, which is not their parent's, and leave: by exit, by exec, or by exit
// after a failed exec. The filter kills a process at calls that such a child need not make.

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define KILL(call) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
static struct sock_filter calls[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    KILL(SYS_sendto), KILL(SYS_socket), KILL(SYS_memfd_create), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

int main(int argc, char **argv) {
    (void)argc;
    int status = -1;
    if (argv[1] && !strcmp(argv[1], "end"))
        _exit(5);
    for (int i = 0; i < 6; i++) {
        int want = i % 3 == 1 ? 5 : 3;
        struct sock_fprog filter = {sizeof(calls) / sizeof(*calls), calls};
        char *end[] = {argv[0], "end", NULL};
        char *none[] = {NULL};
        pid_t pid = vfork();
        if (pid == 0) {
            if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
                (i < 3 ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) : (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter)))
                _exit(8);
            if (i % 3)
                execve(i % 3 == 1 ? "/proc/self/exe" : "/nowhere", end, none);
            _exit(3);
        }
        if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != want)
            return 20 + i;
        void *volatile block = malloc(100);
        if (!block)
            return 10;
    }
    // Only a process without a filter can do this: make an image of its own in a child.
    pid_t pid = fork();
    if (pid == 0) {
        void *volatile block = malloc(1000);
        exit(block ? 7 : 11);
    }
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 7 ? 6 : 12;
}
