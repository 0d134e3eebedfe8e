// SPDX-License-Identifier: BSD-2-Clause
// A line and the server behind it, see server_stdio.h.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/interrupt.h"
#include "server/server_stdio.h"
#include "server/server.h"

#define PIECE_BYTES (64u << 10)

// ---- bytes from one side to the other ----

struct way {
    int from;
    int to;
    bool has_ended; // no more comes
    size_t nr;
    size_t sent;
    unsigned char bytes[PIECE_BYTES];
};

// The other side reads no more: the rest for it is dropped.
static void end_way(struct way *way) {
    way->has_ended = true;
    way->nr = way->sent = 0;
}

static void pass_on(struct way *way, const struct pollfd *reads, const struct pollfd *writes) {
    if (reads->revents) {
        ssize_t nr = read(way->from, way->bytes, sizeof(way->bytes));
        way->has_ended = nr == 0 || (nr < 0 && errno != EINTR && errno != EAGAIN);
        way->nr = nr > 0 ? (size_t)nr : 0;
        way->sent = 0;
    }
    if (writes->revents && way->sent < way->nr) {
        // A pipe that is writable takes this much at once, so a write does not block while a question may
        // come.
        ssize_t nr = write(way->to, way->bytes + way->sent, SEEP_MIN(way->nr - way->sent, (size_t)PIPE_BUF));
        if (nr < 0 && errno != EINTR && errno != EAGAIN)
            end_way(way);
        way->sent += nr > 0 ? (size_t)nr : 0;
    } else if (writes->revents & (POLLERR | POLLHUP | POLLNVAL)) {
        end_way(way);
    }
}

// First the rest of the client's input is passed on, then its end. After that, answers still come back, even
// from a server that has left. A client that has gone is noticed even while there is nothing to send.
static void relay(int socket_fd, struct way ways[2]) {
    bool told = false;
    signal(SIGPIPE, SIG_IGN);
    while (!seep_interrupted && !(ways[1].has_ended && ways[1].sent == ways[1].nr)) {
        struct pollfd wait[4];
        for (int i = 0; i < 2; i++) {
            bool full = ways[i].sent < ways[i].nr;
            wait[2 * i] =
                (struct pollfd){.fd = full || ways[i].has_ended ? -1 : ways[i].from, .events = POLLIN};
            wait[2 * i + 1] =
                (struct pollfd){.fd = full || i == 1 ? ways[i].to : -1, .events = full ? POLLOUT : 0};
        }
        if (poll(wait, 4, -1) < 0)
            continue;
        for (int i = 0; i < 2; i++)
            pass_on(&ways[i], &wait[2 * i], &wait[2 * i + 1]);
        if (ways[0].has_ended && ways[0].sent == ways[0].nr && !told) {
            shutdown(socket_fd, SHUT_WR);
            told = true;
        }
    }
}

// ---- the server behind ----

static int connect_to(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct ucred peer;
    socklen_t size = sizeof(peer);
    if (strlen(path) >= sizeof(address.sun_path))
        return -1;
    memcpy(address.sun_path, path, strlen(path) + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); // the listener may accept none
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid())
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

// The server keeps no descriptor of the line: ssh would wait until it is closed.
static _Noreturn void be_server(const struct seep_live_source *source, const char *path, int ready) {
    struct seep_server *server = NULL;
    const char *at = NULL;
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    setsid();
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        dup2(nothing, fd);
    struct seep_error *error =
        nothing >= 0 ? seep_server_create(source, &server) : seep_error_system(errno, "no /dev/null");
    if (!error)
        error = seep_server_listen(server, path, &at);
    if (!error) {
        seep_server_linger(server, false);
        if (write(ready, "", 1) != 1)
            _exit(1);
        close(ready);
        error = seep_server_run(server);
    }
    seep_server_destroy(server);
    _exit(error ? 1 : 0);
}

// -1: there is none.
static int start_server(const struct seep_live_source *source, const char *path) {
    int ends[2];
    char byte;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        be_server(source, path, ends[1]);
    }
    close(ends[1]);
    ssize_t nr;
    do
        nr = pid > 0 ? read(ends[0], &byte, 1) : 0;
    while (nr < 0 && errno == EINTR && !seep_interrupted);
    close(ends[0]);
    return nr == 1 ? connect_to(path) : -1;
}

struct seep_error *seep_server_stdio_run(const struct seep_live_source *source, bool *ret_done) {
    char path[108], name[32];
    *ret_done = false;
    snprintf(name, sizeof(name), "%d-line", (int)source->pid);
    struct seep_error *error = seep_server_private_path(name, path, sizeof(path));
    if (error) { // then there is no place that is ours alone
        seep_error_destroy(error);
        return NULL;
    }
    int fd = connect_to(path);
    if (fd < 0)
        fd = start_server(source, path);
    if (fd < 0)
        return NULL;
    struct way *ways = calloc(2, sizeof(*ways));
    if (ways) {
        ways[0].from = STDIN_FILENO;
        ways[0].to = ways[1].from = fd;
        ways[1].to = STDOUT_FILENO;
        relay(fd, ways);
        *ret_done = true;
    }
    free(ways);
    close(fd);
    return *ret_done ? NULL : seep_error_no_memory();
}
