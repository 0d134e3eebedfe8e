// SPDX-License-Identifier: BSD-2-Clause
// A child allocates; once it makes its image, the parent sends it SIGSEGV, whose handler leaves by longjmp without the mask
// of signals. Prints whether the child was found so, and exits with 0 if SIGALRM is not blocked once it has allocated again.
// With `own` the longjmp brings the mask, and the child blocks SIGALRM itself: then that stays blocked. With `fork`, `exec`
// and `spawn` it is asked in what the child forks or executes before it allocates again, with `syscall` in a process that
// it makes by syscall(), with `clone` in one of clone() that has allocated.
#define _GNU_SOURCE
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "blocked.h"

enum { TRIES = 50, BLOCKS = 100000, JUMPED = 1, WRONG = 2 };

static sigjmp_buf back;
static void *volatile block;
static int blocks_itself;
static const char *how = "";
extern char **environ;

static void leave(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)info;
    siglongjmp(back, sigismember(&((ucontext_t *)context)->uc_sigmask, SIGUSR1) ? 2 : 1);
}

__attribute__((noinline)) static void deeper(int size) {
    block = malloc(size);
}

static int alarm_is_blocked(void) {
    sigset_t blocked;
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    return sigismember(&blocked, SIGALRM);
}

static int allocate_first(void *unused) {
    (void)unused;
    block = malloc(30);
    return JUMPED | (alarm_is_blocked() ? WRONG : 0);
}

// A longjmp has left the making of an image.
static int go_on(void) {
    static char room[65536] __attribute__((aligned(16)));
    int status = 0;
    pid_t child = -1;
    char *const args[] = {"later", "later", NULL};
    if (strcmp(how, "exec") == 0)
        execv("/proc/self/exe", args);
    if (strcmp(how, "spawn") == 0)
        posix_spawn(&child, "/proc/self/exe", NULL, NULL, args, environ);
    else if (strcmp(how, "clone") == 0)
        child = clone(allocate_first, room + sizeof(room), SIGCHLD, NULL);
    else if ((child = strcmp(how, "syscall") == 0 ? syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork()) == 0)
        _exit(JUMPED | (alarm_is_blocked() ? WRONG : 0));
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}

// Further out on the stack than the allocation that was left.
static int run_child(void) {
    sigset_t alarm;
    int jumped = sigsetjmp(back, blocks_itself);
    if (!jumped)
        deeper(10);
    if (jumped == 2 && *how && !blocks_itself)
        return go_on();
    sigemptyset(&alarm);
    if (blocks_itself)
        sigaddset(&alarm, SIGALRM);
    sigprocmask(SIG_BLOCK, &alarm, NULL);
    block = malloc(20);
    int is_blocked = alarm_is_blocked();
    signal(SIGSEGV, SIG_IGN); // one that comes late must not jump to a frame that is gone
    return (jumped == 2 ? JUMPED : 0) | (is_blocked == blocks_itself ? 0 : WRONG);
}

int main(int argc, char **argv) {
    if (argc > 1)
        how = argv[1];
    if (strcmp(how, "later") == 0)
        return JUMPED | (alarm_is_blocked() ? WRONG : 0);
    blocks_itself = strcmp(how, "own") == 0;
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
        if (child < 0)
            return 9;
        while (waitpid(child, &status, WNOHANG) == 0)
            if (!sent && blocks_signal(child, SIGUSR1)) // it makes its image
                sent = kill(child, SIGSEGV) == 0;
        result = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    }
    puts(result & JUMPED ? "jumped" : "no image");
    return result & WRONG;
}
