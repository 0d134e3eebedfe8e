// SPDX-License-Identifier: BSD-2-Clause
// A child without a heap operation runs on until standard input ends. Then forks that fail use up all numbers of
// processes, until the next one is between those of the program and the child. Ends with 1 where they use up none.
#include <fcntl.h>
#include <linux/sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FAR 4000

static long latest(void) {
    char text[128];
    int fd = open("/proc/loadavg", O_RDONLY);
    ssize_t nr = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (nr <= 0)
        _exit(2);
    text[nr] = 0;
    return atol(strrchr(text, ' '));
}

// The number of the child is given before the kernel sees that it cannot be told.
static void fail(int nr) {
    struct clone_args args = {.flags = CLONE_PIDFD | CLONE_VM | CLONE_VFORK, .pidfd = 8};
    while (nr-- > 0)
        if (syscall(SYS_clone3, &args, sizeof(args)) >= 0)
            _exit(3);
}

int main(void) {
    long own = getpid(), before = latest();
    fail(FAR);
    if (latest() == before)
        return 1;
    pid_t child = fork();
    if (child == 0) {
        char byte;
        close(1);
        close(2);
        while (read(0, &byte, 1) > 0)
            continue;
        _exit(0);
    }
    if (child <= own + FAR / 2)
        return 4;
    do
        fail(FAR / 8);
    while (latest() <= own || latest() >= child);
    return 0;
}
