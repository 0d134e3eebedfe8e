// SPDX-License-Identifier: BSD-2-Clause
// Opening files from another process, see opener.h.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "confine/helpers.h"
#include "confine/opener.h"
#include "confine/worker_rights.h"
#include "confine/untrusted.h"

#define SLICE_MS      50
#define FIRST_WAIT_S  5 // for the first that does not answer: a disk may have to start
#define LATER_WAIT_S  1 // and for each one after that
#define SIGNAL_WAIT_S 2 // after a signal, for all together: the report that it asks for needs the names
#define STUCK_MAX     16u
#define NS_PER_S      INT64_C(1000000000)

enum kind { OPEN = 1, OPEN_NO_LINK, GIVE, MAKE };

struct request {
    char kind;
    // To open: the path, with the descriptor of its root. GIVE: what to send, with both. MAKE: a function of
    // this program, and what it is called with.
    char words[PATH_MAX + 1];
};

// One for all of the tool. A process that was forked from it starts its own.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pid_t owner;
static pid_t opener;
static int opener_socket = -1;
static unsigned nr_stuck;
static int64_t waited_ns; // since the signal

// ---- opening ----

// A handle that does nothing to the file: opening a device or a FIFO for reading might.
static int open_handle(int root, const char *path, bool no_link) {
    if (root < 0)
        return open(path, O_PATH | O_CLOEXEC | (no_link ? O_NOFOLLOW : 0));
    // Absolute links inside the root must lead back into it.
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT};
    int fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
    if (fd >= 0 || (errno != ENOSYS && errno != EPERM))
        return fd;
    return openat(root, path + strspn(path, "/"), O_PATH | O_CLOEXEC); // an old kernel, or a sandbox
}

static int open_handled(int handle) {
    char link[64];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", handle);
    return open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

static bool is_users_program(int handle) {
    struct statfs system;
    return fstatfs(handle, &system) != 0 || system.f_type == FUSE_SUPER_MAGIC;
}

static int open_here(int root, const char *path, bool no_link) {
    struct stat status;
    int handle = open_handle(root, path, no_link);
    if (handle < 0)
        return -1;
    int fd = -1, trouble = 0;
    if (fstat(handle, &status) != 0)
        trouble = errno;
    else if (!S_ISREG(status.st_mode))
        trouble = EMEDIUMTYPE;
    else if (is_users_program(handle) && seep_handle_is_untrusted(handle))
        return handle;
    else if ((fd = open_handled(handle)) < 0)
        trouble = errno;
    close(handle);
    errno = trouble;
    return fd;
}

static int make_here(const char *words) {
    seep_opener_make *make;
    memcpy(&make, words, sizeof(make));
    return make(words + sizeof(make));
}

// ---- messages: a request and what came of it, with descriptors ----

enum { FILES_MAX = 2 };

union with_files {
    struct cmsghdr head;
    char room[CMSG_SPACE(FILES_MAX * sizeof(int))];
};

static bool send_one(int socket, const void *bytes, size_t nr_bytes, const int *files, size_t nr_files) {
    union with_files with = {.room = {0}};
    struct iovec piece = {(void *)bytes, nr_bytes};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
    if (nr_files) {
        message.msg_control = &with;
        message.msg_controllen = CMSG_SPACE(nr_files * sizeof(int));
        with.head = (struct cmsghdr){CMSG_LEN(nr_files * sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
        memcpy(CMSG_DATA(&with.head), files, nr_files * sizeof(*files));
    }
    ssize_t sent;
    do
        sent = sendmsg(socket, &message, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)nr_bytes;
}

// The bytes of a message; 0: the other side is gone. Of files that did not come there is -1.
static size_t receive_one(int socket, void *bytes, size_t room, int ret_files[FILES_MAX]) {
    union with_files with;
    struct iovec piece = {bytes, room};
    struct msghdr message = {
        .msg_iov = &piece, .msg_iovlen = 1, .msg_control = &with, .msg_controllen = sizeof(with.room)};
    ssize_t got;
    do
        got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    const struct cmsghdr *came = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    ret_files[0] = ret_files[1] = -1;
    if (came && came->cmsg_type == SCM_RIGHTS && came->cmsg_len > CMSG_LEN(0))
        memcpy(ret_files, CMSG_DATA(came), SEEP_MIN(came->cmsg_len - CMSG_LEN(0), FILES_MAX * sizeof(int)));
    return got > 0 ? (size_t)got : 0;
}

// ---- the other process ----

static _Noreturn void serve(int socket, pid_t parent) {
    static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
    static struct request request;
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(ignored); i++)
        signal(ignored[i], SIG_IGN);
    if (!seep_worker_keep_only(socket) || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
        _exit(1);
    for (;;) {
        int files[FILES_MAX];
        size_t nr = receive_one(SEEP_WORKER_SOCKET, &request, sizeof(request) - 1, files);
        if (nr < 2)
            _exit(0);
        ((char *)&request)[nr] = '\0';
        int trouble = 0;
        int fd = request.kind == GIVE   ? open_handled(files[0])
                 : request.kind == MAKE ? make_here(request.words)
                                        : open_here(files[0], request.words, request.kind == OPEN_NO_LINK);
        if (fd < 0 || (request.kind == GIVE && !send_one(files[1], request.words, nr - 1, &fd, 1)))
            trouble = errno;
        if (!send_one(SEEP_WORKER_SOCKET, &trouble, sizeof(trouble), &fd, request.kind != GIVE && fd >= 0))
            _exit(0);
        for (size_t i = 0; i < FILES_MAX; i++)
            if (files[i] >= 0)
                close(files[i]);
        if (fd >= 0)
            close(fd);
    }
}

static bool start(void) {
    int sockets[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0)
        return false;
    pid_t parent = getpid(), pid = fork();
    if (pid == 0)
        serve(sockets[1], parent);
    close(sockets[1]);
    if (pid < 0) {
        close(sockets[0]);
        return false;
    }
    seep_helper_add(pid);
    opener = pid;
    owner = parent;
    opener_socket = sockets[0];
    return true;
}

// One that waits in the kernel dies when that is over, and is left to whom the tool leaves its children.
static void stop(void) {
    kill(opener, SIGKILL);
    pid_t found = 0;
    for (int tries = 0; tries < 20 && (found = waitpid(opener, NULL, WNOHANG)) == 0; tries++)
        poll(NULL, 0, 1);
    if (found)
        seep_helper_remove(opener);
    close(opener_socket);
    opener_socket = -1;
}

static bool is_started(void) {
    if (opener_socket >= 0 && owner == getpid())
        return true;
    if (opener_socket >= 0) // our parent's
        close(opener_socket);
    opener_socket = -1;
    return start();
}

// 0: a reply is there, or the other side is gone. Else errno.
static int wait_for_reply(void) {
    int64_t now_ns = seep_monotonic_ns(),
            end_ns = now_ns + (nr_stuck ? LATER_WAIT_S : FIRST_WAIT_S) * NS_PER_S;
    for (;;) {
        struct pollfd ready = {.fd = opener_socket, .events = POLLIN};
        if (poll(&ready, 1, SLICE_MS) > 0)
            return 0;
        int64_t before_ns = now_ns;
        now_ns = seep_monotonic_ns();
        waited_ns += seep_interrupted ? now_ns - before_ns : 0;
        if (waited_ns > SIGNAL_WAIT_S * NS_PER_S)
            return EINTR;
        if (now_ns > end_ns)
            return ETIMEDOUT;
    }
}

// false: the other process has ended (a thread that started it has, say).
static bool ask(const struct request *request, size_t nr_bytes, const int *files, size_t nr_files,
                int *ret_trouble, int *ret_fd) {
    int came[FILES_MAX];
    if (!send_one(opener_socket, request, nr_bytes, files, nr_files))
        return false;
    int trouble = wait_for_reply();
    if (!trouble) {
        bool is_there = receive_one(opener_socket, ret_trouble, sizeof(*ret_trouble), came) != 0;
        *ret_fd = is_there ? came[0] : -1;
        return is_there;
    }
    nr_stuck += trouble == ETIMEDOUT;
    *ret_trouble = trouble;
    stop();
    return true;
}

// false: there is no other process.
static bool ask_in_turn(const struct request *request, size_t nr_bytes, const int *files, size_t nr_files,
                        int *ret_trouble, int *ret_fd) {
    *ret_fd = -1;
    *ret_trouble = ETIMEDOUT;
    for (int tries = 0; tries < 2 && nr_stuck < STUCK_MAX; tries++) {
        if (!is_started())
            return false;
        if (ask(request, nr_bytes, files, nr_files, ret_trouble, ret_fd))
            return true;
        stop();
    }
    return nr_stuck == STUCK_MAX;
}

// false: there is no other process. *ret_fd: -1 and errno, or a descriptor.
static bool open_patiently(int root, const void *words, size_t nr_bytes, enum kind kind, int *ret_fd) {
    static struct request request; // under the lock
    int trouble = nr_bytes ? ENAMETOOLONG : ENOENT;
    bool is_asked = true;
    *ret_fd = -1;
    if (nr_bytes && nr_bytes <= PATH_MAX) {
        pthread_mutex_lock(&lock);
        request.kind = (char)kind;
        memcpy(request.words, words, nr_bytes);
        is_asked = ask_in_turn(&request, 1 + nr_bytes, &root, root >= 0, &trouble, ret_fd);
        pthread_mutex_unlock(&lock);
        if (is_asked && !trouble && *ret_fd < 0)
            trouble = EMFILE; // the kernel drops a descriptor for which there is no room
    }
    errno = is_asked ? trouble : EAGAIN;
    return is_asked;
}

int seep_open_regular(int root, const char *path) {
    int fd;
    return open_patiently(root, path, strlen(path), OPEN, &fd) ? fd : open_here(root, path, false);
}

int seep_open_no_link(const char *path) {
    int fd;
    return open_patiently(-1, path, strlen(path), OPEN_NO_LINK, &fd) ? fd : open_here(-1, path, true);
}

int seep_open_made(seep_opener_make *make, const char *words) {
    char bytes[sizeof(make) + SEEP_MADE_BYTES];
    size_t length = strlen(words);
    int fd = -1;
    if (length > SEEP_MADE_BYTES) {
        errno = EMSGSIZE;
        return -1;
    }
    memcpy(bytes, &make, sizeof(make));
    memcpy(bytes + sizeof(make), words, length);
    open_patiently(-1, bytes, sizeof(make) + length, MAKE, &fd);
    return fd;
}

bool seep_is_handle(int fd) {
    int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && (flags & O_PATH);
}

bool seep_give_handle(int handle, int socket, const void *bytes, size_t nr_bytes) {
    struct request request = {.kind = GIVE};
    const int files[FILES_MAX] = {handle, socket};
    int fd, trouble = EMSGSIZE;
    if (nr_bytes && nr_bytes <= SEEP_GIVE_BYTES) {
        memcpy(request.words, bytes, nr_bytes);
        pthread_mutex_lock(&lock);
        if (!ask_in_turn(&request, 1 + nr_bytes, files, FILES_MAX, &trouble, &fd))
            trouble = EAGAIN;
        else if (!trouble)
            stop(); // it closes the file, which may take for ever
        pthread_mutex_unlock(&lock);
    }
    errno = trouble;
    return !trouble;
}
