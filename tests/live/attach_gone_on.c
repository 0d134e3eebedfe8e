// SPDX-License-Identifier: BSD-2-Clause
// Allocates and goes on as another program while the tool (its parent) does not look: after a library was opened, and
// in a child right after its fork. The tool looks again when /proc knows the next program only.
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile kept;

__attribute__((noinline)) static void *before_exec(void) {
    return kept = malloc(111);
}

__attribute__((noinline)) static void *in_child(void) {
    return kept = malloc(222);
}

__attribute__((noinline)) static void *after_exec(void) {
    return kept = malloc(333);
}

int main(int argc, char **argv) {
    (void)argc;
    if (strcmp(argv[1], "begin") != 0) {
        after_exec();
        if (strcmp(argv[1], "wait") == 0)
            wait(NULL);
        return 0;
    }
    pid_t tool = getppid();
    usleep(500000);
    kill(tool, SIGSTOP);
    if (fork() == 0) {
        in_child();
        execl(argv[0], argv[0], "end", NULL);
        _exit(1);
    }
    wait(NULL);
    dlopen("libm.so.6", RTLD_NOW);
    before_exec();
    if (fork() == 0) {
        usleep(300000);
        kill(tool, SIGCONT);
        _exit(0);
    }
    execl(argv[0], argv[0], "wait", NULL);
    return 1;
}
