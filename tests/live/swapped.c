// SPDX-License-Identifier: BSD-2-Clause
//
// A program whose memory test_swap.py pages out while it waits for a line; then its child of fork allocates,
// both mark a moment, and both leave.
#include <seep.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile sink;

static __attribute__((noipa)) void make(int nr) {
    for (int i = 0; i < nr; i++)
        sink = malloc(100);
}

int main(void) {
    char line[16];
    make(50000);
    seep_mark("made");
    puts("ready");
    fflush(stdout);
    if (!fgets(line, sizeof(line), stdin))
        return 1;
    pid_t pid = fork();
    if (pid == 0)
        make(7);
    else
        waitpid(pid, NULL, 0);
    seep_mark("done");
    exit(0);
}
