// SPDX-License-Identifier: BSD-2-Clause
//
// Children that limit their address space to 16 MiB in a signal handler. The signal of each comes an instruction later
// than that of the child before: first before malloc, in the end after free. The argument: how many children. DEPTH:
// frames of the handler.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MIB = 1 << 20 };

static volatile sig_atomic_t is_limited;

__attribute__((noinline)) static int limits_at(int depth) {
    const struct rlimit limit = {16 * MIB, RLIM_INFINITY};
    volatile int result = depth ? limits_at(depth - 1) : setrlimit(RLIMIT_AS, &limit);
    return result;
}

static void limits(int signal) {
    (void)signal;
    is_limited = limits_at(DEPTH) == 0;
}

static void child(void) {
    signal(SIGUSR1, limits);
    free(malloc(50)); // its image is made here
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    raise(SIGSTOP);
    for (int left = 100; left > 0; left -= is_limited)
        free(malloc(50));
    _exit(0);
}

int main(int argc, char **argv) {
    int crashed = 0, status, children = argc == 2 ? atoi(argv[1]) : 0;
    for (int i = 0; i < children; i++) {
        pid_t pid = fork();
        if (pid == 0)
            child();
        if (pid < 0)
            return 1;
        waitpid(pid, &status, 0);
        for (int j = 0; j < i; j++) {
            ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL);
            waitpid(pid, &status, 0);
        }
        ptrace(PTRACE_CONT, pid, NULL, SIGUSR1);
        waitpid(pid, &status, 0);
        if (WIFSTOPPED(status)) { // by the signal of a crash
            kill(pid, SIGKILL);
            waitpid(pid, &status, 0);
        }
        crashed += status != 0;
    }
    printf("%d crashed\n", crashed);
    return 0;
}
