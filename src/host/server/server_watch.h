// SPDX-License-Identifier: BSD-2-Clause
//
// The descriptors that the server waits for. They stay registered with the kernel (epoll), so a wait costs
// time by the number of events, not of clients.
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
    bool is_file;                      // epoll refuses files; a file is always ready
    uint32_t came;                     // of the last wait
};

// Changes the events. The caller sets 0 before it closes the descriptor, because the kernel keeps the
// registration while another process has a copy of the descriptor.
SEEP_MUST_CHECK struct seep_error *seep_server_watch_set(int epoll_fd, struct seep_server_watch *watch,
                                                         int fd, uint32_t events);

#endif
