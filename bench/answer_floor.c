// SPDX-License-Identifier: BSD-2-Clause
// What the kernel takes of a server that answers so many clients once a second: a wait, a read and a write of
// each, over Unix sockets, and no other work. The server rests so many milliseconds after each wait, as that
// of `seep serve` does. Prints the processor time in percent.
//
//     answer_floor CLIENTS REST_MS SECONDS
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MOST 256

static long long ns_of(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void sleep_ns(long long ns) {
    nanosleep(&(struct timespec){ns / 1000000000, ns % 1000000000}, NULL);
}

// Each client at its own time of the second.
static void ask(const int *links, int nr, int seconds) {
    char bytes[128];
    long long begin = ns_of(CLOCK_MONOTONIC);
    for (int second = 0; second <= seconds; second++)
        for (int i = 0; i < nr; i++) {
            long long ns = begin + 1000000000LL * second + 1000000000LL * i / nr - ns_of(CLOCK_MONOTONIC);
            if (ns > 0)
                sleep_ns(ns);
            if ((second && read(links[i], bytes, sizeof(bytes)) <= 0) || write(links[i], bytes, 30) != 30)
                return;
        }
}

int main(int argc, char **argv) {
    if (argc != 4)
        return 2;
    int nr = atoi(argv[1]), rest_ms = atoi(argv[2]), seconds = atoi(argv[3]), ours[MOST], theirs[MOST];
    if (nr < 1 || nr > MOST || seconds < 1)
        return 2;
    for (int i = 0; i < nr; i++) {
        int pair[2];
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
            return 1;
        ours[i] = pair[0];
        theirs[i] = pair[1];
    }
    pid_t clients = fork();
    if (clients < 0)
        return 1;
    if (clients == 0) {
        ask(theirs, nr, seconds);
        _exit(0);
    }
    int epoll_fd = epoll_create1(0);
    for (int i = 0; i < nr; i++) {
        struct epoll_event wanted = {.events = EPOLLIN, .data.fd = ours[i]};
        close(theirs[i]);
        if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, ours[i], &wanted) != 0)
            return 1;
    }
    long long begin_ns = ns_of(CLOCK_PROCESS_CPUTIME_ID);
    for (int answered = 0; answered < nr * seconds;) {
        struct epoll_event events[MOST];
        char bytes[4096] = {0};
        int nr_events = epoll_wait(epoll_fd, events, MOST, -1);
        for (int i = 0; i < nr_events; i++, answered++)
            if (read(events[i].data.fd, bytes, sizeof(bytes)) <= 0 ||
                write(events[i].data.fd, bytes, 35) != 35)
                return 1;
        if (rest_ms)
            sleep_ns(rest_ms * 1000000LL);
    }
    printf("%.3f\n", (double)(ns_of(CLOCK_PROCESS_CPUTIME_ID) - begin_ns) / 1e7 / seconds);
    kill(clients, SIGKILL);
    waitpid(clients, NULL, 0);
    return 0;
}
