// SPDX-License-Identifier: BSD-2-Clause
//
// Meets the tool: hands the memory file over its Unix socket and keeps no descriptor. Never blocks,
// waits for no answer. Without a tool the library goes on alone.
#include <errno.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "image/hello.h"
#include "preload/preload.h"

int seep_handshake_connect(void) {
    const char *path = seep_g.config.socket;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (!*path)
        return -EAGAIN;
    size_t length = __builtin_strlen(path);
    _Static_assert(sizeof(seep_g.config.socket) <= sizeof(address.sun_path), "any setting fits");
    __builtin_memcpy(address.sun_path, path, length);
    long fd = sys3(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (sys_failed(fd))
        return (int)fd;
    long result = sys3(SYS_connect, fd, &address, sizeof(address));
    if (result == 0)
        return (int)fd;
    sys_close((int)fd);
    return (int)result;
}

static bool send_hello(int fd) {
    struct seep_hello hello = {
        .magic = SEEP_IMAGE_MAGIC,
        .version = SEEP_HELLO_VERSION,
        .pid = seep_confined.pid,
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
    int fd = seep_handshake_connect();
    if (fd < 0)
        return false;
    bool done = send_hello(fd);
    sys_close(fd);
    return done;
}

// What programs hand to exec need not be good pointers: the kernel says EFAULT then, and so must we.
// *page: the last page that was found readable.
static bool is_readable(const void *at, uint64_t *page) {
    uint64_t address = (uint64_t)(uintptr_t)at;
    if (*page == address >> 12)
        return true;
    if (!sys_readable(address & ~UINT64_C(7)))
        return false;
    *page = address >> 12;
    return true;
}

// The strings of an environment, one by one; it need not be aligned, and may end where its memory does.
static bool next_string(char *const **at, uint64_t *page, const char **ret_string) {
    const char *bytes = (const char *)*at;
    if (!is_readable(bytes, page) || !is_readable(bytes + sizeof(*ret_string) - 1, page))
        return false;
    __builtin_memcpy(ret_string, bytes, sizeof(*ret_string));
    ++*at;
    return *ret_string != NULL;
}

static bool begins_with(const char *text, const char *name, uint64_t *page) {
    for (; *name; name++, text++)
        if (!is_readable(text, page) || *text != *name)
            return false;
    return true;
}

// Whether a list of libraries has this one: whatever it is called, "libseep" is in its name.
static bool has_us(const char *list, uint64_t *page) {
    static const char own[] = "libseep";
    for (; is_readable(list, page) && *list; list++)
        if (begins_with(list, own, page))
            return true;
    return false;
}

// In a child that has no image of its own, for its parent's.
static void count_exec(uint32_t change) {
    if (seep_image_is_ours())
        __atomic_fetch_add(seep_lost_place(SEEP_LOST_EXEC), (uint64_t)(int64_t)(int32_t)change,
                           __ATOMIC_RELAXED);
    else
        seep_news_tell(SEEP_LOST_EXEC, change);
}

static bool count_untold(void) {
    count_exec(1);
    return true;
}

void seep_handshake_take_back(void) {
    count_exec(UINT32_MAX);
}

// Also called in children of vfork: nothing but the stack is written, and a count of the image.
bool seep_handshake_notice(uint32_t flags, uint32_t pid, const char *path, char *const *environment) {
    if (!seep_g.header || seep_g.config.ignore_children)
        return false;
    if (seep_confined.filtered)
        return count_untold();
    if (atomic_load_explicit(&seep_g.entry, memory_order_acquire) != SEEP_ENTRY_READY ||
        !*seep_g.config.socket)
        return false;
    if (!seep_calls_seem_free())
        return count_untold();
    // The socket may be of another user or not in this root, and there may be no free descriptor. What is
    // executed cannot reach it either.
    int fd = seep_handshake_connect();
    if (fd < 0)
        return seep_g.handed_over && count_untold();
    struct seep_notice notice = {.magic = SEEP_NOTICE_MAGIC, .version = SEEP_NOTICE_VERSION};
    notice.sender_pid = sys_getpid();
    notice.pid = flags & SEEP_NOTICE_SPAWNED ? pid : notice.sender_pid;
    notice.image_pid = seep_confined.pid; // in a child of fork its parent
    uint64_t page = UINT64_MAX;
    uint32_t missing = 2; // strings: without the second it is traced, alone, and leaves a file
    const char *string;
    while (missing && environment && next_string(&environment, &page, &string))
        missing -= (begins_with(string, "LD_PRELOAD=", &page) && has_us(string + 11, &page)) ||
                   begins_with(string, "SEEP_SOCKET=", &page);
#ifdef SYS_getuid32 // the others have ids of 16 bits there
    static const uint16_t calls[] = {SYS_getuid32, SYS_geteuid32, SYS_getgid32, SYS_getegid32};
#else
    static const uint16_t calls[] = {SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid};
#endif
    long ids[SEEP_ARRAY_SIZE(calls)]; // source: ld.so(8), secure-execution mode
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(calls); i++)
        ids[i] = sys3(calls[i], 0, 0, 0);
    bool secure = ids[0] != ids[1] || ids[2] != ids[3];
    notice.flags = flags | (missing ? SEEP_NOTICE_NO_PRELOAD : 0) | (secure ? SEEP_NOTICE_SECURE : 0);
    for (size_t i = 0; path && i < sizeof(notice.path) - 1 && is_readable(path + i, &page) && path[i]; i++)
        notice.path[i] = path[i];
    sys6(SYS_sendto, fd, (long)&notice, sizeof(notice), MSG_NOSIGNAL | MSG_DONTWAIT, 0, 0);
    sys_close(fd);
    return false;
}

void seep_handshake_tool(struct seep_image_header *header, const struct seep_file_id *shared) {
    bool parents_was = seep_g.handed_over;
    seep_g.handed_over = (!shared || seep_file_is(seep_g.fd, shared)) && hand_over();
    if (!seep_g.handed_over)
        header->flags |= SEEP_FLAG_STANDALONE;
    // A child in a chroot, or of another user: its parent's report must at least say that it is missing.
    if (parents_was && !seep_g.handed_over)
        seep_news_tell(SEEP_LOST_FORK, 1);
    // The mapping keeps the file; a descriptor would be one that the program does not expect.
    if (!shared || seep_file_is(seep_g.fd, shared))
        sys_close(seep_g.fd);
    seep_g.fd = -1;
}
