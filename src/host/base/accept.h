// SPDX-License-Identifier: BSD-2-Clause
//
// Accepting clients of a socket that a server waits for among others.
#ifndef SEEP_BASE_ACCEPT_H
#define SEEP_BASE_ACCEPT_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

#define SEEP_DEAF_NS           INT64_C(500000000)
#define SEEP_SPARE_DESCRIPTORS 16u // for files that the server opens for an answer

// Whether SEEP_SPARE_DESCRIPTORS are left after a client gets a descriptor. The lowest free descriptor tells.
static inline bool seep_has_descriptors(int some_fd) {
    struct rlimit limit;
    int lowest = fcntl(some_fd, F_DUPFD_CLOEXEC, 0);
    if (lowest >= 0)
        close(lowest);
    return lowest >= 0 && getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
           (rlim_t)lowest + SEEP_SPARE_DESCRIPTORS < limit.rlim_cur;
}

// Without waiting; -1: none. *deaf_until_ns is written if there was no descriptor for the client: it stays in
// the kernel's queue, which would wake the server again at once, so it is not to listen until then.
static inline int seep_accept(int listen_fd, int64_t *deaf_until_ns) {
    bool may = seep_has_descriptors(listen_fd);
    int fd = may ? accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK) : -1;
    if (!may || (fd < 0 && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED))
        *deaf_until_ns = seep_monotonic_ns() + SEEP_DEAF_NS;
    return fd;
}

#endif
