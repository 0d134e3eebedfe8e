// SPDX-License-Identifier: BSD-2-Clause
// The server behind `seep serve`, see link_server.h. All descriptors are non-blocking.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "file/session_file.h"
#include "link/link_server.h"
#include "session/mark_live.h"
#include "wire/wire.h"

struct client {
    int in_fd; // -1: none
    int out_fd;
    bool greeted;
    bool packed;      // it takes frames that are
    bool leaves;      // once its answer is sent
    int64_t until_ns; // to greet
    unsigned char in[SEEP_WIRE_HEAD_BYTES + SEEP_WIRE_ASK_MAX];
    size_t nr_in;
    struct seep_put out;
    size_t sent;
};

struct seep_link_server {
    const struct seep_live_source *source;
    struct seep_look look;
    struct seep_shadow *shadow;
    int listen_fd; // -1: it does not
    char path[108];
    bool has_path;
    struct client *clients[SEEP_LINK_CLIENTS];
    size_t nr_clients;
};

// ---- looks ----

// What is asked for at nearly the same time is of one look. A large image is not looked at all the time.
static struct seep_error *look_again(struct seep_link_server *server) {
    int64_t rest_ns = SEEP_MAX(SEEP_LINK_LOOK_NS, 4 * server->look.took_ns);
    if (server->look.session && (server->look.ended || seep_monotonic_ns() - server->look.at_ns < rest_ns))
        return NULL;
    struct seep_look look;
    seep_look_make(server->source, server->look.session ? &server->look : NULL, &look);
    if (look.error || !look.session) {
        struct seep_error *error = look.error;
        look.error = NULL;
        seep_look_deinit(&look);
        if (!server->look.session)
            return error ? error : seep_error_create(SEEP_E_NOT_FOUND, "nothing to look at");
        seep_error_destroy(error); // between two programs, for example: what was seen last stays
        return NULL;
    }
    seep_look_deinit(&server->look);
    server->look = look;
    return seep_shadow_take(server->shadow, look.session);
}

struct seep_error *seep_link_server_create(const struct seep_live_source *source,
                                           struct seep_link_server **ret_server) {
    struct seep_link_server *server = calloc(1, sizeof(*server));
    if (!server)
        return seep_error_no_memory();
    server->source = source;
    server->listen_fd = -1;
    struct seep_error *error = seep_shadow_create(&server->shadow);
    if (!error)
        error = look_again(server);
    if (error) {
        seep_link_server_destroy(server);
        return error;
    }
    *ret_server = server;
    return NULL;
}

static void client_close(struct client *client) {
    if (client->out_fd != client->in_fd)
        close(client->out_fd);
    close(client->in_fd);
    seep_put_deinit(&client->out);
    free(client);
}

void seep_link_server_destroy(struct seep_link_server *server) {
    if (!server)
        return;
    for (size_t i = 0; i < server->nr_clients; i++)
        client_close(server->clients[i]);
    if (server->listen_fd >= 0)
        close(server->listen_fd);
    if (server->has_path)
        unlink(server->path);
    seep_look_deinit(&server->look);
    seep_shadow_destroy(server->shadow);
    free(server);
}

// ---- listening ----

// A folder of our own: made by us, which no other user may enter.
static struct seep_error *private_folder(char *path, size_t room) {
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    struct stat status;
    if (runtime && *runtime)
        snprintf(path, room, "%s/seep", runtime);
    else
        snprintf(path, room, "/tmp/seep-%u", (unsigned)getuid());
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        return seep_error_system(errno, "cannot make %s", path);
    if (lstat(path, &status) != 0 || !S_ISDIR(status.st_mode) || status.st_uid != getuid() ||
        status.st_mode & 077)
        return seep_error_hint(seep_error_create(SEEP_E_PERMISSION, "%s is not ours alone", path),
                               "name another place: --listen unix:PATH");
    return NULL;
}

static bool is_deserted(const struct sockaddr_un *address) {
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool refused = fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof(*address)) != 0 &&
                   errno == ECONNREFUSED;
    if (fd >= 0)
        close(fd);
    return refused;
}

struct seep_error *seep_link_server_listen(struct seep_link_server *server, const char *path,
                                           const char **ret_path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char folder[80];
    if (!path) {
        struct seep_error *error = private_folder(folder, sizeof(folder));
        if (error)
            return error;
        snprintf(address.sun_path, sizeof(address.sun_path), "%s/%d.sock", folder, (int)server->source->pid);
    } else if (strlen(path) >= sizeof(address.sun_path)) {
        return seep_error_create(SEEP_E_USAGE, "%s: too long for a socket", path);
    } else {
        memcpy(address.sun_path, path, strlen(path) + 1);
    }
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    mode_t mask = umask(0177); // from the first moment on it is ours alone
    bool bound = fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
    int trouble = errno;
    if (fd >= 0 && !bound && trouble == EADDRINUSE && is_deserted(&address)) {
        unlink(address.sun_path);
        bound = bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
        trouble = errno;
    }
    umask(mask);
    if (bound && listen(fd, 16) != 0) {
        trouble = errno;
        bound = false;
    }
    if (!bound) {
        if (fd >= 0)
            close(fd);
        struct seep_error *error = seep_error_system(trouble, "cannot listen on %s", address.sun_path);
        return trouble == EADDRINUSE
                   ? seep_error_hint(error, "another server does: 'seep connect unix:%s'", address.sun_path)
                   : error;
    }
    server->listen_fd = fd;
    snprintf(server->path, sizeof(server->path), "%s", address.sun_path);
    server->has_path = true;
    *ret_path = server->path;
    return NULL;
}

struct seep_error *seep_link_server_add(struct seep_link_server *server, int in_fd, int out_fd) {
    struct client *client = server->nr_clients < SEEP_LINK_CLIENTS ? calloc(1, sizeof(*client)) : NULL;
    if (!client)
        return seep_error_no_memory();
    fcntl(in_fd, F_SETFL, fcntl(in_fd, F_GETFL) | O_NONBLOCK);
    fcntl(out_fd, F_SETFL, fcntl(out_fd, F_GETFL) | O_NONBLOCK);
    client->in_fd = in_fd;
    client->out_fd = out_fd;
    client->until_ns = seep_monotonic_ns() + SEEP_LINK_GREET_NS;
    server->clients[server->nr_clients++] = client;
    return NULL;
}

static void accept_one(struct seep_link_server *server) {
    int fd = accept4(server->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct ucred peer;
    socklen_t size = sizeof(peer);
    if (fd < 0)
        return;
    bool ours =
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && (peer.uid == getuid() || peer.uid == 0);
    struct seep_error *error = ours ? seep_link_server_add(server, fd, fd) : NULL;
    if (!ours || error)
        close(fd);
    seep_error_destroy(error);
}

// ---- answers ----

static struct seep_error *answer_pull(struct seep_link_server *server, struct client *client, uint16_t stream,
                                      const unsigned char *bytes, size_t nr) {
    struct seep_wire_pull *pull = malloc(sizeof(*pull));
    if (!pull)
        return seep_error_no_memory();
    struct seep_error *error = seep_wire_pull_take(bytes, nr, pull);
    if (!error)
        error = look_again(server);
    const struct seep_look *now = &server->look;
    struct seep_wire_look look = {.ended = now->ended,
                                  .rss_bytes = now->rss_bytes,
                                  .used_bytes = now->used_bytes,
                                  .limit_bytes = now->limit_bytes,
                                  .limit = now->limit,
                                  .nr_threads = now->nr_threads,
                                  .nr_untraced = now->nr_untraced};
    if (!error)
        error = seep_shadow_answer(server->shadow, now->session, &look, pull, stream, client->packed,
                                   &client->out);
    free(pull);
    return error;
}

// The bytes of the trace of a session, in frames.
static struct seep_error *answer_trace(struct client *client, uint16_t stream,
                                       const struct seep_session *session) {
    int fd = memfd_create("seep-trace", MFD_CLOEXEC);
    if (fd < 0)
        return seep_error_system(errno, "no memory file for a trace");
    struct seep_error *error = seep_session_save_fd(session, fd, "the answer");
    struct seep_put payload = {NULL};
    for (off_t at = 0; !error;) {
        if (!seep_put_room(&payload, SEEP_WIRE_FRAME_MAX / 2)) {
            error = seep_error_no_memory();
            break;
        }
        ssize_t nr = pread(fd, payload.bytes, SEEP_WIRE_FRAME_MAX / 2, at);
        if (nr <= 0)
            break;
        at += nr;
        payload.used = (size_t)nr;
        error =
            seep_wire_put(&client->out, SEEP_WIRE_BYTES, stream, &payload, false); // it is packed as it is
        payload.used = 0;
    }
    close(fd);
    payload.used = 0;
    if (!error)
        error = seep_wire_put(&client->out, SEEP_WIRE_END, stream, &payload, false);
    seep_put_deinit(&payload);
    return error;
}

static struct seep_error *answer_scan(struct seep_link_server *server, struct client *client,
                                      uint16_t stream) {
    struct seep_session *session = NULL;
    struct seep_error *error = server->look.ended
                                   ? seep_error_create(SEEP_E_UNSUPPORTED, "the program has ended")
                                   : seep_live_source_scan(server->source, &session);
    if (!error)
        error = answer_trace(client, stream, session);
    seep_session_destroy(session);
    return error;
}

static struct seep_error *answer_mark(struct seep_link_server *server, struct client *client, uint16_t stream,
                                      const unsigned char *bytes, size_t nr) {
    struct seep_take take = {bytes, bytes + nr, false};
    size_t length = 0;
    const char *text = seep_take_text(&take, &length);
    char name[SEEP_MARK_NAME_MAX + 1];
    if (take.failed || !text || !length || length > SEEP_MARK_NAME_MAX || memchr(text, '@', length) ||
        memchr(text, '#', length))
        return seep_error_create(SEEP_E_USAGE, "a mark has a name of 1 to %u bytes, without @ and #",
                                 SEEP_MARK_NAME_MAX);
    snprintf(name, sizeof(name), "%.*s", (int)length, text);
    struct seep_error *error = server->look.ended
                                   ? seep_error_create(SEEP_E_UNSUPPORTED, "the program has ended")
                                   : seep_mark_live(server->source->pid, name);
    struct seep_put payload = {NULL};
    if (!error)
        error = seep_wire_put(&client->out, SEEP_WIRE_END, stream, &payload, false);
    return error;
}

static struct seep_error *answer_control(struct seep_link_server *server, struct client *client,
                                         uint16_t stream, const unsigned char *bytes, size_t nr) {
    struct seep_take take = {bytes, bytes + nr, false};
    uint64_t recording = seep_take_leb(&take), depth = seep_take_leb(&take);
    bool done = false;
    if (take.failed || recording > SEEP_RECORDING_START || depth > SEEP_CONTROL_DEPTH_MOST)
        return seep_error_create(SEEP_E_USAGE, "what is to be recorded is not known here");
    struct seep_image_control asked = {(enum seep_image_recording)recording, (uint32_t)depth};
    struct seep_error *error = server->look.ended
                                   ? seep_error_create(SEEP_E_UNSUPPORTED, "the program has ended")
                                   : seep_live_source_control(server->source, &server->look, &asked, &done);
    struct seep_put payload = {NULL};
    seep_put_leb(&payload, done);
    if (!error)
        error = seep_wire_put(&client->out, SEEP_WIRE_END, stream, &payload, false);
    seep_put_deinit(&payload);
    return error;
}

static void answer_error(struct client *client, uint16_t stream, struct seep_error *error) {
    struct seep_put payload = {NULL};
    client->leaves |= error->code == SEEP_E_FORMAT || error->code == SEEP_E_VERSION;
    seep_put_leb(&payload, error->code);
    seep_put_text(&payload, error->message);
    seep_put_text(&payload, error->hint);
    struct seep_error *failed = seep_wire_put(&client->out, SEEP_WIRE_ERROR, stream, &payload, false);
    client->leaves |= failed != NULL;
    seep_error_destroy(failed);
    seep_put_deinit(&payload);
    seep_error_destroy(error);
}

// Ours is sent whatever theirs is, so that both know what the other speaks.
static struct seep_error *answer_hello(struct client *client, const unsigned char *bytes, size_t nr) {
    struct seep_put payload = {NULL};
    struct seep_wire_hello hello = {0};
    seep_wire_hello_put(&payload);
    struct seep_error *error = seep_wire_put(&client->out, SEEP_WIRE_HELLO, 0, &payload, false);
    seep_put_deinit(&payload);
    if (!error)
        error = seep_wire_hello_take(bytes, nr, &hello);
    client->packed = hello.takes & SEEP_WIRE_TAKES_ZSTD;
    client->greeted = !error;
    return error;
}

static void answer(struct seep_link_server *server, struct client *client, const struct seep_wire_head *head,
                   const unsigned char *bytes) {
    struct seep_error *error = NULL;
    size_t nr = head->nr_bytes;
    if (head->flags)
        error = seep_error_create(SEEP_E_FORMAT, "a question with flags that are not known");
    else if (!client->greeted)
        error = head->type == SEEP_WIRE_HELLO
                    ? answer_hello(client, bytes, nr)
                    : seep_error_create(SEEP_E_FORMAT, "a question before the greeting");
    else if (head->type == SEEP_WIRE_PULL)
        error = answer_pull(server, client, head->stream, bytes, nr);
    else if (head->type == SEEP_WIRE_SNAPSHOT)
        error = look_again(server),
        error = error ? error : answer_trace(client, head->stream, server->look.session);
    else if (head->type == SEEP_WIRE_SCAN)
        error = answer_scan(server, client, head->stream);
    else if (head->type == SEEP_WIRE_MARK)
        error = answer_mark(server, client, head->stream, bytes, nr);
    else if (head->type == SEEP_WIRE_CONTROL)
        error = answer_control(server, client, head->stream, bytes, nr);
    else
        error = seep_error_create(SEEP_E_UNSUPPORTED, "a question of kind %u is not known here", head->type);
    if (error)
        answer_error(client, head->stream, error);
}

// ---- one client ----

// false: it has left, or is to.
static bool read_some(struct seep_link_server *server, struct client *client) {
    ssize_t nr = read(client->in_fd, client->in + client->nr_in, sizeof(client->in) - client->nr_in);
    if (nr < 0)
        return errno == EAGAIN || errno == EINTR;
    if (nr == 0)
        return false;
    client->nr_in += (size_t)nr;
    if (client->nr_in < SEEP_WIRE_HEAD_BYTES)
        return true;
    struct seep_wire_head head = seep_wire_head_of(client->in);
    if (head.nr_bytes > SEEP_WIRE_ASK_MAX)
        return false; // no client of seep
    size_t whole = SEEP_WIRE_HEAD_BYTES + head.nr_bytes;
    if (client->nr_in < whole)
        return true;
    answer(server, client, &head, client->in + SEEP_WIRE_HEAD_BYTES);
    client->nr_in -= whole;
    memmove(client->in, client->in + whole, client->nr_in);
    return true;
}

static bool write_some(struct client *client) {
    ssize_t nr = write(client->out_fd, client->out.bytes + client->sent, client->out.used - client->sent);
    if (nr < 0)
        return errno == EAGAIN || errno == EINTR;
    client->sent += (size_t)nr;
    if (client->sent < client->out.used)
        return true;
    seep_put_deinit(&client->out);
    client->sent = 0;
    return !client->leaves;
}

// A question may have come whole with the one before it.
static bool has_question(const struct client *client) {
    if (client->nr_in < SEEP_WIRE_HEAD_BYTES)
        return false;
    struct seep_wire_head head = seep_wire_head_of(client->in);
    return head.nr_bytes > SEEP_WIRE_ASK_MAX || client->nr_in >= SEEP_WIRE_HEAD_BYTES + head.nr_bytes;
}

static bool answer_waiting(struct seep_link_server *server, struct client *client) {
    while (!client->out.used && has_question(client)) {
        struct seep_wire_head head = seep_wire_head_of(client->in);
        if (head.nr_bytes > SEEP_WIRE_ASK_MAX)
            return false;
        size_t whole = SEEP_WIRE_HEAD_BYTES + head.nr_bytes;
        answer(server, client, &head, client->in + SEEP_WIRE_HEAD_BYTES);
        client->nr_in -= whole;
        memmove(client->in, client->in + whole, client->nr_in);
    }
    return true;
}

static bool serve_client(struct seep_link_server *server, struct client *client, const struct pollfd *in,
                         const struct pollfd *out) {
    bool stays = true;
    if (client->out.used && (out->revents & (POLLOUT | POLLERR | POLLHUP)))
        stays = write_some(client);
    else if (!client->out.used && in->revents)
        stays = read_some(server, client);
    if (stays)
        stays = answer_waiting(server, client);
    return stays && (client->greeted || client->out.used || seep_monotonic_ns() < client->until_ns);
}

struct seep_error *seep_link_server_run(struct seep_link_server *server) {
    signal(SIGPIPE, SIG_IGN);
    while (!seep_interrupted && (server->listen_fd >= 0 || server->nr_clients)) {
        struct pollfd wait[2 * SEEP_LINK_CLIENTS + 1];
        size_t nr = server->nr_clients;
        for (size_t i = 0; i < nr; i++) {
            bool busy = server->clients[i]->out.used != 0;
            wait[2 * i] = (struct pollfd){.fd = busy ? -1 : server->clients[i]->in_fd, .events = POLLIN};
            wait[2 * i + 1] =
                (struct pollfd){.fd = busy ? server->clients[i]->out_fd : -1, .events = POLLOUT};
        }
        bool room = server->listen_fd >= 0 && nr < SEEP_LINK_CLIENTS;
        wait[2 * nr] = (struct pollfd){.fd = room ? server->listen_fd : -1, .events = POLLIN};
        if (poll(wait, 2 * nr + 1, 1000) < 0 && errno != EINTR)
            return seep_error_system(errno, "cannot wait for clients");
        if (seep_interrupted)
            break;
        size_t kept = 0;
        for (size_t i = 0; i < nr; i++) {
            struct client *client = server->clients[i];
            if (serve_client(server, client, &wait[2 * i], &wait[2 * i + 1]))
                server->clients[kept++] = client;
            else
                client_close(client);
        }
        server->nr_clients = kept;
        if (wait[2 * nr].revents)
            accept_one(server);
    }
    return NULL;
}
