// SPDX-License-Identifier: BSD-2-Clause
// The server behind `seep serve`, see server.h. All descriptors are non-blocking.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/accept.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "base/own_limits.h"
#include "live/look_process.h"
#include "server/server_client.h"
#include "wire/network.h"

#define SEALED_PIECE (8u << 10) // bytes of a shared answer in a record

// Between an exec and the first allocation after it a process has no image, or an empty one.
static struct seep_error *first_look(struct seep_server *server) {
    int64_t until_ns = seep_monotonic_ns() + SEEP_SERVER_BEGIN_NS;
    struct seep_error *error = seep_server_look_again(server, NULL);
    while (error && server->source->is_ours && seep_monotonic_ns() < until_ns &&
           (error->code == SEEP_E_FORMAT || error->code == SEEP_E_NOT_FOUND) &&
           kill(server->source->pid, 0) == 0) {
        seep_error_destroy(error);
        nanosleep(&(struct timespec){0, 5000000}, NULL);
        error = seep_server_look_again(server, NULL);
    }
    return error;
}

struct seep_error *seep_server_create(const struct seep_live_source *source,
                                      struct seep_server **ret_server) {
    struct seep_server *server = calloc(1, sizeof(*server));
    if (!server)
        return seep_error_no_memory();
    server->source = source;
    server->listen_fd = -1;
    server->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    server->new_fd = epoll_create1(EPOLL_CLOEXEC);
    struct seep_error *error = server->epoll_fd < 0 || server->new_fd < 0
                                   ? seep_error_system(errno, "cannot wait for clients")
                                   : seep_deltas_create(&server->deltas);
    if (!error)
        error = first_look(server);
    if (error) {
        seep_server_destroy(server);
        return error;
    }
    *ret_server = server;
    return NULL;
}

static void client_close(struct seep_server *server, struct seep_server_client *client) {
    seep_server_drop_job(client);
    seep_server_drop_rest(server, client);
    seep_error_destroy(seep_server_watch_set(server->new_fd, &client->watch_new, -1, 0));
    seep_error_destroy(seep_server_watch_set(client->epoll_fd, &client->watch_in, -1, 0));
    seep_error_destroy(seep_server_watch_set(client->epoll_fd, &client->watch_out, -1, 0));
    if (client->out_fd != client->in_fd)
        close(client->out_fd);
    close(client->in_fd);
    seep_put_deinit(&client->out);
    seep_put_deinit(&client->sealed_out);
    seep_noise_destroy(client->noise);
    free(client->sealed_in);
    munmap(client, sizeof(*client));
}

static void remove_client(struct seep_server *server, struct seep_server_client *client) {
    server->clients[client->place] = server->clients[--server->nr_clients];
    server->clients[client->place]->place = client->place;
    client_close(server, client);
}

void seep_server_destroy(struct seep_server *server) {
    if (!server)
        return;
    for (size_t i = 0; i < server->nr_clients; i++)
        client_close(server, server->clients[i]);
    // The server removes its socket before it stops to listen: from then on another server takes the socket
    // for a deserted one.
    struct stat status; // another server may have replaced it
    if (server->has_path && lstat(server->path, &status) == 0 && status.st_ino == server->path_ino)
        unlink(server->path);
    if (server->listen_fd >= 0)
        close(server->listen_fd);
    if (server->epoll_fd >= 0)
        close(server->epoll_fd);
    if (server->new_fd >= 0)
        close(server->new_fd);
    seep_server_drop_shared(server);
    explicit_bzero(server->key, sizeof(server->key));
    seep_images_deinit(&server->look);
    seep_deltas_destroy(server->deltas);
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

struct seep_error *seep_server_private_path(const char *name, char *ret_path, size_t room) {
    char folder[80];
    struct seep_error *error = private_folder(folder, sizeof(folder));
    if (!error && snprintf(ret_path, room, "%s/%s.sock", folder, name) >= (int)room)
        error = seep_error_create(SEEP_E_USAGE, "%s: too long for a socket", folder);
    return error;
}

void seep_server_linger(struct seep_server *server, bool only_ended) {
    server->lingers = true;
    server->lingers_ended = only_ended;
    server->alone_ns = seep_monotonic_ns();
}

// Whether it has waited for clients long enough.
static bool is_left(struct seep_server *server) {
    int64_t now_ns = seep_monotonic_ns();
    if (!server->lingers || server->nr_clients) {
        server->alone_ns = now_ns;
        return false;
    }
    bool gone = seep_look_is_gone(server->source);
    if (server->lingers_ended && !gone)
        server->alone_ns = now_ns;
    return now_ns - server->alone_ns > (gone ? SEEP_SERVER_LEAVE_NS : SEEP_SERVER_LINGER_NS);
}

static bool is_other_file(const struct sockaddr_un *address) {
    struct stat status;
    return lstat(address->sun_path, &status) == 0 && !S_ISSOCK(status.st_mode);
}

// A socket that nothing listens on; what is no socket refuses connections, too. Without waiting: the
// listener, which may be another user's, may accept no connection.
static bool is_deserted(const struct sockaddr_un *address) {
    if (is_other_file(address))
        return false;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool refused = fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof(*address)) != 0 &&
                   errno == ECONNREFUSED;
    if (fd >= 0)
        close(fd);
    return refused;
}

// Locks the folder of the socket: between its bind and its listen the socket of another server looks
// deserted. Another user may hold the lock, so it is not awaited for long, and not at all where the file
// system has none (NFS locks no folder).
static int lock_folder(const char *path) {
    char folder[sizeof(((struct sockaddr_un *)NULL)->sun_path)] = ".";
    const char *slash = strrchr(path, '/');
    if (slash)
        snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path) + 1, path);
    int fd = open(folder, O_RDONLY | O_CLOEXEC);
    for (int i = 0; fd >= 0 && i < 200 && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK; i++)
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    return fd;
}

struct seep_error *seep_server_listen(struct seep_server *server, const char *path, const char **ret_path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char name[16];
    snprintf(name, sizeof(name), "%d", (int)server->source->pid);
    if (!path) {
        struct seep_error *error = seep_server_private_path(name, address.sun_path, sizeof(address.sun_path));
        if (error)
            return error;
    } else if (strlen(path) >= sizeof(address.sun_path)) {
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "%s: too long for a socket", path),
                               "name another place, of %zu bytes at most: --listen unix:PATH",
                               sizeof(address.sun_path) - 1);
    } else {
        memcpy(address.sun_path, path, strlen(path) + 1);
    }
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int lock = lock_folder(address.sun_path);
    mode_t mask = umask(0177); // from the first moment on it is ours alone
    bool bound = fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
    int trouble = errno;
    if (fd >= 0 && !bound && trouble == EADDRINUSE && is_deserted(&address)) {
        unlink(address.sun_path);
        bound = bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
        trouble = errno;
    }
    umask(mask);
    if (bound && listen(fd, SEEP_SERVER_CLIENTS) != 0) {
        trouble = errno;
        bound = false;
    }
    if (lock >= 0)
        close(lock);
    if (!bound) {
        if (fd >= 0)
            close(fd);
        if (trouble == EADDRINUSE && is_other_file(&address))
            return seep_error_hint(
                seep_error_create(SEEP_E_IO, "%s: there is a file that is no socket", address.sun_path),
                "name another place: --listen unix:PATH");
        struct seep_error *error = seep_error_system(trouble, "cannot listen on %s", address.sun_path);
        return trouble == EADDRINUSE
                   ? seep_error_hint(error, "another server does: 'seep connect unix:%s'", address.sun_path)
               : fd >= 0 ? seep_error_hint(error, "name another place: --listen unix:PATH")
                         : error;
    }
    struct stat status;
    server->path_ino = lstat(address.sun_path, &status) == 0 ? status.st_ino : 0;
    server->listen_fd = fd;
    snprintf(server->path, sizeof(server->path), "%s", address.sun_path);
    server->has_path = true;
    *ret_path = server->path;
    return NULL;
}

struct seep_error *seep_server_listen_network(struct seep_server *server, const char *name,
                                              const unsigned char *key, unsigned *ret_port) {
    struct seep_noise *probe = NULL; // whether it can be at all is said before it listens
    struct seep_error *error = seep_noise_create(false, NULL, 0, key, &probe);
    seep_noise_destroy(probe);
    if (!error)
        error = seep_network_listen(name, &server->listen_fd, ret_port);
    memcpy(server->key, key, sizeof(server->key));
    server->has_key = true;
    return error;
}

static void set_due(struct seep_server *server, struct seep_server_client *client) {
    if (!client->is_due)
        server->due[server->nr_due++] = client;
    client->is_due = true;
}

struct seep_error *seep_server_add(struct seep_server *server, int in_fd, int out_fd) {
    // Of the kernel: malloc may clear memory that was used before, and then all of `in` takes pages.
    struct seep_server_client *client =
        server->nr_clients < SEEP_SERVER_CLIENTS
            ? mmap(NULL, sizeof(*client), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
            : MAP_FAILED;
    if (client == MAP_FAILED)
        return seep_error_no_memory();
    fcntl(in_fd, F_SETFL, fcntl(in_fd, F_GETFL) | O_NONBLOCK);
    fcntl(out_fd, F_SETFL, fcntl(out_fd, F_GETFL) | O_NONBLOCK);
    client->job = SEEP_SERVER_NO_JOB;
    client->trace_fd = -1;
    client->epoll_fd = server->epoll_fd;
    client->watch_in.client = client->watch_out.client = client->watch_job.client = client;
    client->place = server->nr_clients;
    client->in_fd = in_fd;
    client->out_fd = out_fd;
    client->until_ns = seep_monotonic_ns() + SEEP_SERVER_GREET_NS;
    server->clients[server->nr_clients++] = client;
    set_due(server, client); // so its events are awaited
    return NULL;
}

// On a network: first of all it has to show that it has the key.
static struct seep_error *add_locked(struct seep_server *server, int fd) {
    struct seep_noise *noise = NULL;
    unsigned char *room = malloc(SEEP_NOISE_LENGTH_BYTES + SEEP_NOISE_RECORD_MOST);
    struct seep_error *error = room ? seep_noise_create(false, (const unsigned char *)SEEP_WIRE_MAGIC,
                                                        SEEP_WIRE_MAGIC_BYTES, server->key, &noise)
                                    : seep_error_no_memory();
    if (!error)
        error = seep_server_add(server, fd, fd);
    if (error) {
        seep_noise_destroy(noise);
        free(room);
        return error;
    }
    struct seep_server_client *client = server->clients[server->nr_clients - 1];
    client->noise = noise;
    client->sealed_in = room;
    return NULL;
}

static bool is_ours(int fd) {
    struct ucred peer;
    socklen_t size = sizeof(peer);
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           (peer.uid == getuid() || peer.uid == 0);
}

// The client that has not shown the key for the longest time; NULL: all have, or none is asked for. A first
// message that somebody recorded and sends again shows it, too: of those the ones that do not greet come
// last.
static struct seep_server_client *oldest_silent(const struct seep_server *server) {
    struct seep_server_client *oldest = NULL;
    bool oldest_shows = false;
    for (size_t i = 0; server->has_key && i < server->nr_clients; i++) {
        struct seep_server_client *client = server->clients[i];
        bool shows = client->noise && seep_noise_is_open(client->noise);
        if (client->greeted || (oldest && (shows > oldest_shows ||
                                           (shows == oldest_shows && client->until_ns >= oldest->until_ns))))
            continue;
        oldest = client;
        oldest_shows = shows;
    }
    return oldest;
}

// Whether a client that comes now is taken.
static bool has_place(const struct seep_server *server) {
    return server->nr_clients < SEEP_SERVER_CLIENTS || oldest_silent(server);
}

// Peers without the key may be so many that they take all places, and each has ten seconds: the owner of the
// key does not wait for them.
static void make_place(struct seep_server *server) {
    struct seep_server_client *client = oldest_silent(server);
    if (server->nr_clients < SEEP_SERVER_CLIENTS || !client)
        return;
    for (size_t i = 0; client->is_due && i < server->nr_due; i++)
        if (server->due[i] == client)
            server->due[i] = server->due[--server->nr_due];
    remove_client(server, client);
}

static void accept_one(struct seep_server *server) {
    int fd = seep_accept(server->listen_fd, &server->deaf_until_ns);
    if (fd < 0)
        return;
    bool may = server->has_key || is_ours(fd);
    if (may)
        make_place(server);
    struct seep_error *error = !may              ? NULL
                               : server->has_key ? add_locked(server, fd)
                                                 : seep_server_add(server, fd, fd);
    if (server->has_key)
        seep_network_set_patience(fd);
    if (!may || error)
        close(fd);
    seep_error_destroy(error);
}

// ---- one client ----

static bool put_record(struct seep_put *out, const struct seep_put *record) {
    unsigned char length[SEEP_NOISE_LENGTH_BYTES] = {(unsigned char)record->used,
                                                     (unsigned char)(record->used >> 8)};
    seep_put_bytes(out, length, sizeof(length));
    seep_put_bytes(out, record->bytes, record->used);
    return !out->failed;
}

static bool has_output(const struct seep_server_client *client) {
    return client->out.used || client->sealed_out.used || seep_server_has_rest(client);
}

static bool is_answered(const struct seep_server_client *client) {
    return !has_output(client) && !client->job.pid;
}

// On a network a killed client cannot be told from a client that only asks no more, so its job ends.
static void note_end(struct seep_server *server, struct seep_server_client *client) {
    client->has_ended = true;
    if (client->noise && client->job.pid)
        seep_server_cancel(server, client, client->stream);
}

// The client reads no more answers. On a pipe only the output shows this, because the input also hangs up
// when a client asks no more.
static bool is_broken(const struct seep_server_client *client) {
    bool is_one = client->in_fd == client->out_fd;
    return (is_one ? client->watch_in.came : client->watch_out.came) & (uint32_t)(EPOLLHUP | EPOLLERR);
}

// false: it has left.
static bool read_plain(struct seep_server *server, struct seep_server_client *client) {
    ssize_t nr = read(client->in_fd, client->in + client->nr_in, sizeof(client->in) - client->nr_in);
    if (nr < 0)
        return errno == EAGAIN || errno == EINTR;
    client->nr_in += (size_t)nr;
    if (nr == 0)
        note_end(server, client);
    return true;
}

static bool take_hello(struct seep_server_client *client, size_t nr) {
    struct seep_put none = {NULL}, hello = {NULL};
    struct seep_error *error = NULL;
    bool good = seep_noise_hello_take(client->noise, client->sealed_in + SEEP_NOISE_LENGTH_BYTES, nr, &none);
    if (good)
        error = seep_noise_hello_put(client->noise, NULL, 0, &hello);
    good = good && !error && put_record(&client->sealed_out, &hello);
    seep_error_destroy(error);
    seep_put_deinit(&none);
    seep_put_deinit(&hello);
    return good;
}

static size_t record_bytes(const struct seep_server_client *client) {
    return client->nr_sealed_in < SEEP_NOISE_LENGTH_BYTES
               ? 0
               : (size_t)(client->sealed_in[0] | client->sealed_in[1] << 8);
}

static bool has_room(const struct seep_server_client *client) {
    return sizeof(client->in) - client->nr_in >= (client->noise ? SEEP_NOISE_RECORD_MOST : 1);
}

// A record at a time. false: it has left, or is not of who has the key.
static bool read_sealed(struct seep_server *server, struct seep_server_client *client) {
    size_t wanted = SEEP_NOISE_LENGTH_BYTES + record_bytes(client);
    ssize_t nr = read(client->in_fd, client->sealed_in + client->nr_sealed_in, wanted - client->nr_sealed_in);
    if (nr < 0)
        return errno == EAGAIN || errno == EINTR;
    client->nr_sealed_in += (size_t)nr;
    if (nr == 0)
        note_end(server, client);
    wanted = SEEP_NOISE_LENGTH_BYTES + record_bytes(client);
    if (nr == 0 || client->nr_sealed_in < wanted || wanted == SEEP_NOISE_LENGTH_BYTES)
        return wanted != SEEP_NOISE_LENGTH_BYTES || client->nr_sealed_in < SEEP_NOISE_LENGTH_BYTES;
    size_t nr_plain = 0;
    client->nr_sealed_in = 0;
    if (!seep_noise_is_open(client->noise))
        return take_hello(client, wanted - SEEP_NOISE_LENGTH_BYTES);
    if (!seep_noise_unseal(client->noise, client->sealed_in + SEEP_NOISE_LENGTH_BYTES,
                           wanted - SEEP_NOISE_LENGTH_BYTES, &nr_plain))
        return false;
    memcpy(client->in + client->nr_in, client->sealed_in + SEEP_NOISE_LENGTH_BYTES, nr_plain);
    client->nr_in += nr_plain;
    return true;
}

static bool seal(struct seep_server_client *client, const unsigned char *bytes, size_t nr) {
    struct seep_put record = {NULL};
    seep_noise_seal(client->noise, bytes, nr, &record);
    bool good = !record.failed && put_record(&client->sealed_out, &record);
    seep_put_deinit(&record);
    return good;
}

// Seals the next bytes of an answer that clients share.
static bool seal_rest(struct seep_server *server, struct seep_server_client *client) {
    unsigned char bytes[SEALED_PIECE];
    struct seep_server_pieces pieces;
    size_t nr = 0;
    seep_server_rest_pieces(client, sizeof(bytes), &pieces);
    for (int i = 0; i < pieces.nr && nr < sizeof(bytes); i++) {
        size_t some = SEEP_MIN(pieces.items[i].iov_len, sizeof(bytes) - nr);
        memcpy(bytes + nr, pieces.items[i].iov_base, some);
        nr += some;
    }
    seep_server_rest_taken(server, client, nr);
    return seal(client, bytes, nr);
}

// The next piece of the answer, sealed. What is sealed is as good as sent.
static bool seal_some(struct seep_server *server, struct seep_server_client *client) {
    if (!client->out.used)
        return seal_rest(server, client);
    size_t nr =
        SEEP_MIN(client->out.used - client->sent, (size_t)(SEEP_NOISE_RECORD_MOST - SEEP_NOISE_TAG_BYTES));
    bool good = seal(client, client->out.bytes + client->sent, nr);
    client->sent += nr;
    return good;
}

// Writes the next bytes of an answer that clients share.
static ssize_t write_rest(struct seep_server *server, struct seep_server_client *client) {
    struct seep_server_pieces pieces;
    seep_server_rest_pieces(client, SIZE_MAX, &pieces);
    ssize_t nr = writev(client->out_fd, pieces.items, pieces.nr);
    if (nr > 0)
        seep_server_rest_taken(server, client, (size_t)nr);
    return nr;
}

static bool write_some(struct seep_server *server, struct seep_server_client *client, bool *ret_did) {
    *ret_did = false;
    if (!client->out.used && !client->sealed_out.used && client->trace_fd >= 0 &&
        !seep_server_put_trace_piece(server, client))
        return false;
    if (client->noise && !client->sealed_out.used && !seal_some(server, client))
        return false;
    struct seep_put *out = client->noise ? &client->sealed_out : &client->out;
    size_t *sent = client->noise ? &client->sealed_sent : &client->sent;
    bool of_rest = !out->used; // then there is nothing before it
    ssize_t nr =
        of_rest ? write_rest(server, client) : write(client->out_fd, out->bytes + *sent, out->used - *sent);
    if (nr < 0)
        return errno == EAGAIN || errno == EINTR;
    *ret_did = true;
    if (of_rest)
        return true;
    *sent += (size_t)nr;
    if (*sent < out->used)
        return true;
    if (client->noise) {
        seep_put_deinit(&client->sealed_out);
        client->sealed_sent = 0;
        if (client->sent < client->out.used)
            return true;
    }
    if (client->out.capacity > SEEP_SERVER_KEPT)
        seep_put_deinit(&client->out);
    client->out.used = client->sent = 0;
    return !client->leaves;
}

static bool has_question(const struct seep_server_client *client) {
    return client->nr_in >= SEEP_WIRE_HEAD_BYTES &&
           client->nr_in - SEEP_WIRE_HEAD_BYTES >= seep_wire_head_of(client->in).nr_bytes;
}

// The next frame is a Pull that waits, and the one behind it ends it. Removes both.
static bool take_cancel(struct seep_server_client *client, size_t nr_waiting) {
    size_t behind = nr_waiting + SEEP_WIRE_HEAD_BYTES;
    if (!client->waits || client->nr_in < behind)
        return false;
    struct seep_wire_head head = seep_wire_head_of(client->in + nr_waiting);
    if (head.type != SEEP_WIRE_CANCEL || head.stream != client->stream ||
        head.nr_bytes > client->nr_in - behind)
        return false;
    behind += head.nr_bytes;
    client->nr_in -= behind;
    memmove(client->in, client->in + behind, client->nr_in);
    return true;
}

// The questions that have come, one after the other; while one is answered only that it is to end. false: it
// is no client of seep.
static bool take_questions(struct seep_server *server, struct seep_server_client *client) {
    while (client->nr_in >= SEEP_WIRE_HEAD_BYTES && !client->leaves) {
        struct seep_wire_head head = seep_wire_head_of(client->in);
        if (head.nr_bytes > SEEP_WIRE_ASK_MAX)
            return false;
        size_t whole = SEEP_WIRE_HEAD_BYTES + head.nr_bytes;
        bool cancels = client->greeted && head.type == SEEP_WIRE_CANCEL;
        if (client->nr_in < whole || (!cancels && !is_answered(client)))
            break;
        if (take_cancel(client, whole)) {
            seep_server_cancel(server, client, client->stream);
            continue;
        }
        if (cancels)
            seep_server_cancel(server, client, head.stream);
        else
            seep_server_answer(server, client, &head, client->in + SEEP_WIRE_HEAD_BYTES);
        if (client->waits)
            break;
        client->nr_in -= whole;
        memmove(client->in, client->in + whole, client->nr_in);
    }
    return true;
}

// Whether its next question can be answered now.
static bool can_be_asked(const struct seep_server_client *client) {
    return has_question(client) && is_answered(client) && !client->waits;
}

// false: the client is to be closed. *ret_more: it has more to do, without a wait.
#define TURNS 64
static bool serve_client(struct seep_server *server, struct seep_server_client *client, bool *ret_more) {
    bool stays = true;
    // epoll reports a broken link also where only output is awaited.
    if (client->watch_in.came & ~(uint32_t)EPOLLOUT && !client->has_ended && has_room(client))
        stays = client->noise ? read_sealed(server, client) : read_plain(server, client);
    if ((client->job.pid || client->waits) && is_broken(client))
        stays = false;
    if (stays && client->job.pid && client->watch_job.came)
        seep_server_answer_job(server, client);
    client->watch_in.came = client->watch_out.came = client->watch_job.came = 0;
    // Most answers fit at once. While others wait no client has more than one answer, or so many pieces of
    // one.
    const uint64_t nr_answered = server->nr_answered;
    bool is_full = false; // the link takes no more
    for (unsigned i = 0; stays && !is_full && i < TURNS; i++) {
        if (server->nr_answered == nr_answered)
            stays = take_questions(server, client);
        if (!stays || !has_output(client))
            break;
        bool did;
        stays = write_some(server, client, &did);
        if (did)
            client->taken_ns = seep_monotonic_ns();
        else
            is_full = has_output(client);
    }
    *ret_more = stays && !is_full && (has_output(client) || can_be_asked(client));
    if (stays && is_answered(client) && (client->leaves || (client->has_ended && !has_question(client))))
        stays = false;
    return stays && (client->greeted || has_output(client) || seep_monotonic_ns() < client->until_ns);
}

// Sets the events to wait for: a question, room for more of the answer, the end of the job, the end of the
// link. *ret_is_file: one of the descriptors is a file, which is always ready.
static struct seep_error *watch_client(const struct seep_server *server, struct seep_server_client *client,
                                       bool *ret_is_file) {
    uint32_t in = !client->has_ended && has_room(client) ? EPOLLIN : 0;
    uint32_t out = has_output(client) ? EPOLLOUT : client->job.pid || client->waits ? EPOLLHUP : 0;
    bool is_one = client->in_fd == client->out_fd;
    struct seep_error *error =
        seep_server_watch_set(client->epoll_fd, &client->watch_in, client->in_fd, is_one ? in | out : in);
    if (!error && !is_one)
        error = seep_server_watch_set(client->epoll_fd, &client->watch_out, client->out_fd, out);
    if (!error)
        error = seep_server_watch_set(server->new_fd, &client->watch_new, client->in_fd,
                                      client->may_wait ? 0 : in);
    if (!error && client->job.pid)
        error = seep_server_watch_set(client->epoll_fd, &client->watch_job, client->job.done_fd, EPOLLIN);
    if (client->watch_in.is_file)
        client->watch_in.came = in;
    *ret_is_file = (client->watch_in.is_file && in) || (client->watch_out.is_file && out == EPOLLOUT);
    return error;
}

static struct seep_error *serve_due(struct seep_server *server) {
    size_t nr = server->nr_due;
    server->nr_due = 0;
    for (size_t i = 0; i < nr; i++) {
        struct seep_server_client *client = server->due[i];
        bool more = false, is_file = false;
        client->is_due = false;
        if (!serve_client(server, client, &more)) {
            remove_client(server, client);
            continue;
        }
        struct seep_error *error = watch_client(server, client, &is_file);
        if (error)
            return error;
        server->has_pulled &= !has_output(client);
        if (more || is_file)
            set_due(server, client); // takes the place of a served client in server->due
    }
    return NULL;
}

// Closes clients that have not greeted in time. No event reports them.
static void check_greetings(struct seep_server *server) {
    int64_t now_ns = seep_monotonic_ns();
    if (now_ns - server->checked_ns < SEEP_SERVER_CHECK_NS)
        return;
    server->checked_ns = now_ns;
    for (size_t i = 0; i < server->nr_clients; i++)
        if (!server->clients[i]->greeted)
            set_due(server, server->clients[i]);
}

static bool somebody_waits(const struct seep_server *server) {
    bool any = false;
    for (size_t i = 0; i < server->nr_clients; i++)
        any |= server->clients[i]->waits != 0;
    return any;
}

// No event says that there is room for the answer of a client that waits.
static void check_room(struct seep_server *server) {
    for (size_t i = 0; i < server->nr_clients; i++)
        if (server->clients[i]->waits)
            set_due(server, server->clients[i]);
}

// *ret_calls: a client wants to be accepted.
static struct seep_error *wait_for_clients(struct seep_server *server, bool *ret_calls) {
    struct epoll_event events[64];
    bool room = server->listen_fd >= 0 && has_place(server) && seep_monotonic_ns() >= server->deaf_until_ns;
    struct seep_error *error =
        seep_server_watch_set(server->epoll_fd, &server->watch_listen, server->listen_fd, room ? EPOLLIN : 0);
    if (!error)
        error = seep_server_watch_set(server->new_fd, &server->watch_listen_new, server->listen_fd,
                                      room ? EPOLLIN : 0);
    if (error)
        return error;
    int most_ms = seep_look_rest_ms(somebody_waits(server) ? SEEP_SERVER_ROOM_MS : 1000);
    int nr = epoll_wait(server->epoll_fd, events, SEEP_ARRAY_SIZE(events), server->nr_due ? 0 : most_ms);
    if (nr < 0 && errno != EINTR)
        return seep_error_system(errno, "cannot wait for clients");
    for (int i = 0; i < nr; i++) {
        struct seep_server_watch *watch = events[i].data.ptr;
        watch->came = events[i].events;
        if (watch->client)
            set_due(server, watch->client);
        else
            *ret_calls = true;
    }
    return NULL;
}

// If many clients ask, the server sleeps after a Pull, so that one wait returns the questions of many: a
// wake-up costs more than an answer. How long is in docs/protocol.md, too. A new client ends the sleep, and
// so does one whose latest question was no Pull.
static void rest(const struct seep_server *server) {
    struct epoll_event events[1];
    size_t nr_asking = seep_server_nr_asking(server);
    if (nr_asking < SEEP_SERVER_MANY)
        return;
    epoll_wait(server->new_fd, events, SEEP_ARRAY_SIZE(events),
               SEEP_MIN((int)(nr_asking - 1) * SEEP_SERVER_REST_MS, SEEP_SERVER_REST_MOST_MS));
}

struct seep_error *seep_server_run(struct seep_server *server) {
    signal(SIGPIPE, SIG_IGN);
    seep_raise_own_limits(); // a look keeps a descriptor for each process, and answers are memory files
    struct seep_error *error = NULL;
    while (!error && !seep_interrupted && (server->listen_fd >= 0 || server->nr_clients)) {
        bool calls = false;
        error = wait_for_clients(server, &calls);
        if (error || seep_interrupted || is_left(server))
            break;
        check_greetings(server);
        check_room(server);
        error = serve_due(server);
        if (!error && calls)
            accept_one(server);
        if (server->has_pulled)
            rest(server);
        server->has_pulled = false;
    }
    return error;
}
