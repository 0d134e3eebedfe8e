// SPDX-License-Identifier: BSD-2-Clause
// What comes to the socket for images: connections and their messages. See listener.h.
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "source/image/image_copy.h"
#include "source/run/listener.h"
#include "image/hello.h"

#define FDS_MAX   4
#define SILENT_NS INT64_C(1000000000) // longer than a process takes from connecting to its hello
_Static_assert(sizeof(struct seep_parked) == sizeof(struct seep_hello), "one size of message");

// The descriptor that came with a message; others are closed. -1: none.
static int attached_file(struct msghdr *message) {
    int found = -1;
    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
            continue;
        size_t nr = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < nr; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(part) + i * sizeof(fd), sizeof(fd));
            if (found < 0)
                found = fd;
            else
                close(fd);
        }
    }
    return found;
}

enum standing { PEER_REFUSED, PEER_OWN, PEER_FOREIGN };

// The kernel's word, of the moment at which it connected.
static enum standing peer_standing(const struct seep_listener *listener, int peer, struct ucred *ret_who) {
    socklen_t size = sizeof(*ret_who);
    if (getsockopt(peer, SOL_SOCKET, SO_PEERCRED, ret_who, &size))
        return PEER_REFUSED;
    if (ret_who->uid == geteuid() || ret_who->uid == 0)
        return PEER_OWN;
    bool known = ret_who->pid > 0 && listener->is_known && listener->is_known(listener->data, ret_who->pid);
    return known ? PEER_FOREIGN : PEER_REFUSED;
}

enum outcome { OUTCOME_WAIT, OUTCOME_GONE, OUTCOME_REFUSED, OUTCOME_MESSAGE };

static bool is_parked(const union seep_image_words *words, ssize_t got, int fd) {
    const struct seep_parked *parked = &words->parked;
    return got == (ssize_t)sizeof(*parked) && fd < 0 && parked->magic == SEEP_PARKED_MAGIC &&
           parked->version == SEEP_HELLO_VERSION;
}

static bool is_notice(const union seep_image_words *words, ssize_t got, int fd) {
    const struct seep_notice *notice = &words->notice;
    return got == (ssize_t)sizeof(*notice) && fd < 0 && notice->magic == SEEP_NOTICE_MAGIC &&
           notice->version == SEEP_NOTICE_VERSION && memchr(notice->path, 0, sizeof(notice->path));
}

static bool is_hello(const union seep_image_words *words, ssize_t got, int fd) {
    const struct seep_hello *hello = &words->hello;
    return got == (ssize_t)sizeof(*hello) && fd >= 0 && hello->magic == SEEP_IMAGE_MAGIC &&
           hello->version == SEEP_HELLO_VERSION && seep_image_is_memory_file(fd);
}

static enum outcome receive(struct seep_listener *listener, int peer, union seep_image_words *words,
                            struct seep_listener_message *ret_message) {
    struct iovec part = {words, sizeof(*words)};
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int) * FDS_MAX)];
    } control;
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
    ssize_t got = recvmsg(peer, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0)
        return errno == EAGAIN || errno == EINTR ? OUTCOME_WAIT : OUTCOME_GONE;
    if (got >= (ssize_t)sizeof(words->hello))
        seep_image_swap_words_said(words);
    int fd = attached_file(&message);
    listener->lost_a_file |= fd < 0 && (message.msg_flags & MSG_CTRUNC);
    if (got == 0 && fd < 0)
        return OUTCOME_GONE;
    struct ucred who = {.pid = 0};
    enum standing standing =
        message.msg_flags & MSG_TRUNC ? PEER_REFUSED : peer_standing(listener, peer, &who);
    *ret_message = (struct seep_listener_message){.fd = -1,
                                                  .peer = -1,
                                                  .pid = who.pid,
                                                  .foreign = standing == PEER_FOREIGN,
                                                  .uid = who.uid,
                                                  .gid = who.gid};
    if (standing != PEER_REFUSED && is_hello(words, got, fd)) {
        ret_message->fd = fd;
        ret_message->own_pid = words->hello.pid;
        return OUTCOME_MESSAGE;
    }
    if (standing != PEER_REFUSED && is_notice(words, got, fd)) {
        ret_message->own_pid = words->notice.sender_pid;
        ret_message->notice = &words->notice;
        return OUTCOME_MESSAGE;
    }
    if (standing != PEER_REFUSED && is_parked(words, got, fd)) {
        ret_message->peer = peer;
        ret_message->own_pid = words->parked.pid;
        ret_message->sp_rt = words->parked.sp_rt;
        return OUTCOME_MESSAGE;
    }
    if (fd >= 0)
        close(fd);
    return OUTCOME_REFUSED;
}

// When all descriptors are in use the kernel drops the file of a message that is received: so one is
// kept back, and no connection is taken without it.
static bool keep_spare(struct seep_listener *listener) {
    if (listener->spare < 0)
        listener->spare = fcntl(listener->fd, F_DUPFD_CLOEXEC, 0);
    return listener->spare >= 0;
}

static void drop_spare(struct seep_listener *listener) {
    if (listener->spare >= 0)
        close(listener->spare);
    listener->spare = -1;
}

// poll() comes before accept4(), because the kernel makes a socket for each accept, also without a
// connection.
static bool is_knocked(const struct seep_listener *listener) {
    struct pollfd asked = {.fd = listener->fd, .events = POLLIN};
    return poll(&asked, 1, 0) != 0;
}

static struct seep_error *accept_all(struct seep_listener *listener) {
    listener->out_of_descriptors = !keep_spare(listener);
    while (!listener->out_of_descriptors && is_knocked(listener)) {
        if (!seep_grow(&listener->peers, &listener->capacity, listener->nr_peers + 1,
                       sizeof(*listener->peers)))
            return seep_error_no_memory();
        int peer = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (peer >= 0) {
            listener->peers[listener->nr_peers++] = (struct seep_listener_peer){peer, seep_monotonic_ns()};
            continue;
        }
        if (errno == EINTR || errno == ECONNABORTED)
            continue;
        listener->out_of_descriptors = errno == EMFILE || errno == ENFILE;
        break;
    }
    return NULL;
}

// Who connects speaks at once. Where descriptors are short, those that do not may not keep the others out.
static bool keeps_others_out(const struct seep_listener *listener, const struct seep_listener_peer *peer) {
    return listener->out_of_descriptors && seep_monotonic_ns() - peer->since_ns > SILENT_NS;
}

struct seep_error *seep_listener_read(struct seep_listener *listener,
                                      struct seep_error *(*take)(void *data,
                                                                 const struct seep_listener_message *message),
                                      void *data) {
    struct seep_error *err = accept_all(listener);
    size_t kept = 0;
    for (size_t i = 0; i < listener->nr_peers; i++) {
        union seep_image_words words;
        struct seep_listener_message message;
        int peer = listener->peers[i].fd;
        drop_spare(listener);
        enum outcome outcome = err ? OUTCOME_WAIT : receive(listener, peer, &words, &message);
        struct ucred who;
        // Any user may knock: every other user is answered. The images of those who do came before.
        if (outcome == OUTCOME_WAIT && !err &&
            (keeps_others_out(listener, &listener->peers[i]) ||
             peer_standing(listener, peer, &who) == PEER_REFUSED))
            outcome = OUTCOME_REFUSED;
        if (outcome == OUTCOME_WAIT)
            listener->peers[kept++] = listener->peers[i];
        else if (outcome != OUTCOME_MESSAGE || message.peer < 0)
            close(peer);
        keep_spare(listener); // where it fails no connection is taken next time
        listener->nr_refused += outcome == OUTCOME_REFUSED;
        if (outcome == OUTCOME_MESSAGE)
            err = take(data, &message);
    }
    listener->nr_peers = kept;
    return err;
}

void seep_listener_polls(const struct seep_listener *listener, struct pollfd *ret_polls) {
    // Out of descriptors the queue would wake us without end.
    ret_polls[0] = (struct pollfd){.fd = listener->out_of_descriptors ? -1 : listener->fd, .events = POLLIN};
    for (size_t i = 0; i < listener->nr_peers; i++)
        ret_polls[i + 1] = (struct pollfd){.fd = listener->peers[i].fd, .events = POLLIN};
}
