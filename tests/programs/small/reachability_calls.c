// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>
static int pipe_of[2];
static void say(const char *what) { char text[99]; snprintf(text, 99, "%s %s\n", what, strerror(errno));
    write(1, text, strlen(text)); }
static void *poller(void *d) { struct pollfd p = {pipe_of[0], POLLIN}; poll(&p, 1, -1); say("poll"); return d; }
static void *reader(void *d) { char c; read(pipe_of[0], &c, 1); say("read"); return d; }
static void *sleeper(void *d) { struct timespec t = {1000, 0}; nanosleep(&t, 0); say("nanosleep"); return d; }
static void *waiter(void *d) { sigset_t s; sigemptyset(&s); sigaddset(&s, SIGUSR1); siginfo_t i;
    sigwaitinfo(&s, &i); say("sigwaitinfo"); return d; }
static void *epoller(void *d) { struct epoll_event e; epoll_wait(*(int *)d, &e, 1, -1); say("epoll"); return d; }
int main(void) {
    pthread_t t; int ep = epoll_create1(0); void *p = malloc(10);
    pipe(pipe_of);
    pthread_create(&t, 0, poller, 0); pthread_create(&t, 0, reader, 0); pthread_create(&t, 0, sleeper, 0);
    pthread_create(&t, 0, waiter, 0); pthread_create(&t, 0, epoller, &ep);
    sleep(1); write(1, "ready\n", 6); pthread_join(t, 0); return p == 0; }
