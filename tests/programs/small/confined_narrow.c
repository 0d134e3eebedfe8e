// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#define MAY(nr) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
/* What allocators and the start of threads call, and not one call more. */
static struct sock_filter calls[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)), MAY(SYS_mmap), MAY(SYS_munmap), MAY(SYS_mprotect),
    MAY(SYS_brk), MAY(SYS_mremap), MAY(SYS_madvise), MAY(SYS_clone3), MAY(SYS_clone), MAY(SYS_futex), MAY(SYS_exit),
    MAY(SYS_exit_group), MAY(SYS_rt_sigprocmask), MAY(SYS_set_robust_list), MAY(SYS_rseq), MAY(SYS_gettid), MAY(SYS_sched_yield),
    MAY(SYS_getrandom), MAY(SYS_rt_sigreturn), MAY(SYS_rt_sigaction), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
static struct sock_fprog narrow = {sizeof(calls) / sizeof(*calls), calls}, empty = {0, calls};
static volatile int stop, begun;
static void *fail(void *nothing) {
    for (begun = 1; !stop;)
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &empty);
    return nothing;
}
static void *work(void *nothing) {
    for (int i = 0; i < 100; i++)
        free(malloc(100 + i));
    return nothing;
}
static void confine(int delay, int beside) {
    pthread_t failing, worker;
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (beside) {
        pthread_create(&failing, NULL, fail, NULL);
        while (!begun)
            ;
    }
    for (volatile int i = 0; i < delay; i++)
        ;
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &narrow))
        _exit(9);
    stop = 1;
    if (beside)
        pthread_join(failing, NULL);
    for (int i = 0; i < 3; i++) {
        pthread_create(&worker, NULL, work, NULL);
        pthread_join(worker, NULL);
    }
}
int main(int argc, char **argv) {
    free(malloc(100));
    if (argc == 2) {
        confine(0, 0);
        free(malloc(5000));
        if (*argv[1] == 'e')
            exit(0);
        if (*argv[1] == '_')
            _exit(0);
        return 0;
    }
    int nr_bad = 0, status;
    for (int i = 0; i < atoi(argv[2]); i++) {
        pid_t pid = fork();
        if (pid == 0) {
            confine(i * 37 % 2000, 1);
            _exit(0);
        }
        waitpid(pid, &status, 0);
        nr_bad += status != 0;
    }
    printf("%d ended otherwise\n", nr_bad);
    return nr_bad != 0;
}
