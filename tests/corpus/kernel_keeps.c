// SPDX-License-Identifier: BSD-2-Clause
// Addresses that only the kernel keeps (data of epoll) are not seen by anybody.
#include "corpus.h"
#include <sys/epoll.h>

int queue = -1;

static void build(void) {
    int ends[2];
    queue = epoll_create1(0);
    if (queue < 0 || pipe(ends))
        _exit(3);
    struct epoll_event event = {.events = EPOLLIN};
    event.data.ptr = make(40); // EXPECT: lost
    epoll_ctl(queue, EPOLL_CTL_ADD, ends[0], &event);
}

int main(void) {
    play(build);
    park();
}
