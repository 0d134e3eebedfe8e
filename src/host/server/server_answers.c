// SPDX-License-Identifier: BSD-2-Clause
// What the server answers, see server_client.h.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "file/session_file.h"
#include "server/block_page.h"
#include "server/server_client.h"
#include "server/top_sites.h"
#include "live/look_images.h"
#include "live/look_process.h"
#include "session/mark_live.h"

#define TRACE_PIECE (16u << 10) // bytes of a trace in a frame

// ---- looks ----

size_t seep_server_nr_asking(const struct seep_server *server) {
    int64_t since_ns = seep_monotonic_ns() - SEEP_SERVER_ASKS_NS;
    size_t nr = 0;
    for (size_t i = 0; i < server->nr_clients; i++)
        nr += server->clients[i]->taken_ns > since_ns;
    return nr;
}

// Whether the client pulls again and again, and the look was made since its latest Pull.
static bool is_news(const struct seep_server *server, const struct seep_server_client *client) {
    return client && client->pulled_ns && client->pulled_ns < server->look.at_ns &&
           seep_monotonic_ns() - client->pulled_ns < SEEP_SERVER_ASKS_NS;
}

// Questions at nearly the same time share one look. The more clients ask, the longer a look serves them. A
// large image is not looked at all the time. Where many ask, a look that is news to a client serves it: so
// the server looks about as often as one of them asks, the one that asks most often.
static int64_t look_serves_ns(const struct seep_server *server, const struct seep_server_client *client) {
    size_t nr_asking = seep_server_nr_asking(server);
    int64_t serves_ns = SEEP_SERVER_LOOK_NS * (int64_t)SEEP_MAX(nr_asking, (size_t)1);
    if (nr_asking >= SEEP_SERVER_MANY && is_news(server, client))
        serves_ns = SEEP_SERVER_LOOK_MOST_NS;
    return SEEP_MAX(SEEP_MIN(serves_ns, SEEP_SERVER_LOOK_MOST_NS), 4 * server->look.took_ns);
}

struct seep_error *seep_server_look_again(struct seep_server *server,
                                          const struct seep_server_client *pulls) {
    if (server->look.nr &&
        (server->look.ended || seep_monotonic_ns() - server->look.at_ns < look_serves_ns(server, pulls)))
        return NULL;
    struct seep_error *error =
        seep_images_take(server->source, &server->look, seep_deltas_next(server->deltas));
    if (!error) {
        seep_server_drop_shared(server);
        return seep_deltas_take(server->deltas, server->look.items, server->look.nr);
    }
    if (!server->look.nr)
        return error;
    seep_error_destroy(error); // during an exec, for example: the last look stays
    return NULL;
}

// ---- answers ----

// The part of the look that the client can take: an older client takes no more than 256 processes. Borrowed.
static struct seep_images shown_to(const struct seep_server *server,
                                   const struct seep_server_client *client) {
    struct seep_images shown = server->look;
    if (!(client->takes & SEEP_WIRE_TAKES_MANY))
        shown.nr = SEEP_MIN(shown.nr, (size_t)SEEP_WIRE_IMAGES_OLD);
    shown.nr_unseen += server->look.nr - shown.nr;
    return shown;
}

static struct seep_error *make_pull(struct seep_server *server, struct seep_server_client *client,
                                    uint16_t stream, const struct seep_wire_pull *pull) {
    const struct seep_images now = shown_to(server, client);
    struct seep_wire_look look = {.ended = now.ended,
                                  .rss_bytes = now.rss_bytes,
                                  .used_bytes = now.used_bytes,
                                  .limit_bytes = now.limit_bytes,
                                  .limit = now.limit,
                                  .nr_threads = now.nr_threads,
                                  .nr_unseen = now.nr_unseen};
    return seep_deltas_answer(server->deltas, now.items, now.nr, &look, pull, stream, client->takes,
                              &client->out);
}

static const struct seep_server_shared *find_shared(const struct seep_server *server, uint64_t takes,
                                                    const unsigned char *bytes, size_t nr) {
    for (size_t i = 0; i < SEEP_SERVER_SHARED; i++) {
        const struct seep_server_shared *shared = &server->shared[i];
        if (shared->epoch == seep_deltas_epoch(server->deltas) && shared->takes == takes &&
            shared->question.used == nr && memcmp(shared->question.bytes, bytes, nr) == 0)
            return shared;
    }
    return NULL;
}

static void answer_release(struct seep_server *server, struct seep_server_answer *answer) {
    if (!answer || --answer->users)
        return;
    server->untaken -= answer->frames.used;
    seep_put_deinit(&answer->frames);
    free(answer);
}

static void drop_shared(struct seep_server *server, struct seep_server_shared *shared) {
    seep_put_deinit(&shared->question);
    answer_release(server, shared->answer);
    *shared = (struct seep_server_shared){0};
}

void seep_server_drop_shared(struct seep_server *server) {
    for (size_t i = 0; i < SEEP_SERVER_SHARED; i++)
        drop_shared(server, &server->shared[i]);
}

// Clients in the same state ask with the same bytes.
static void share(struct seep_server *server, uint64_t takes, const unsigned char *bytes, size_t nr,
                  struct seep_server_answer *answer) {
    struct seep_server_shared *shared = &server->shared[server->next_shared++ % SEEP_SERVER_SHARED];
    drop_shared(server, shared);
    seep_put_bytes(&shared->question, bytes, nr);
    if (shared->question.failed) {
        drop_shared(server, shared);
        return;
    }
    answer->users++;
    shared->answer = answer;
    shared->takes = takes;
    shared->epoch = seep_deltas_epoch(server->deltas);
}

// Disconnects clients that have read nothing of their answer for long.
static void leave_stalled(struct seep_server *server) {
    int64_t now_ns = seep_monotonic_ns();
    for (size_t i = 0; i < server->nr_clients; i++) {
        struct seep_server_client *client = server->clients[i];
        if (client->rest && now_ns - client->taken_ns > SEEP_SERVER_STALL_NS) {
            seep_server_drop_rest(server, client);
            shutdown(client->out_fd, SHUT_RDWR); // its event closes it
        }
    }
}

// Bytes of the answers that clients have not read, without the longest: over a slow link it takes minutes.
static uint64_t beside_longest(const struct seep_server *server) {
    uint64_t longest = 0;
    for (size_t i = 0; i < server->nr_clients; i++)
        if (server->clients[i]->rest)
            longest = SEEP_MAX(longest, (uint64_t)server->clients[i]->rest->frames.used);
    return server->untaken - longest;
}

static bool is_too_much(const struct seep_server *server) {
    return server->untaken > SEEP_SERVER_SHARED_MOST && beside_longest(server) > SEEP_SERVER_UNTAKEN;
}

// Whether an answer has to wait until other clients have read theirs.
static bool is_short(struct seep_server *server) {
    if (!is_too_much(server))
        return false;
    seep_server_drop_shared(server);
    leave_stalled(server);
    return is_too_much(server);
}

// Whether a Pull has waited for room longer than the one at this place (0: it has not waited). Else a client
// that asks again and again would take the room each time.
static bool is_another_first(const struct seep_server *server, uint64_t place) {
    for (size_t i = 0; i < server->nr_clients; i++)
        if (server->clients[i]->waits && (!place || server->clients[i]->waits < place))
            return true;
    return false;
}

// Takes the frames from client->out, so that other clients can share them.
static struct seep_error *answer_of(struct seep_server *server, struct seep_server_client *client,
                                    struct seep_server_answer **ret_answer) {
    const uint64_t nr = client->out.used;
    struct seep_server_answer *answer = malloc(sizeof(*answer));
    unsigned char *bytes = answer ? realloc(client->out.bytes, nr) : NULL;
    if (!bytes) {
        free(answer);
        seep_put_deinit(&client->out);
        return seep_error_no_memory();
    }
    *answer = (struct seep_server_answer){1, {.bytes = bytes, .used = nr, .capacity = nr}};
    client->out = (struct seep_put){NULL};
    server->untaken += nr;
    *ret_answer = answer;
    return NULL;
}

bool seep_server_has_rest(const struct seep_server_client *client) {
    return client->rest || client->trace_fd >= 0;
}

void seep_server_drop_rest(struct seep_server *server, struct seep_server_client *client) {
    struct seep_server_answer *rest = client->rest;
    client->rest = NULL;
    if (rest && rest->users == 2 && rest->frames.used > SEEP_SERVER_SHARED_MOST)
        for (size_t i = 0; i < SEEP_SERVER_SHARED; i++) // only this client and that place have it
            if (server->shared[i].answer == rest)
                drop_shared(server, &server->shared[i]);
    answer_release(server, rest);
    if (client->trace_fd >= 0)
        close(client->trace_fd);
    client->trace_fd = -1;
}

size_t seep_server_rest_pieces(const struct seep_server_client *client, size_t most,
                               struct seep_server_pieces *ret_pieces) {
    const struct seep_put *frames = &client->rest->frames;
    size_t begin = client->rest_frame, at = client->rest_at, nr_bytes = 0;
    ret_pieces->nr = 0;
    for (size_t i = 0; i < SEEP_SERVER_PIECES && begin < frames->used && nr_bytes < most; i++) {
        struct seep_wire_head head = seep_wire_head_of(frames->bytes + begin);
        size_t payload = begin + SEEP_WIRE_HEAD_BYTES, end = payload + head.nr_bytes;
        if (at < payload) {
            head.stream = client->stream;
            seep_wire_head_put(ret_pieces->heads[i], &head);
            ret_pieces->items[ret_pieces->nr++] =
                (struct iovec){ret_pieces->heads[i] + (at - begin), payload - at};
            nr_bytes += payload - at;
            at = payload;
        }
        if (at < end)
            ret_pieces->items[ret_pieces->nr++] = (struct iovec){frames->bytes + at, end - at};
        nr_bytes += end - at;
        begin = at = end;
    }
    return nr_bytes;
}

void seep_server_rest_taken(struct seep_server *server, struct seep_server_client *client, size_t nr_bytes) {
    const struct seep_put *frames = &client->rest->frames;
    client->rest_at += nr_bytes;
    while (client->rest_frame < frames->used) {
        size_t end = client->rest_frame + SEEP_WIRE_HEAD_BYTES +
                     seep_wire_head_of(frames->bytes + client->rest_frame).nr_bytes;
        if (end > client->rest_at)
            return;
        client->rest_frame = end;
    }
    seep_server_drop_rest(server, client);
}

// Copies the shared frame that the client has a part of into its own buffer.
static void keep_begun_frame(struct seep_server_client *client) {
    if (!client->rest || client->rest_at == client->rest_frame)
        return;
    const unsigned char *bytes = client->rest->frames.bytes + client->rest_frame;
    struct seep_wire_head head = seep_wire_head_of(bytes);
    seep_put_bytes(&client->out, bytes, SEEP_WIRE_HEAD_BYTES + head.nr_bytes);
    if (client->out.failed)
        return;
    head.stream = client->stream;
    seep_wire_head_put(client->out.bytes, &head);
    client->sent = client->rest_at - client->rest_frame;
}

// The next bytes of a trace, which is packed already; at its end, End.
bool seep_server_put_trace_piece(struct seep_server *server, struct seep_server_client *client) {
    struct seep_put payload = {NULL};
    ssize_t nr = seep_put_room(&payload, TRACE_PIECE)
                     ? pread(client->trace_fd, payload.bytes, TRACE_PIECE, client->trace_at)
                     : -1;
    payload.used = nr > 0 ? (size_t)nr : 0;
    client->trace_at += nr;
    struct seep_error *error = nr < 0 ? seep_error_no_memory()
                                      : seep_wire_put(&client->out, nr ? SEEP_WIRE_BYTES : SEEP_WIRE_END,
                                                      client->stream, &payload, false);
    bool good = !error;
    seep_error_destroy(error);
    seep_put_deinit(&payload);
    if (!nr)
        seep_server_drop_rest(server, client);
    return good;
}

static struct seep_error *answer_pull(struct seep_server *server, struct seep_server_client *client,
                                      uint16_t stream, const unsigned char *bytes, size_t nr) {
    struct seep_error *error = seep_server_look_again(server, client);
    client->pulled_ns = seep_monotonic_ns();
    server->has_pulled = true;
    uint64_t place = client->waits;
    client->waits = 0;
    if (error)
        return error;
    const struct seep_server_shared *shared = find_shared(server, client->takes, bytes, nr);
    struct seep_server_answer *answer = NULL;
    if (!shared && (is_short(server) || is_another_first(server, place))) {
        client->waits = place ? place : ++server->nr_waits;
        return NULL;
    }
    if (shared) {
        answer = shared->answer;
        answer->users++;
    } else {
        struct seep_wire_pull *pull = NULL;
        error = seep_wire_pull_take(bytes, nr, &pull);
        if (!error)
            error = make_pull(server, client, stream, pull);
        free(pull);
        if (!error && (server->nr_clients > 1 || client->out.used > SEEP_SERVER_SHARED_MOST))
            error = answer_of(server, client, &answer);
        if (answer)
            share(server, client->takes, bytes, nr, answer);
    }
    client->rest = answer;
    client->rest_at = client->rest_frame = 0;
    return error;
}

static void send_trace(struct seep_server_client *client, int fd) {
    client->trace_fd = fd;
    client->trace_at = 0;
}

// ---- what takes long ----

// In the process of a job, which has a copy of every link: none of them may stay open for its sake.
static void leave_links(struct seep_server *server) {
    for (size_t i = 0; i < server->nr_clients; i++) {
        struct seep_server_client *client = server->clients[i];
        close(client->in_fd);
        if (client->out_fd != client->in_fd)
            close(client->out_fd);
    }
    if (server->listen_fd >= 0)
        close(server->listen_fd);
    close(server->epoll_fd);
    close(server->new_fd);
}

static struct seep_error *scan_to(struct seep_server *server, int fd) {
    struct seep_session *session = NULL;
    struct seep_error *error = seep_look_scan(server->source->pid, &session);
    if (!error)
        error = seep_session_save_fd(session, fd, "the answer");
    seep_session_destroy(session);
    return error;
}

static struct seep_error *work_at_scan(void *data, int fd) {
    leave_links(data);
    return scan_to(data, fd);
}

static struct seep_error *work_at_snapshot(void *data, int fd) {
    struct seep_server *server = data;
    struct seep_session *session = NULL;
    leave_links(server);
    struct seep_error *error = seep_images_session(&server->look, &session);
    if (!error)
        error = seep_session_save_fd(session, fd, "the answer");
    seep_session_destroy(session);
    return error;
}

static struct seep_error *begin_scan(struct seep_server *server, struct seep_server_client *client) {
    if (server->look.ended)
        return seep_error_create(SEEP_E_UNSUPPORTED, "the program has ended");
    client->job_is_scan = true;
    return seep_server_job_start(work_at_scan, server, &client->job);
}

static struct seep_error *begin_snapshot(struct seep_server *server, struct seep_server_client *client) {
    struct seep_error *error = seep_server_look_again(server, NULL);
    client->job_is_scan = false;
    return error ? error : seep_server_job_start(work_at_snapshot, server, &client->job);
}

// Where only an ancestor may stop the process (Yama), a process of ours is none: then we do it ourselves.
static struct seep_error *scan_here(struct seep_server *server, int *ret_fd) {
    *ret_fd = memfd_create("seep-answer", MFD_CLOEXEC);
    if (*ret_fd < 0)
        return seep_error_system(errno, "no memory file for an answer");
    struct seep_error *error = scan_to(server, *ret_fd);
    if (error)
        close(*ret_fd);
    return error;
}

static void answer_error(struct seep_server_client *client, uint16_t stream, struct seep_error *error);

static void unwatch_job(struct seep_server_client *client) {
    seep_error_destroy(seep_server_watch_set(client->epoll_fd, &client->watch_job, -1, 0));
}

void seep_server_drop_job(struct seep_server_client *client) {
    unwatch_job(client);
    seep_server_job_kill(&client->job);
}

void seep_server_answer_job(struct seep_server *server, struct seep_server_client *client) {
    int fd = -1;
    unwatch_job(client);
    struct seep_error *error = seep_server_job_end(&client->job, &fd);
    if (error && error->code == SEEP_E_PERMISSION && client->job_is_scan) {
        seep_error_destroy(error);
        error = scan_here(server, &fd);
    }
    if (error)
        answer_error(client, client->stream, error);
    else
        send_trace(client, fd);
}

// A frame that was begun is sent whole; of those behind it none.
void seep_server_cancel(struct seep_server *server, struct seep_server_client *client, uint16_t stream) {
    if (stream != client->stream ||
        (!client->waits && !client->job.pid && !client->out.used && !seep_server_has_rest(client)))
        return; // that answer is over
    client->waits = 0;
    seep_server_drop_job(client);
    keep_begun_frame(client);
    seep_server_drop_rest(server, client);
    size_t end = 0;
    while (end < client->sent && end + SEEP_WIRE_HEAD_BYTES <= client->out.used)
        end += SEEP_WIRE_HEAD_BYTES + seep_wire_head_of(client->out.bytes + end).nr_bytes;
    client->out.used = SEEP_MIN(end, client->out.used);
    answer_error(client, stream, seep_error_create(SEEP_E_UNSUPPORTED, "it was interrupted"));
}

// ---- the first of it, and parts ----

static struct seep_error *answer_top(struct seep_server *server, struct seep_server_client *client,
                                     const unsigned char *bytes, size_t nr) {
    struct seep_take take = {bytes, bytes + nr, false};
    uint64_t most = seep_take_leb(&take);
    struct seep_session *top = NULL;
    if (take.failed || !most || most > SEEP_SERVER_TOP_MOST)
        return seep_error_create(SEEP_E_USAGE, "1 to %u sites", SEEP_SERVER_TOP_MOST);
    int fd = memfd_create("seep-answer", MFD_CLOEXEC);
    if (fd < 0)
        return seep_error_system(errno, "no memory file for an answer");
    struct seep_error *error = seep_server_look_again(server, NULL);
    const struct seep_images shown = shown_to(server, client);
    if (!error)
        error = seep_server_top_make(&shown, (uint32_t)most, &top);
    if (!error)
        error = seep_session_save_fd(top, fd, "the answer");
    seep_session_destroy(top);
    if (error)
        close(fd);
    else
        send_trace(client, fd);
    return error;
}

static struct seep_error *blocks_of(const void *process, seep_block_visit *visit, void *data) {
    return seep_image_look_blocks(process, visit, data);
}

static struct seep_error *answer_blocks(struct seep_server *server, struct seep_server_client *client,
                                        uint16_t stream, const unsigned char *bytes, size_t nr_bytes) {
    struct seep_take take = {bytes, bytes + nr_bytes, false};
    uint64_t process = seep_take_leb(&take), site = seep_take_leb(&take);
    uint64_t first = seep_take_leb(&take), nr = seep_take_leb(&take);
    struct seep_server_page page;
    if (take.failed || nr > SEEP_SERVER_PAGE_MOST)
        return seep_error_create(SEEP_E_USAGE, "a page has at most %u blocks", SEEP_SERVER_PAGE_MOST);
    struct seep_error *error = seep_server_look_again(server, NULL);
    const struct seep_images shown = shown_to(server, client);
    if (!error)
        error = seep_server_page_make(blocks_of, (const void *const *)shown.items, shown.nr, process, site,
                                      first, nr, &page);
    if (error)
        return error;
    struct seep_put payload = {NULL};
    seep_put_leb(&payload, page.nr_all);
    for (size_t i = 0; i < page.nr_blocks; i++) {
        const struct seep_block *block = &page.blocks[i].block;
        seep_put_leb(&payload, page.blocks[i].process);
        seep_put_leb(&payload, block->address);
        seep_put_leb(&payload, block->size);
        seep_put_leb(&payload, block->site);
        seep_put_zigzag(&payload, block->age_ns);
    }
    free(page.blocks);
    error =
        seep_wire_put(&client->out, SEEP_WIRE_BLOCKS, stream, &payload, client->takes & SEEP_WIRE_TAKES_ZSTD);
    payload.used = 0;
    if (!error)
        error = seep_wire_put(&client->out, SEEP_WIRE_END, stream, &payload, false);
    seep_put_deinit(&payload);
    return error;
}

static struct seep_error *answer_mark(struct seep_server *server, struct seep_server_client *client,
                                      uint16_t stream, const unsigned char *bytes, size_t nr) {
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

static struct seep_error *answer_control(struct seep_server *server, struct seep_server_client *client,
                                         uint16_t stream, const unsigned char *bytes, size_t nr) {
    struct seep_take take = {bytes, bytes + nr, false};
    uint64_t recording = seep_take_leb(&take), depth = seep_take_leb(&take);
    bool done = false;
    if (take.failed || recording > SEEP_RECORDING_START || depth > SEEP_CONTROL_DEPTH_MOST)
        return seep_error_create(SEEP_E_USAGE, "what is to be recorded is not known here");
    struct seep_image_control asked = {(enum seep_image_recording)recording, (uint32_t)depth};
    struct seep_error *error = server->look.ended
                                   ? seep_error_create(SEEP_E_UNSUPPORTED, "the program has ended")
                                   : seep_images_control(&server->look, &asked, &done);
    struct seep_put payload = {NULL};
    seep_put_leb(&payload, done);
    if (!error)
        error = seep_wire_put(&client->out, SEEP_WIRE_END, stream, &payload, false);
    seep_put_deinit(&payload);
    return error;
}

static void answer_error(struct seep_server_client *client, uint16_t stream, struct seep_error *error) {
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
static struct seep_error *answer_hello(struct seep_server_client *client, const unsigned char *bytes,
                                       size_t nr) {
    struct seep_put payload = {NULL};
    struct seep_wire_hello hello = {0};
    seep_wire_hello_put(&payload);
    struct seep_error *error = seep_wire_put(&client->out, SEEP_WIRE_HELLO, 0, &payload, false);
    seep_put_deinit(&payload);
    if (!error)
        error = seep_wire_hello_take(bytes, nr, &hello);
    client->takes = hello.takes & (SEEP_WIRE_TAKES_ZSTD | SEEP_WIRE_TAKES_CHANGES | SEEP_WIRE_TAKES_MANY);
    client->greeted = !error;
    return error;
}

void seep_server_answer(struct seep_server *server, struct seep_server_client *client,
                        const struct seep_wire_head *head, const unsigned char *bytes) {
    struct seep_error *error = NULL;
    size_t nr = head->nr_bytes;
    client->stream = head->stream;
    client->may_wait = head->type == SEEP_WIRE_PULL;
    if (head->type != SEEP_WIRE_PULL) // what it asks next, after a mark for example, is of a new look
        client->pulled_ns = 0;
    server->nr_answered++;
    client->taken_ns = seep_monotonic_ns();
    if (head->flags)
        error = seep_error_create(SEEP_E_FORMAT, "a question with flags that are not known");
    else if (!client->greeted)
        error = head->type == SEEP_WIRE_HELLO
                    ? answer_hello(client, bytes, nr)
                    : seep_error_create(SEEP_E_FORMAT, "a question before the greeting");
    else if (head->type == SEEP_WIRE_PULL)
        error = answer_pull(server, client, head->stream, bytes, nr);
    else if (head->type == SEEP_WIRE_SNAPSHOT)
        error = begin_snapshot(server, client);
    else if (head->type == SEEP_WIRE_SCAN)
        error = begin_scan(server, client);
    else if (head->type == SEEP_WIRE_TOP)
        error = answer_top(server, client, bytes, nr);
    else if (head->type == SEEP_WIRE_PAGE)
        error = answer_blocks(server, client, head->stream, bytes, nr);
    else if (head->type == SEEP_WIRE_MARK)
        error = answer_mark(server, client, head->stream, bytes, nr);
    else if (head->type == SEEP_WIRE_CONTROL)
        error = answer_control(server, client, head->stream, bytes, nr);
    else
        error = seep_error_create(SEEP_E_UNSUPPORTED, "a question of kind %u is not known here", head->type);
    if (error)
        answer_error(client, head->stream, error);
}
