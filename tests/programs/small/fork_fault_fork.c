// SPDX-License-Identifier: BSD-2-Clause
// Runs below its signal stack, which the kernel disarms while a handler runs (SS_AUTODISARM). A child allocates; once it
// makes its image, the parent sends it SIGSEGV, whose handler forks and returns. Prints whether the child was found so.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "blocked.h"

#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1U << 31)
#endif

enum { TRIES = 50, BLOCKS = 100000, KEPT = 7, STACK_BYTES = 1 << 18, INTERRUPTED = 1, WRONG = 2 };

static void *volatile block;
static void *volatile kept[KEPT];
static volatile sig_atomic_t result;

static void fork_here(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)info;
    if (!sigismember(&((ucontext_t *)context)->uc_sigmask, SIGUSR1))
        return;
    int status = 0;
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    result = INTERRUPTED | (waitpid(child, &status, 0) == child && status == 0 ? 0 : WRONG);
}

static int run_child(void) {
    for (int i = 0; i < KEPT; i++)
        kept[i] = malloc(4321);
    sigset_t blocked;
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    return result | (sigismember(&blocked, SIGALRM) ? WRONG : 0);
}

static void run(void) {
    struct sigaction forks = {.sa_sigaction = fork_here, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    int found = 0;
    for (int i = 0; i < BLOCKS; i++)
        block = malloc(200);
    sigaction(SIGSEGV, &forks, NULL);
    for (int i = 0; i < TRIES && !found; i++) { // a child may be done before its parent has looked
        int status = 0, sent = 0;
        pid_t child = fork();
        if (child == 0)
            _exit(run_child());
        if (child < 0)
            exit(9);
        while (waitpid(child, &status, WNOHANG) == 0)
            if (!sent && blocks_signal(child, SIGUSR1)) // it makes its image
                sent = kill(child, SIGSEGV) == 0;
        found = WIFEXITED(status) ? WEXITSTATUS(status) : WRONG;
    }
    puts(found & INTERRUPTED ? "interrupted" : "no image");
    exit(found & WRONG);
}

int main(void) {
    static ucontext_t below;
    char *stacks = mmap(NULL, 2 * STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack_t alternate = {
        .ss_sp = stacks + STACK_BYTES, .ss_size = STACK_BYTES, .ss_flags = (int)SS_AUTODISARM};
    if (sigaltstack(&alternate, NULL) || getcontext(&below))
        return 8;
    below.uc_stack.ss_sp = stacks;
    below.uc_stack.ss_size = STACK_BYTES;
    makecontext(&below, run, 0);
    setcontext(&below);
    return 8;
}
