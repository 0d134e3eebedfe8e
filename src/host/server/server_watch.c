// SPDX-License-Identifier: BSD-2-Clause
// The descriptors that the server waits for, see server_watch.h.
#include <errno.h>
#include <sys/epoll.h>

#include "server/server_watch.h"

struct seep_error *seep_server_watch_set(int epoll_fd, struct seep_server_watch *watch, int fd,
                                         uint32_t events) {
    if (watch->events == events && (!events || watch->fd == fd))
        return NULL;
    struct epoll_event wanted = {.events = events, .data.ptr = watch};
    int how = !events ? EPOLL_CTL_DEL : watch->events && watch->fd == fd ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    bool done = watch->is_file || epoll_ctl(epoll_fd, how, events ? fd : watch->fd, &wanted) == 0;
    if (!done && how == EPOLL_CTL_ADD && errno == EPERM)
        done = watch->is_file = true;
    if (!done)
        return seep_error_system(errno, "cannot wait for clients");
    watch->fd = fd;
    watch->events = events;
    return NULL;
}
