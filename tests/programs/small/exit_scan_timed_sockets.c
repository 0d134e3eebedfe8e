// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>
#include "asleep.h"
static int ends[2], listener;
static char byte;
static long receives(void) { return recv(ends[0], &byte, 1, 0); }
static long reads(void) { return read(ends[0], &byte, 1); }
static long receives_message(void) {
    struct iovec to = {&byte, 1};
    struct msghdr message = {.msg_iov = &to, .msg_iovlen = 1};
    return recvmsg(ends[0], &message, 0);
}
static long accepts(void) { return accept(listener, NULL, NULL); }
// Its buffer is full.
static long sends(void) { return send(ends[1], &byte, 1, 0); }
static struct { const char *name; long (*wait)(void); } const waits[] = {
    {"recv", receives}, {"read", reads}, {"recvmsg", receives_message}, {"accept", accepts}, {"send", sends}};
enum { NR = sizeof(waits) / sizeof(*waits) };
static void *waiter(void *which) {
    size_t i = (size_t)which;
    long result = waits[i].wait();
    printf("woken: %s, %ld, %d\n", waits[i].name, result, errno);
    fflush(stdout);
    _exit(9);
}
int main(void) {
    struct timeval limit = {.tv_sec = 1000};
    int full[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) || socketpair(AF_UNIX, SOCK_STREAM, 0, full)) return 1;
    while (send(full[1], &byte, 1, MSG_DONTWAIT) == 1);
    ends[1] = full[1]; // the other end stays open, in no variable
    listener = socket(AF_INET, SOCK_STREAM, 0);
    if (listener < 0 || listen(listener, 1)) return 1;
    int all[] = {ends[0], ends[1], listener};
    for (int i = 0; i < 3; i++)
        if (setsockopt(all[i], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) ||
            setsockopt(all[i], SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit))) return 1;
    pthread_t thread;
    for (size_t i = 0; i < NR; i++)
        if (pthread_create(&thread, NULL, waiter, (void *)i)) return 1;
    wait_for_sleepers(NR, (long[]){SYS_recvfrom, SYS_read, SYS_recvmsg, SYS_accept, SYS_sendto}, 5);
    exit(0);
}
