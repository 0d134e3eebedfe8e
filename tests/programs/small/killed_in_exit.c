// SPDX-License-Identifier: BSD-2-Clause
//
// A child whose exit() is ended by a signal: the last flush of its standard output goes into a pipe that nobody
// reads. A second one leaves as it says.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void run_child(int out) {
    if (fork() == 0) {
        if (out >= 0)
            dup2(out, STDOUT_FILENO);
        setvbuf(stdout, malloc(BUFSIZ), _IOFBF, BUFSIZ);
        puts("ended");
        exit(1);
    }
    int status;
    wait(&status);
    fprintf(stderr, "%s\n", WIFSIGNALED(status) ? "killed" : "left");
}

int main(void) {
    int ends[2];
    if (pipe(ends))
        return 1;
    close(ends[0]);
    signal(SIGPIPE, SIG_DFL);
    run_child(ends[1]);
    run_child(-1);
    return 0;
}
