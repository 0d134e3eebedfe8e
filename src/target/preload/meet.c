// SPDX-License-Identifier: BSD-2-Clause
//
// Meets the tool: hands the memory file over its Unix socket and keeps no descriptor. Never blocks,
// waits for no answer. Without a tool the library goes on alone.
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "image/hello.h"
#include "preload/preload.h"

static bool send_hello(int fd) {
    struct seep_hello hello = {
        .magic = SEEP_IMAGE_MAGIC,
        .version = SEEP_HELLO_VERSION,
        .pid = sys_getpid(),
        .image_size = seep_g.window_bytes,
    };
    struct iovec part = {.iov_base = &hello, .iov_len = sizeof(hello)};
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.bytes = {0}};
    struct msghdr message = {
        .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = control.bytes,
        .msg_controllen = sizeof(control.bytes),
    };
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    __builtin_memcpy(CMSG_DATA(rights), &seep_g.fd, sizeof(int));
    return sys3(SYS_sendmsg, fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == (long)sizeof(hello);
}

static bool hand_over(void) {
    const char *path = seep_g.config.socket;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (!*path)
        return false;
    size_t length = __builtin_strlen(path);
    _Static_assert(sizeof(seep_g.config.socket) <= sizeof(address.sun_path), "any setting fits");
    __builtin_memcpy(address.sun_path, path, length);
    long fd = sys3(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (sys_failed(fd))
        return false;
    bool done = sys3(SYS_connect, fd, &address, sizeof(address)) == 0 && send_hello((int)fd);
    sys_close((int)fd);
    return done;
}

void seep_meet_tool(struct seep_image_header *header) {
    bool parents_was = seep_g.handed_over;
    seep_g.handed_over = hand_over();
    if (!seep_g.handed_over)
        header->flags |= SEEP_FLAG_STANDALONE;
    // A child in a chroot, or of another user: the report must at least say that it is missing. What
    // seep_lost() counts in is still the parent's image here.
    if (parents_was && !seep_g.handed_over)
        seep_lost(SEEP_LOST_FORK);
    // The mapping keeps the file; a descriptor would be one that the program does not expect.
    sys_close(seep_g.fd);
    seep_g.fd = -1;
}
