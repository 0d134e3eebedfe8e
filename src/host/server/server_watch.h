// SPDX-License-Identifier: BSD-2-Clause
//
// What the server waits for. Descriptors stay with the kernel between two waits, so a wait costs by what
// came, not by the number of clients.
#ifndef SEEP_SERVER_SERVER_WATCH_H
#define SEEP_SERVER_SERVER_WATCH_H

#include <sys/epoll.h>

#include "base/error.h"

struct seep_server_client;

// One descriptor that is waited for.
struct seep_server_watch {
    struct seep_server_client *client; // NULL: the server's own
    int fd;                            // of `events`
    uint32_t events;                   // EPOLLIN, EPOLLOUT; 0: the kernel does not know of it
    bool is_file;                      // which epoll refuses: what is asked of it is always there
    uint32_t came;                     // of the last wait
};

// Changes what is waited for. Before its descriptor is closed that must be no events: the kernel keeps what
// another process has a copy of.
SEEP_MUST_CHECK struct seep_error *seep_server_watch_set(int epoll_fd, struct seep_server_watch *watch,
                                                         int fd, uint32_t events);

#endif
