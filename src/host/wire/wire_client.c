// SPDX-License-Identifier: BSD-2-Clause
// A client of `seep serve`, see wire_client.h.
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "wire/network.h"
#include "wire/noise.h"
#include "wire/wire_address.h"
#include "wire/wire_client.h"

#define GREETING_MS    INT64_C(30000) // ssh may ask for a password first
#define LOCK_MS        INT64_C(10000)
#define ACCEPT_S       5                   // a server that does not take what is sent to it
#define ACCEPT_NS      INT64_C(5000000000) // one that does not take a connection
#define ACCEPT_STEP_MS 20
#define WAIT_MS        100  // between looks whether it is to end
#define LEAVE_MS       1000 // for the program of a link to end
#define LEAVE_STEP_MS  5
#define ANSWER_MS      INT64_C(120000)      // between two pieces of an answer: a scan takes its time
#define TRACE_LEAST    (UINT64_C(64) << 20) // bytes of a trace that any program may have
#define CANCEL_NS      INT64_C(2000000000)  // for the end of an answer that was cancelled

struct seep_wire_client {
    char *name; // as the user typed it
    struct seep_wire_address address;
    pthread_mutex_t lock;
    int in_fd; // -1: not connected
    int out_fd;
    pid_t program; // whose streams are the link; 0: none
    unsigned char key[SEEP_NOISE_KEY_BYTES];
    struct seep_noise *noise;          // of a network; NULL: bytes are as they are
    unsigned char *record;             // of noise: room for one
    size_t nr_record;                  // of it, opened
    size_t record_at;                  // that was taken
    uint64_t takes;                    // SEEP_WIRE_TAKES_* of the server
    uint16_t stream;                   // of the latest question; 0: none, as while it greets
    const volatile sig_atomic_t *stop; // NULL: none
    atomic_bool leaves;                // nothing is awaited any more
    bool cancelled;                    // the server was told to end the question
    int64_t cancelled_ns;              // when
    struct seep_replica *replica;
    unsigned char *frame; // scratch
    size_t frame_capacity;
};

// ---- links ----

#define OTHER_USER_HINT "a server answers its own user and root: be one of them"

// Whether the user or the command has ended what is under way.
static bool is_over(const struct seep_wire_client *client) {
    // Relaxed: with it comes nothing else.
    return atomic_load_explicit(&client->leaves, memory_order_relaxed) || (client->stop && *client->stop);
}

static struct seep_error *interrupted(void) {
    return seep_error_create(SEEP_E_UNSUPPORTED, "it was interrupted: the server does not answer");
}

// A server that is stopped accepts nothing. Where others wait already, the kernel would wait for ever.
static bool connect_patiently(const struct seep_wire_client *client, int fd, const struct sockaddr_un *to) {
    int64_t end_ns = seep_monotonic_ns() + ACCEPT_NS;
    while (connect(fd, (const struct sockaddr *)to, sizeof(*to)) != 0) {
        if (errno != EAGAIN || seep_monotonic_ns() >= end_ns || is_over(client))
            return false;
        poll(NULL, 0, ACCEPT_STEP_MS);
    }
    return true;
}

static struct seep_error *connect_unix(struct seep_wire_client *client, const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(address.sun_path))
        return seep_error_create(SEEP_E_USAGE, "%s: too long for a socket", path);
    memcpy(address.sun_path, path, strlen(path) + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return seep_error_system(errno, "no socket");
    const struct timeval patience = {.tv_sec = ACCEPT_S};
    if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) != 0 ||
        !connect_patiently(client, fd, &address) ||
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK) != 0) {
        int trouble = errno == EAGAIN ? ETIMEDOUT : errno;
        struct seep_error *error = seep_error_system(trouble, "cannot connect to %s", path);
        close(fd);
        return seep_error_hint(error, trouble == EACCES ? OTHER_USER_HINT
                                      : trouble == ETIMEDOUT
                                          ? "its server accepts no connection: it is stopped"
                                          : "no server listens there: 'seep serve PID' "
                                            "starts one, and prints its address");
    }
    client->in_fd = client->out_fd = fd;
    return NULL;
}

// Such a server leaves at once, see docs/protocol.md.
static bool is_of_another_user(int fd) {
    struct ucred peer;
    socklen_t size = sizeof(peer);
    return geteuid() && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid != geteuid();
}

// Starts the agent where there is no seep. The shell there may be any.
static _Noreturn void become_ssh(const char *host, const char *port, const char *pid) {
    char command[256];
    snprintf(command, sizeof(command),
             "sh -c 'command -v seep >/dev/null 2>&1 && exec seep serve --listen stdio %s; "
             "exec seep-agent serve --listen stdio %s'",
             pid, pid);
    if (*port)
        execlp("ssh", "ssh", "-T", "-p", port, "--", host, command, (char *)NULL);
    else
        execlp("ssh", "ssh", "-T", "--", host, command, (char *)NULL);
    _exit(127);
}

// A program whose standard streams are the link.
static struct seep_error *connect_program(struct seep_wire_client *client) {
    const struct seep_wire_address *address = &client->address;
    int ends[2]; // sockets: a write into a pipe without a reader raises a signal
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return seep_error_system(errno, "no link to %s", client->name);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDIN_FILENO);
        dup2(ends[1], STDOUT_FILENO);
        if (address->kind == SEEP_WIRE_KIND_SSH)
            become_ssh(address->host, address->port, address->rest);
        execl("/bin/sh", "sh", "-c", address->rest, (char *)NULL);
        _exit(127);
    }
    int trouble = errno;
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        return seep_error_system(trouble, "cannot start a process");
    }
    client->program = child;
    client->in_fd = client->out_fd = ends[0];
    return NULL;
}

// The program's streams are closed and it has got SIGTERM. A program that does not end is killed.
static void wait_for_program(pid_t program) {
    kill(program, SIGTERM);
    for (int64_t waited_ms = 0; waitpid(program, NULL, WNOHANG) == 0; waited_ms += LEAVE_STEP_MS) {
        if (waited_ms >= LEAVE_MS) {
            kill(program, SIGKILL);
            waitpid(program, NULL, 0);
            return;
        }
        poll(NULL, 0, LEAVE_STEP_MS);
    }
}

static void disconnect(struct seep_wire_client *client) {
    if (client->out_fd >= 0 && client->out_fd != client->in_fd)
        close(client->out_fd);
    if (client->in_fd >= 0)
        close(client->in_fd);
    client->in_fd = client->out_fd = -1;
    seep_noise_destroy(client->noise);
    client->noise = NULL;
    client->nr_record = client->record_at = 0;
    if (client->program > 0)
        wait_for_program(client->program);
    client->program = 0;
}

// ---- bytes ----

static struct seep_error *broken(const struct seep_wire_client *client, const char *how) {
    return seep_error_create(SEEP_E_IO, "%s: the link %s", client->name, how);
}

static struct seep_error *write_raw(struct seep_wire_client *client, const unsigned char *bytes, size_t nr) {
    for (size_t sent = 0; sent < nr;) {
        ssize_t done = send(client->out_fd, bytes + sent, nr - sent, MSG_NOSIGNAL);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return broken(client, "broke");
        sent += (size_t)done;
    }
    return NULL;
}

static struct seep_error *write_record(struct seep_wire_client *client, const struct seep_put *record) {
    unsigned char length[SEEP_NOISE_LENGTH_BYTES] = {(unsigned char)record->used,
                                                     (unsigned char)(record->used >> 8)};
    if (record->failed)
        return seep_error_no_memory();
    struct seep_error *error = write_raw(client, length, sizeof(length));
    return error ? error : write_raw(client, record->bytes, record->used);
}

static struct seep_error *write_all(struct seep_wire_client *client, const unsigned char *bytes, size_t nr) {
    if (!client->noise)
        return write_raw(client, bytes, nr);
    struct seep_error *error = NULL;
    for (size_t at = 0; !error && at < nr;) {
        struct seep_put record = {NULL};
        size_t piece = SEEP_MIN(nr - at, (size_t)(SEEP_NOISE_RECORD_MOST - SEEP_NOISE_TAG_BYTES));
        seep_noise_seal(client->noise, bytes + at, piece, &record);
        error = write_record(client, &record);
        seep_put_deinit(&record);
        at += piece;
    }
    return error;
}

// The server is told once, and ends its answer by an error.
static struct seep_error *cancel(struct seep_wire_client *client) {
    unsigned char frame[SEEP_WIRE_HEAD_BYTES];
    client->cancelled = true;
    client->cancelled_ns = seep_monotonic_ns();
    seep_wire_head_put(frame, &(struct seep_wire_head){.type = SEEP_WIRE_CANCEL, .stream = client->stream});
    return write_all(client, frame, sizeof(frame));
}

// Where the question is to end: tells the server, which ends its answer. The link is broken off where the
// server does not end it, or where there is no question: the greeting.
static struct seep_error *end_early(struct seep_wire_client *client) {
    if (!is_over(client))
        return NULL;
    bool leaves = atomic_load_explicit(&client->leaves, memory_order_relaxed);
    if (!leaves && client->stream && !client->cancelled)
        return cancel(client);
    if (!leaves && client->stream && seep_monotonic_ns() - client->cancelled_ns < CANCEL_NS)
        return NULL;
    return interrupted();
}

static struct seep_error *read_raw(struct seep_wire_client *client, unsigned char *bytes, size_t nr,
                                   int64_t wait_ms) {
    int64_t waited_ms = 0;
    for (size_t got = 0; got < nr;) {
        struct pollfd wait = {.fd = client->in_fd, .events = POLLIN};
        struct seep_error *error = end_early(client);
        if (error)
            return error;
        int ready = poll(&wait, 1, WAIT_MS);
        if (ready < 0 && errno == EINTR)
            continue;
        waited_ms = ready == 0 ? waited_ms + WAIT_MS : 0;
        if (waited_ms >= wait_ms)
            return broken(client, "is silent");
        if (ready == 0)
            continue;
        ssize_t done = read(client->in_fd, bytes + got, nr - got);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return broken(client, "was closed");
        got += (size_t)done;
    }
    return NULL;
}

// What comes next of a network: *ret_nr bytes in client->record.
static struct seep_error *read_record(struct seep_wire_client *client, int64_t wait_ms, size_t *ret_nr) {
    unsigned char length[SEEP_NOISE_LENGTH_BYTES];
    struct seep_error *error = read_raw(client, length, sizeof(length), wait_ms);
    if (error)
        return error;
    *ret_nr = (size_t)(length[0] | length[1] << 8);
    return read_raw(client, client->record, *ret_nr, ANSWER_MS);
}

static struct seep_error *read_all(struct seep_wire_client *client, unsigned char *bytes, size_t nr,
                                   int64_t wait_ms) {
    if (!client->noise)
        return read_raw(client, bytes, nr, wait_ms);
    for (size_t got = 0; got < nr;) {
        if (client->record_at == client->nr_record) {
            size_t sealed = 0;
            client->nr_record = client->record_at = 0;
            struct seep_error *error = read_record(client, wait_ms, &sealed);
            if (error)
                return error;
            if (!seep_noise_unseal(client->noise, client->record, sealed, &client->nr_record)) {
                client->nr_record = 0;
                return broken(client, "has bytes that the server did not send so");
            }
            continue;
        }
        size_t piece = SEEP_MIN(nr - got, client->nr_record - client->record_at);
        memcpy(bytes + got, client->record + client->record_at, piece);
        client->record_at += piece;
        got += piece;
    }
    return NULL;
}

// One frame, as it was before it was packed. *ret_owned is freed by the caller.
static struct seep_error *read_frame(struct seep_wire_client *client, int64_t wait_ms,
                                     struct seep_wire_head *ret_head, const unsigned char **ret_bytes,
                                     size_t *ret_nr, unsigned char **ret_owned) {
    unsigned char head[SEEP_WIRE_HEAD_BYTES];
    struct seep_error *error = read_all(client, head, sizeof(head), wait_ms);
    if (error)
        return error;
    *ret_head = seep_wire_head_of(head);
    if (ret_head->nr_bytes > SEEP_WIRE_FRAME_MAX)
        return seep_error_create(SEEP_E_FORMAT, "%s: a frame that is too large, or no server of seep",
                                 client->name);
    if (!seep_grow(&client->frame, &client->frame_capacity, SEEP_MAX(ret_head->nr_bytes, 1u), 1))
        return seep_error_no_memory();
    error = read_all(client, client->frame, ret_head->nr_bytes, ANSWER_MS);
    return error ? error : seep_wire_unpack(ret_head, client->frame, ret_bytes, ret_nr, ret_owned);
}

// ---- connecting ----

static struct seep_error *greet(struct seep_wire_client *client) {
    struct seep_put payload = {NULL}, out = {NULL};
    seep_wire_hello_put(&payload);
    struct seep_error *error = seep_wire_put(&out, SEEP_WIRE_HELLO, 0, &payload, false);
    if (!error)
        error = write_all(client, out.bytes, out.used);
    seep_put_deinit(&payload);
    seep_put_deinit(&out);
    struct seep_wire_head head;
    const unsigned char *bytes;
    size_t nr;
    unsigned char *owned = NULL;
    if (!error)
        error = read_frame(client, GREETING_MS, &head, &bytes, &nr, &owned);
    struct seep_wire_hello hello;
    if (!error && head.type != SEEP_WIRE_HELLO)
        error = seep_error_create(SEEP_E_FORMAT, "%s: no greeting", client->name);
    if (!error)
        error = seep_wire_hello_take(bytes, nr, &hello);
    if (!error)
        client->takes = hello.takes;
    free(owned);
    return error;
}

// Both show that they have the key. A server that has another one leaves without a word.
static struct seep_error *lock(struct seep_wire_client *client) {
    struct seep_put hello = {NULL}, none = {NULL};
    size_t nr = 0;
    if (!client->record && !(client->record = malloc(SEEP_NOISE_RECORD_MOST)))
        return seep_error_no_memory();
    struct seep_noise *noise = NULL;
    struct seep_error *error = seep_noise_create(true, (const unsigned char *)SEEP_WIRE_MAGIC,
                                                 SEEP_WIRE_MAGIC_BYTES, client->key, &noise);
    if (!error)
        error = seep_noise_hello_put(noise, NULL, 0, &hello);
    if (!error)
        error = write_record(client, &hello);
    bool asked = !error;
    if (!error)
        error = read_record(client, LOCK_MS, &nr);
    bool interrupted = error && error->code == SEEP_E_UNSUPPORTED;
    if (asked && !interrupted && (error || !seep_noise_hello_take(noise, client->record, nr, &none))) {
        seep_error_destroy(error);
        error =
            seep_error_hint(seep_error_create(SEEP_E_PERMISSION,
                                              "%s: there is no server of seep with this key", client->name),
                            "--key names the file that the server has, or a copy");
    }
    seep_put_deinit(&hello);
    seep_put_deinit(&none);
    if (error)
        seep_noise_destroy(noise);
    else
        client->noise = noise;
    return error;
}

static bool wait_is_over(void *client) {
    return is_over(client);
}

static struct seep_error *connect_tcp(struct seep_wire_client *client) {
    const struct seep_network_wait wait = {wait_is_over, client};
    struct seep_error *error = seep_network_connect(client->address.rest, &wait, &client->in_fd);
    client->out_fd = client->in_fd;
    return error ? error : lock(client);
}

static struct seep_error *connect_to(struct seep_wire_client *client) {
    enum seep_wire_kind kind = client->address.kind;
    client->stream = 0;
    struct seep_error *error = kind == SEEP_WIRE_KIND_TCP    ? connect_tcp(client)
                               : kind == SEEP_WIRE_KIND_UNIX ? connect_unix(client, client->address.rest)
                                                             : connect_program(client);
    if (!error)
        error = greet(client);
    if (error && is_over(client)) {
        seep_error_destroy(error);
        error = interrupted();
        disconnect(client);
        return error;
    }
    if (error && client->program && !error->hint)
        error = seep_error_hint(
            error, "%s",
            kind == SEEP_WIRE_KIND_SSH
                ? "ssh has said why; the other machine needs seep or seep-agent in the PATH that ssh gives"
                : "the command has to run 'seep serve --listen stdio PID' on its standard streams");
    if (error && kind == SEEP_WIRE_KIND_UNIX && !error->hint && is_of_another_user(client->in_fd))
        error = seep_error_hint(error, OTHER_USER_HINT);
    if (error)
        disconnect(client);
    return error;
}

static struct seep_error *read_key(struct seep_wire_client *client, const char *file) {
    bool network = client->address.kind == SEEP_WIRE_KIND_TCP, made;
    if (network && !file)
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "%s: a network needs a key", client->name),
                               "--key FILE, that of the server or a copy");
    if (!network && file)
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "--key is for tcp:HOST:PORT"),
                               "leave it out: other links need no key of seep");
    return file ? seep_noise_key_read(file, false, client->key, &made) : NULL;
}

struct seep_error *seep_wire_client_create(const char *name, const char *key_file,
                                           struct seep_wire_client **ret_client) {
    struct seep_wire_client *client = calloc(1, sizeof(*client));
    if (!client)
        return seep_error_no_memory();
    client->in_fd = client->out_fd = -1;
    pthread_mutex_init(&client->lock, NULL);
    client->name = strdup(name);
    struct seep_error *error = client->name ? seep_replica_create(&client->replica) : seep_error_no_memory();
    if (!error)
        error = seep_wire_address_parse(client->name, &client->address);
    if (!error)
        error = read_key(client, key_file);
    if (!error)
        error = connect_to(client);
    if (error) {
        seep_wire_client_destroy(client);
        return error;
    }
    *ret_client = client;
    return NULL;
}

void seep_wire_client_destroy(struct seep_wire_client *client) {
    if (!client)
        return;
    disconnect(client);
    seep_replica_destroy(client->replica);
    pthread_mutex_destroy(&client->lock);
    free(client->name);
    explicit_bzero(client->key, sizeof(client->key));
    free(client->record);
    free(client->frame);
    free(client);
}

// ---- questions ----

static struct seep_error *ask(struct seep_wire_client *client, enum seep_wire_type type,
                              const struct seep_put *payload) {
    struct seep_put out = {NULL};
    client->cancelled = false;
    if (++client->stream == 0) // that of the greeting
        client->stream = 1;
    struct seep_error *error = seep_wire_put(&out, type, client->stream, payload, false);
    if (!error)
        error = write_all(client, out.bytes, out.used);
    seep_put_deinit(&out);
    return error;
}

static struct seep_error *error_of(const unsigned char *bytes, size_t nr) {
    struct seep_take take = {bytes, bytes + nr, false};
    size_t length = 0, hint_length = 0;
    uint64_t code = seep_take_leb(&take);
    const char *text = seep_take_text(&take, &length), *hint = seep_take_text(&take, &hint_length);
    if (take.failed || !length)
        return seep_error_create(SEEP_E_UNSUPPORTED, "the server could not, and does not say why");
    struct seep_error *error = seep_error_create(
        code <= SEEP_E_MEMORY && code != SEEP_E_IO && code != SEEP_E_FORMAT ? (enum seep_error_code)code
                                                                            : SEEP_E_UNSUPPORTED,
        "%.*s", (int)SEEP_MIN(length, (size_t)500), text);
    return hint ? seep_error_hint(error, "%.*s", (int)SEEP_MIN(hint_length, (size_t)500), hint) : error;
}

typedef struct seep_error *(*take_frame)(void *data, uint8_t type, const unsigned char *bytes, size_t nr,
                                         bool *ret_ended);

static struct seep_error *receive(struct seep_wire_client *client, take_frame take, void *data) {
    struct seep_error *error = NULL;
    uint64_t sum = 0;
    for (bool ended = false; !error && !ended;) {
        struct seep_wire_head head;
        const unsigned char *bytes;
        size_t nr;
        unsigned char *owned = NULL;
        error = read_frame(client, ANSWER_MS, &head, &bytes, &nr, &owned);
        if (error)
            break;
        sum += nr;
        if (sum > SEEP_WIRE_ANSWER_MAX)
            error = seep_error_create(SEEP_E_FORMAT, "%s: an answer without an end", client->name);
        else if (head.stream != client->stream)
            error = seep_error_create(SEEP_E_FORMAT, "%s: an answer to another question", client->name);
        else if (head.type < SEEP_WIRE_LOOK)
            error = seep_error_hint(
                seep_error_create(SEEP_E_FORMAT, "%s: it sends a question, not an answer", client->name),
                "the other side has to run 'seep serve' or 'seep-agent serve'");
        else if (head.type == SEEP_WIRE_ERROR)
            error = error_of(bytes, nr), ended = true;
        else
            error = take(data, head.type, bytes, nr, &ended);
        free(owned);
        if (head.type == SEEP_WIRE_ERROR)
            return error;
    }
    if (error) // where it stopped is not known
        disconnect(client);
    return error;
}

static struct seep_error *question(struct seep_wire_client *client, enum seep_wire_type type,
                                   const struct seep_put *payload, take_frame take, void *data) {
    struct seep_error *error = client->in_fd < 0 ? connect_to(client) : NULL;
    if (!error)
        error = ask(client, type, payload);
    if (!error)
        return receive(client, take, data);
    disconnect(client);
    return error;
}

static struct seep_error *take_replica(void *data, uint8_t type, const unsigned char *bytes, size_t nr,
                                       bool *ret_ended) {
    return seep_replica_take(data, type, bytes, nr, ret_ended);
}

static struct seep_error *pull_once(struct seep_wire_client *client) {
    struct seep_wire_pull *pull = NULL;
    struct seep_put payload = {NULL};
    // A broken link is made anew first: its server may be another one, of another build.
    struct seep_error *error = client->in_fd < 0 ? connect_to(client) : NULL;
    if (!error)
        error = seep_replica_ask(
            client->replica,
            client->takes & SEEP_WIRE_TAKES_MANY ? SEEP_WIRE_IMAGES_MAX : SEEP_WIRE_IMAGES_OLD, &pull);
    if (error)
        return error;
    seep_wire_pull_put(&payload, pull);
    free(pull);
    error = question(client, SEEP_WIRE_PULL, &payload, take_replica, client->replica);
    seep_put_deinit(&payload);
    return error;
}

struct seep_error *seep_wire_client_pull(struct seep_wire_client *client, struct seep_session **ret_session,
                                         struct seep_wire_look *ret_look) {
    pthread_mutex_lock(&client->lock);
    struct seep_error *error = pull_once(client);
    if (error && (error->code == SEEP_E_IO || error->code == SEEP_E_FORMAT)) {
        seep_error_destroy(error);
        error = pull_once(client);
    }
    if (!error)
        error = seep_replica_session(client->replica, ret_session);
    if (!error)
        *ret_look = *seep_replica_look(client->replica);
    pthread_mutex_unlock(&client->lock);
    return error;
}

struct trace_answer {
    struct seep_put put;
    uint64_t most; // bytes
};

static struct seep_error *take_trace(void *data, uint8_t type, const unsigned char *bytes, size_t nr,
                                     bool *ret_ended) {
    struct trace_answer *trace = data;
    *ret_ended = type == SEEP_WIRE_END;
    if (type == SEEP_WIRE_BYTES && nr > trace->most - trace->put.used)
        return seep_error_hint(seep_error_create(SEEP_E_FORMAT,
                                                 "the server's answer has more than %" PRIu64
                                                 " MiB, too many for the sites and blocks that it told of",
                                                 trace->most >> 20),
                               "if the program has grown since, look again");
    if (type == SEEP_WIRE_BYTES)
        seep_put_bytes(&trace->put, bytes, nr);
    return trace->put.failed ? seep_error_no_memory() : NULL;
}

static struct seep_error *ask_trace(struct seep_wire_client *client, enum seep_wire_type type,
                                    const struct seep_put *payload, unsigned char **ret_bytes,
                                    size_t *ret_nr) {
    struct trace_answer trace = {{NULL}, .most = SEEP_WIRE_ANSWER_MAX};
    pthread_mutex_lock(&client->lock);
    uint64_t more = seep_replica_trace_bytes(client->replica);
    if (more < SEEP_WIRE_ANSWER_MAX - TRACE_LEAST)
        trace.most = TRACE_LEAST + more;
    struct seep_error *error = question(client, type, payload, take_trace, &trace);
    pthread_mutex_unlock(&client->lock);
    if (error) {
        seep_put_deinit(&trace.put);
        return error;
    }
    *ret_bytes = trace.put.bytes;
    *ret_nr = trace.put.used;
    return NULL;
}

struct seep_error *seep_wire_client_trace(struct seep_wire_client *client, bool scan,
                                          unsigned char **ret_bytes, size_t *ret_nr) {
    struct seep_put nothing = {NULL};
    return ask_trace(client, scan ? SEEP_WIRE_SCAN : SEEP_WIRE_SNAPSHOT, &nothing, ret_bytes, ret_nr);
}

struct seep_error *seep_wire_client_top(struct seep_wire_client *client, uint32_t nr,
                                        unsigned char **ret_bytes, size_t *ret_nr) {
    struct seep_put payload = {NULL};
    seep_put_leb(&payload, nr);
    struct seep_error *error = ask_trace(client, SEEP_WIRE_TOP, &payload, ret_bytes, ret_nr);
    seep_put_deinit(&payload);
    return error;
}

struct page {
    struct seep_wire_block *blocks;
    size_t nr;
    size_t capacity;
    uint64_t most; // that were asked for
    uint64_t nr_all;
};

static struct seep_error *take_page(void *data, uint8_t type, const unsigned char *bytes, size_t nr,
                                    bool *ret_ended) {
    struct page *page = data;
    struct seep_take take = {bytes, bytes + nr, false};
    *ret_ended = type == SEEP_WIRE_END;
    if (type != SEEP_WIRE_BLOCKS)
        return NULL;
    page->nr_all = seep_take_leb(&take);
    while (take.at < take.end && !take.failed) {
        if (page->nr >= page->most)
            return seep_error_create(SEEP_E_FORMAT, "more blocks than were asked for");
        if (!seep_grow(&page->blocks, &page->capacity, page->nr + 1, sizeof(*page->blocks)))
            return seep_error_no_memory();
        struct seep_wire_block *block = &page->blocks[page->nr++];
        block->process = seep_take_leb(&take);
        block->address = seep_take_leb(&take);
        block->size = seep_take_leb(&take);
        block->site = seep_take_leb(&take);
        block->age_ns = seep_take_zigzag(&take);
    }
    return take.failed ? seep_error_create(SEEP_E_FORMAT, "blocks that are cut") : NULL;
}

struct seep_error *seep_wire_client_blocks(struct seep_wire_client *client, uint64_t process, uint64_t site,
                                           uint64_t first, uint64_t nr, struct seep_wire_block **ret_blocks,
                                           size_t *ret_nr, uint64_t *ret_all) {
    struct seep_put payload = {NULL};
    struct page page = {.most = nr};
    seep_put_leb(&payload, process);
    seep_put_leb(&payload, site);
    seep_put_leb(&payload, first);
    seep_put_leb(&payload, nr);
    pthread_mutex_lock(&client->lock);
    struct seep_error *error = question(client, SEEP_WIRE_PAGE, &payload, take_page, &page);
    pthread_mutex_unlock(&client->lock);
    seep_put_deinit(&payload);
    if (error) {
        free(page.blocks);
        return error;
    }
    *ret_blocks = page.blocks;
    *ret_nr = page.nr;
    *ret_all = page.nr_all;
    return NULL;
}

void seep_wire_client_stop_by(struct seep_wire_client *client, const volatile sig_atomic_t *stop) {
    client->stop = stop;
}

void seep_wire_client_leave(struct seep_wire_client *client) {
    if (client)
        atomic_store_explicit(&client->leaves, true, memory_order_relaxed);
}

static struct seep_error *take_done(void *data, uint8_t type, const unsigned char *bytes, size_t nr,
                                    bool *ret_ended) {
    *ret_ended = type == SEEP_WIRE_END;
    return NULL;
}

struct seep_error *seep_wire_client_mark(struct seep_wire_client *client, const char *name) {
    struct seep_put payload = {NULL};
    seep_put_text(&payload, name);
    pthread_mutex_lock(&client->lock);
    struct seep_error *error = question(client, SEEP_WIRE_MARK, &payload, take_done, NULL);
    pthread_mutex_unlock(&client->lock);
    seep_put_deinit(&payload);
    return error;
}

static struct seep_error *take_flag(void *data, uint8_t type, const unsigned char *bytes, size_t nr,
                                    bool *ret_ended) {
    struct seep_take take = {bytes, bytes + nr, false};
    *ret_ended = type == SEEP_WIRE_END;
    if (*ret_ended)
        *(bool *)data = seep_take_leb(&take) != 0 && !take.failed;
    return NULL;
}

struct seep_error *seep_wire_client_control(struct seep_wire_client *client, uint64_t recording,
                                            uint64_t depth, bool *ret_done) {
    struct seep_put payload = {NULL};
    seep_put_leb(&payload, recording);
    seep_put_leb(&payload, depth);
    pthread_mutex_lock(&client->lock);
    struct seep_error *error = question(client, SEEP_WIRE_CONTROL, &payload, take_flag, ret_done);
    pthread_mutex_unlock(&client->lock);
    seep_put_deinit(&payload);
    return error;
}
