// SPDX-License-Identifier: BSD-2-Clause
// A small HTTP server, see http_server.h. All sockets are non-blocking; nothing waits for a single peer.
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/accept.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "http/http_request.h"
#include "http/http_server.h"

struct peer {
    int fd; // -1: none
    int64_t until_ns;
    char head[SEEP_HTTP_HEAD_BYTES];
    size_t nr_head;
    unsigned char *out; // malloc'ed; NULL: still reading
    size_t nr_out;
    size_t sent;
};

// ---- listening ----

// "HOST:PORT", "[HOST]:PORT", "HOST" or "PORT".
static struct seep_error *split(const char *where, char *host, size_t room, char *port, size_t port_room) {
    const char *colon = strrchr(where, ':');
    bool only_port = *where && strspn(where, "0123456789") == strlen(where);
    bool is_plain_v6 = colon && strchr(where, ':') != colon && where[0] != '[';
    size_t nr = only_port ? 0 : colon && !is_plain_v6 ? (size_t)(colon - where) : strlen(where);
    const char *from = where;
    if (nr >= 2 && from[0] == '[' && from[nr - 1] == ']')
        from++, nr -= 2;
    const char *number = only_port ? where : colon && !is_plain_v6 ? colon + 1 : "0";
    if (nr >= room || strlen(number) >= port_room || strspn(number, "0123456789") != strlen(number) ||
        atoi(number) > 65535)
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "--http: bad address '%s'", where),
                               "127.0.0.1:8080, for example");
    memcpy(host, from, nr);
    host[nr] = 0;
    snprintf(port, port_room, "%s", number);
    return NULL;
}

static struct seep_error *bind_to(struct seep_http_server *server, const char *where, const char *host,
                                  const char *port) {
    struct addrinfo hints = {.ai_family = AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    if (getaddrinfo(*host ? host : "127.0.0.1", port, &hints, &found) != 0)
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "--http: bad address '%s'", where),
                               "an IP address and a port: 127.0.0.1:8080");
    int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int one = 1;
    if (fd >= 0)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    bool listens = fd >= 0 && bind(fd, found->ai_addr, found->ai_addrlen) == 0 && listen(fd, 16) == 0;
    int trouble = errno;
    freeaddrinfo(found);
    if (!listens) {
        if (fd >= 0)
            close(fd);
        return seep_error_hint(
            seep_error_system(trouble, "cannot listen on %s", *where ? where : "127.0.0.1"),
            "take another port, or none for any that is free");
    }
    server->fd = fd;
    return NULL;
}

struct seep_error *seep_http_listen(struct seep_http_server *server, const char *where) {
    char host[256], port[8];
    server->fd = -1;
    where = where ? where : "";
    struct seep_error *error = split(where, host, sizeof(host), port, sizeof(port));
    if (!error)
        error = bind_to(server, where, host, *port ? port : "0");
    if (error)
        return error;
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } bound;
    socklen_t size = sizeof(bound);
    unsigned char bytes[16];
    if (getsockname(server->fd, &bound.any, &size) != 0 ||
        getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes)) {
        error = seep_error_system(errno, "cannot make a token");
        seep_http_close(server);
        return error;
    }
    bool v6 = bound.any.sa_family == AF_INET6;
    server->port = ntohs(v6 ? bound.v6.sin6_port : bound.v4.sin_port);
    static char text[INET6_ADDRSTRLEN + 3];
    char plain[INET6_ADDRSTRLEN] = "";
    inet_ntop(bound.any.sa_family, v6 ? (void *)&bound.v6.sin6_addr : (void *)&bound.v4.sin_addr, plain,
              sizeof(plain));
    snprintf(text, sizeof(text), v6 ? "[%s]" : "%s", plain);
    server->address = text;
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(server->token + 2 * i, 3, "%02x", bytes[i]);
    return NULL;
}

void seep_http_close(struct seep_http_server *server) {
    if (server->fd >= 0)
        close(server->fd);
    server->fd = -1;
}

// ---- answering ----

static const char *reason_of(int status) {
    switch (status) {
    case 200:
        return "OK";
    case 400:
        return "Bad Request";
    case 401:
        return "Unauthorized";
    case 403:
        return "Forbidden";
    case 404:
        return "Not Found";
    case 405:
        return "Method Not Allowed";
    case 431:
        return "Request Header Fields Too Large";
    default:
        return "Internal Server Error";
    }
}

static void refuse(struct seep_http_answer *answer, int status) {
    free(answer->body);
    *answer = (struct seep_http_answer){.status = status, .type = "text/plain; charset=utf-8"};
    char *text = NULL;
    int nr = asprintf(&text, "%d %s\n", status, reason_of(status));
    answer->body = nr > 0 ? (unsigned char *)text : NULL;
    answer->nr_bytes = nr > 0 ? (size_t)nr : 0;
}

static void answer_request(struct seep_http_server *server, const struct seep_http_request *request,
                           struct seep_http_answer *answer) {
    if (!seep_http_is_for(request, server->address, server->port))
        refuse(answer, 403);
    else if (strcmp(request->method, "GET") != 0 || request->has_body)
        refuse(answer, 405);
    else if (!server->is_open(request->path) && !seep_http_has_token(request, server->token))
        refuse(answer, 401);
    else
        server->answer(server->data, request->path, answer);
    if (answer->status != 200)
        refuse(answer, answer->status);
}

// The head and the body as one piece. false: out of memory.
static bool set_out(struct peer *peer, struct seep_http_answer *answer) {
    char head[1024];
    int nr = snprintf(
        head, sizeof(head),
        "HTTP/1.1 %d %s\r\nContent-Type: %s\r\n%s%s%sContent-Length: %zu\r\nConnection: close\r\n"
        "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
        "Cross-Origin-Resource-Policy: same-origin\r\nX-Frame-Options: DENY\r\n%s\r\n",
        answer->status, reason_of(answer->status), answer->type, answer->encoding ? "Content-Encoding: " : "",
        answer->encoding ? answer->encoding : "", answer->encoding ? "\r\n" : "", answer->nr_bytes,
        answer->status == 401 ? "WWW-Authenticate: Basic realm=\"seep\"\r\n" : "");
    peer->out = malloc((size_t)nr + answer->nr_bytes + 1);
    if (peer->out) {
        memcpy(peer->out, head, (size_t)nr);
        if (answer->nr_bytes)
            memcpy(peer->out + nr, answer->body, answer->nr_bytes);
        peer->nr_out = (size_t)nr + answer->nr_bytes;
        peer->sent = 0;
    }
    free(answer->body);
    return peer->out != NULL;
}

static void drop(struct peer *peer) {
    if (peer->fd >= 0)
        close(peer->fd);
    free(peer->out);
    *peer = (struct peer){.fd = -1};
}

static void read_from(struct seep_http_server *server, struct peer *peer) {
    ssize_t nr = recv(peer->fd, peer->head + peer->nr_head, sizeof(peer->head) - peer->nr_head, 0);
    if (nr <= 0) {
        if (nr == 0 || (errno != EAGAIN && errno != EINTR))
            drop(peer);
        return;
    }
    peer->nr_head += (size_t)nr;
    struct seep_http_request request;
    struct seep_http_answer answer = {.status = 500};
    switch (seep_http_read(peer->head, peer->nr_head, &request)) {
    case SEEP_HTTP_MORE:
        return;
    case SEEP_HTTP_WHOLE:
        answer_request(server, &request, &answer);
        break;
    case SEEP_HTTP_BAD:
        refuse(&answer, 400);
        break;
    case SEEP_HTTP_LARGE:
        refuse(&answer, 431);
        break;
    }
    // Making the answer may have taken long: sending it has a time of its own.
    peer->until_ns = seep_monotonic_ns() + SEEP_HTTP_SLOW_NS;
    if (!set_out(peer, &answer))
        drop(peer);
}

static void write_to(struct peer *peer) {
    ssize_t nr = send(peer->fd, peer->out + peer->sent, peer->nr_out - peer->sent, MSG_NOSIGNAL);
    if (nr > 0)
        peer->sent += (size_t)nr;
    if (peer->sent == peer->nr_out)
        shutdown(peer->fd, SHUT_WR);
    if (peer->sent == peer->nr_out || (nr < 0 && errno != EAGAIN && errno != EINTR))
        drop(peer);
}

static void accept_one(struct seep_http_server *server, struct peer *peers, int64_t *deaf_until_ns) {
    int fd = seep_accept(server->fd, deaf_until_ns);
    if (fd < 0)
        return;
    for (size_t i = 0; i < SEEP_HTTP_CONNECTIONS; i++)
        if (peers[i].fd < 0) {
            peers[i].fd = fd;
            peers[i].until_ns = seep_monotonic_ns() + SEEP_HTTP_SLOW_NS;
            return;
        }
    close(fd);
}

struct seep_error *seep_http_serve(struct seep_http_server *server) {
    struct peer *peers = calloc(SEEP_HTTP_CONNECTIONS, sizeof(*peers));
    if (!peers)
        return seep_error_no_memory();
    for (size_t i = 0; i < SEEP_HTTP_CONNECTIONS; i++)
        peers[i].fd = -1;
    int64_t deaf_until_ns = 0;
    while (!seep_interrupted) {
        struct pollfd fds[SEEP_HTTP_CONNECTIONS + 1];
        bool is_room = false, is_deaf = seep_monotonic_ns() < deaf_until_ns;
        for (size_t i = 0; i < SEEP_HTTP_CONNECTIONS; i++) {
            fds[i] = (struct pollfd){.fd = peers[i].fd, .events = peers[i].out ? POLLOUT : POLLIN};
            is_room |= peers[i].fd < 0;
        }
        // Where all places are taken, others wait in the kernel.
        fds[SEEP_HTTP_CONNECTIONS] =
            (struct pollfd){.fd = is_room && !is_deaf ? server->fd : -1, .events = POLLIN};
        // A second: a signal may come before poll() sleeps, and somebody may be slow.
        if (poll(fds, SEEP_HTTP_CONNECTIONS + 1, 1000) < 0 && errno != EINTR)
            break;
        int64_t now = seep_monotonic_ns();
        for (size_t i = 0; i < SEEP_HTTP_CONNECTIONS; i++) {
            if (peers[i].fd < 0)
                continue;
            if (now > peers[i].until_ns)
                drop(&peers[i]);
            else if (fds[i].revents & POLLIN)
                read_from(server, &peers[i]);
            else if (fds[i].revents & POLLOUT)
                write_to(&peers[i]);
            else if (fds[i].revents)
                drop(&peers[i]);
        }
        if (fds[SEEP_HTTP_CONNECTIONS].revents & POLLIN)
            accept_one(server, peers, &deaf_until_ns);
    }
    for (size_t i = 0; i < SEEP_HTTP_CONNECTIONS; i++)
        drop(&peers[i]);
    free(peers);
    return NULL;
}
