// SPDX-License-Identifier: BSD-2-Clause
// A parent allocates under a filter that kills for a turn given up. No function of libc set it. A child of fork
// does nothing meanwhile.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static long set_filter(const struct sock_fprog *filter) {
#ifdef __x86_64__
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(SYS_prctl), "D"(PR_SET_SECCOMP), "S"(SECCOMP_MODE_FILTER), "d"(filter)
                     : "rcx", "r11", "memory");
    return result;
#else
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter);
#endif
}

int main(void) {
    struct sock_filter calls[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sched_yield, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {sizeof(calls) / sizeof(*calls), calls};
    free(malloc(10));
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pause();
        _exit(0);
    }
    if (pid < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || set_filter(&filter))
        return 3;
    for (int i = 0; i < 150000; i++)
        free(malloc(30));
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    puts("lives");
    return 0;
}
