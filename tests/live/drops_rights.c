// SPDX-License-Identifier: BSD-2-Clause
// A daemon that root starts: it gives up its user, and loses one block; so does a child that it forks then, and one that
// has not allocated before its parents are gone.
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile hold;

static void lose(size_t size) {
    hold = malloc(size);
    hold = NULL;
}

static void daemonize(void) {
    if (fork())
        return;
    setsid();
    if (fork())
        _exit(0);
    usleep(300000); // by then the program has ended, too
    lose(99);
    exit(0);
}

int main(void) {
    if (setgid(65534) || setuid(65534))
        return 1;
    lose(77);
    daemonize();
    pid_t child = fork();
    if (child == 0) {
        lose(88);
        exit(3);
    }
    int status;
    return child < 0 || waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 3;
}
