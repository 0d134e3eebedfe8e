// SPDX-License-Identifier: BSD-2-Clause
// A child allocates; once it makes its image, the parent sends it SIGSEGV, whose handler leaves by longjmp without the mask
// of signals. Prints whether the child was found so, and exits with 0 if SIGALRM is not blocked once it has allocated again.
// With an argument the longjmp brings the mask, and the child blocks SIGALRM itself: then that stays blocked.
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "blocked.h"

enum { TRIES = 50, BLOCKS = 100000, JUMPED = 1, WRONG = 2 };

static sigjmp_buf back;
static void *volatile block;
static int blocks_itself;

static void leave(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)info;
    siglongjmp(back, sigismember(&((ucontext_t *)context)->uc_sigmask, SIGUSR1) ? 2 : 1);
}

__attribute__((noinline)) static void deeper(int size) {
    block = malloc(size);
}

// Further out on the stack than the allocation that was left.
static int run_child(void) {
    sigset_t blocked, alarm;
    int jumped = sigsetjmp(back, blocks_itself);
    if (!jumped)
        deeper(10);
    sigemptyset(&alarm);
    if (blocks_itself)
        sigaddset(&alarm, SIGALRM);
    sigprocmask(SIG_BLOCK, &alarm, NULL);
    block = malloc(20);
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    signal(SIGSEGV, SIG_IGN); // one that comes late must not jump to a frame that is gone
    return (jumped == 2 ? JUMPED : 0) | (sigismember(&blocked, SIGALRM) == blocks_itself ? 0 : WRONG);
}

int main(int argc, char **argv) {
    (void)argv;
    blocks_itself = argc > 1;
    struct sigaction leaves = {.sa_sigaction = leave, .sa_flags = SA_SIGINFO};
    int result = 0;
    for (int i = 0; i < BLOCKS; i++)
        block = malloc(200);
    sigaction(SIGSEGV, &leaves, NULL);
    for (int i = 0; i < TRIES && result == 0; i++) { // a child may be done before its parent has looked
        int status = 0, sent = 0;
        pid_t child = fork();
        if (child == 0)
            _exit(run_child());
        while (waitpid(child, &status, WNOHANG) == 0)
            if (!sent && blocks_signal(child, SIGUSR1)) // it makes its image
                sent = kill(child, SIGSEGV) == 0;
        result = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    }
    puts(result & JUMPED ? "jumped" : "no image");
    return result & WRONG;
}
