// SPDX-License-Identifier: BSD-2-Clause
// Addresses that only the kernel keeps: data of epoll and the value of a POSIX timer. It tells both.
#include "corpus.h"
#include <signal.h>
#include <sys/epoll.h>
#include <time.h>

int queue = -1;

static void watch(int fd, void *data) {
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = data};
    if (epoll_ctl(queue, EPOLL_CTL_ADD, fd, &event))
        _exit(3);
}

static void build(void) {
    int ends[2];
    queue = epoll_create1(0);
    if (queue < 0 || pipe(ends))
        _exit(3);
    struct node *connection = make(40); // EXPECT: reachable
    // LSAN: lost: it does not ask the kernel
    // VALGRIND: lost: it does not ask the kernel
    connection->a = make(48); // EXPECT: reachable
    // LSAN: indirect: it does not ask the kernel
    // VALGRIND: indirect: it does not ask the kernel
    watch(ends[0], connection);
    watch(ends[1], make(40)); // EXPECT: lost
    if (epoll_ctl(queue, EPOLL_CTL_DEL, ends[1], NULL))
        _exit(3);
}

static void start_timer(void) {
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    event.sigev_value.sival_ptr = make(56); // EXPECT: reachable
    // LSAN: lost: it does not ask the kernel
    // VALGRIND: lost: it does not ask the kernel
    if (timer_create(CLOCK_MONOTONIC, &event, &timer))
        _exit(3);
}

int main(void) {
    play(build);
    play(start_timer);
    park();
}
