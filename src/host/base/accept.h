// SPDX-License-Identifier: BSD-2-Clause
//
// Accepting clients of a socket that a server waits for among others.
#ifndef SEEP_BASE_ACCEPT_H
#define SEEP_BASE_ACCEPT_H

#include <errno.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/clock.h"

#define SEEP_DEAF_NS INT64_C(500000000)

// Without waiting; -1: none. *deaf_until_ns is written if there was no descriptor for the client: it stays in
// the kernel's queue, which would wake the server again at once, so it is not to listen until then.
static inline int seep_accept(int listen_fd, int64_t *deaf_until_ns) {
    int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0 && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
        *deaf_until_ns = seep_monotonic_ns() + SEEP_DEAF_NS;
    return fd;
}

#endif
