// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

// Preloaded into the tool: it listens half a second after its socket is bound.
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <unistd.h>

int listen(int socket, int backlog) {
    usleep(500000);
    return (int)syscall(SYS_listen, socket, backlog);
}
