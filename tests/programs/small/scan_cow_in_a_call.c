// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static void on_signal(int number) { write(1, "signal\n", 7); }
int main(int argc, char **argv) {
    char c; int pipe_of[2], ep = epoll_create1(0); void *volatile p = malloc(10);
    struct timespec t = {1000, 0}; struct pollfd at; struct epoll_event e; siginfo_t i; sigset_t s;
    sigemptyset(&s); sigaddset(&s, SIGUSR2); signal(SIGUSR1, on_signal); pipe(pipe_of);
    at = (struct pollfd){pipe_of[0], POLLIN};
    write(1, "ready\n", 6); errno = 0;
    switch (atoi(argv[1])) {
    case 0: poll(&at, 1, -1); break;
    case 1: read(0, &c, 1); break;
    case 2: nanosleep(&t, 0); break;
    case 3: sigwaitinfo(&s, &i); break;
    case 4: epoll_wait(ep, &e, 1, -1); break;
    case 5: for (volatile unsigned long n = 1;; n++) if (n == 0) break; break;
    }
    char text[2] = {'0' + (errno == EINTR), '\n'}; write(1, text, 2);
    if (wait(0) >= 0 || errno != ECHILD) write(1, "child\n", 6);
    write(1, "end\n", 4); return p == 0; }
