// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
// Threads asleep in calls that have done a part of their work. One that returns ends the program with status 9.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include "asleep.h"
enum { LARGE = 1 << 20 };
static const long calls[] = {SYS_write, SYS_writev, SYS_pwritev2, SYS_sendto, SYS_sendmsg, SYS_sendmmsg, SYS_recvmmsg,
                             SYS_sendfile, SYS_splice, SYS_recvfrom, SYS_recvmsg};
enum { NR_CALLS = sizeof(calls) / sizeof(*calls) };
static char bytes[LARGE];
static long call(long number) {
    int pipe_ends[2], stream[2], packets[2], file = memfd_create("file", 0);
    int little = 4096;
    struct iovec large = {bytes, LARGE}, small[2] = {{bytes, 4}, {bytes + 4, 4}};
    struct mmsghdr messages[2] = {{{.msg_iov = &large, .msg_iovlen = 1}, 0}, {{.msg_iov = &large, .msg_iovlen = 1}, 0}};
    struct msghdr two = {.msg_iov = small, .msg_iovlen = 2};
    if (pipe(pipe_ends) || socketpair(AF_UNIX, SOCK_STREAM, 0, stream) || socketpair(AF_UNIX, SOCK_DGRAM, 0, packets) ||
        file < 0 || ftruncate(file, LARGE) || setsockopt(stream[1], SOL_SOCKET, SO_SNDBUF, &little, sizeof(little)))
        return -2;
    switch (number) {
    case SYS_write: return write(pipe_ends[1], bytes, LARGE);
    case SYS_writev: return writev(pipe_ends[1], &large, 1);
    case SYS_pwritev2: return pwritev2(pipe_ends[1], &large, 1, -1, 0);
    case SYS_sendto: return send(stream[1], bytes, LARGE, 0);
    case SYS_sendmsg: return sendmsg(stream[1], &messages[0].msg_hdr, 0);
    case SYS_sendmmsg: return sendmmsg(stream[1], messages, 2, 0);
    case SYS_sendfile: return sendfile(stream[1], file, NULL, LARGE);
    case SYS_splice:
        if (fcntl(pipe_ends[1], F_SETPIPE_SZ, LARGE) < 0 || write(pipe_ends[1], bytes, LARGE) != LARGE) return -2;
        return splice(pipe_ends[0], NULL, stream[1], NULL, LARGE, 0);
    }
    if (send(number == SYS_recvmmsg ? packets[0] : stream[0], "1", 1, 0) != 1) return -2;
    return number == SYS_recvmmsg  ? recvmmsg(packets[1], messages, 2, 0, NULL)
           : number == SYS_recvmsg ? recvmsg(stream[1], &two, MSG_WAITALL)
                                   : recv(stream[1], bytes, 8, MSG_WAITALL);
}
static void *waits(void *number) {
    printf("system call %ld returned %ld\n", *(long *)number, call(*(long *)number));
    fflush(stdout);
    _exit(9);
}
int main(void) {
    pthread_t thread;
    for (int i = 0; i < NR_CALLS; i++)
        if (pthread_create(&thread, NULL, waits, (void *)&calls[i])) return 1;
    wait_for_sleepers(NR_CALLS, calls, NR_CALLS);
    exit(0);
}
