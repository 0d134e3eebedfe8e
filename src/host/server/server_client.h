// SPDX-License-Identifier: BSD-2-Clause
// What the files of the server share: clients, and what answers them.
#ifndef SEEP_SERVER_SERVER_CLIENT_H
#define SEEP_SERVER_SERVER_CLIENT_H

#include <sys/uio.h>

#include "live/look_images.h"
#include "server/server_job.h"
#include "server/server.h"
#include "server/server_watch.h"
#include "wire/noise.h"
#include "wire/wire.h"

#define SEEP_SERVER_SHARED      4u
#define SEEP_SERVER_SHARED_MOST (UINT64_C(256) << 10) // bytes of an answer that is kept for others
#define SEEP_SERVER_KEPT        (UINT64_C(2) << 10)   // bytes of its answer buffer that a client keeps
#define SEEP_SERVER_UNTAKEN     (UINT64_C(1) << 20)   // unread bytes, without the longest answer
#define SEEP_SERVER_STALL_NS    INT64_C(10000000000) // without reading, until such a client may be disconnected

#define SEEP_SERVER_PIECES 16u // frames of a shared answer that are written at once

// The frames of a long answer to a Pull, for each client that has asked the same of the same epoch. They are
// sent from here: a client has no copy.
struct seep_server_answer {
    unsigned users;
    struct seep_put frames;
};

struct seep_server_client {
    int in_fd;
    int out_fd;
    bool greeted;
    uint64_t takes;   // SEEP_WIRE_TAKES_*
    bool leaves;      // once its answer is sent
    bool has_ended;   // it sends no more
    int64_t until_ns; // to greet
    size_t nr_in;
    struct seep_put out;
    size_t sent;
    struct seep_server_answer *rest; // what comes after `out`; NULL: nothing
    size_t rest_at;                  // of its frames, the next byte to send
    size_t rest_frame;               // where the frame of that byte begins
    int trace_fd;                    // as `rest`, the bytes of a trace; -1: none
    off_t trace_at;
    int64_t taken_ns;         // when the client last read something, or asked
    int64_t pulled_ns;        // its latest question, a Pull; 0: another question, or none
    struct seep_noise *noise; // of a network; NULL: bytes are as they are
    unsigned char *sealed_in; // SEEP_NOISE_LENGTH_BYTES and a record, as it comes
    size_t nr_sealed_in;
    struct seep_put sealed_out; // a greeting or a record, as it goes
    size_t sealed_sent;
    uint16_t stream; // of the question that is being answered
    uint64_t waits;  // its Pull is in `in`, because there was no room for the answer: its place among those;
                     // 0: none
    struct seep_server_job job;
    bool job_is_scan;
    int epoll_fd; // of the server
    struct seep_server_watch watch_in, watch_out, watch_job;
    struct seep_server_watch watch_new; // of server->new_fd
    bool may_wait; // its latest question was a Pull: the next one may wait while the server rests
    bool is_due;   // it is in server->due
    size_t place;  // in server->clients
    // The last member, so that all others lie in one page.
    unsigned char in[SEEP_WIRE_HEAD_BYTES + SEEP_WIRE_ASK_MAX + SEEP_NOISE_RECORD_MOST];
};

// Frames of a shared answer, each as a head with the number of the client's question, and the shared payload.
struct seep_server_pieces {
    unsigned char heads[SEEP_SERVER_PIECES][SEEP_WIRE_HEAD_BYTES];
    struct iovec items[2 * SEEP_SERVER_PIECES];
    int nr;
};

// An answer to a Pull, for those who ask the same of the same epoch.
struct seep_server_shared {
    uint64_t epoch; // of the server; 0: none
    uint64_t takes;
    struct seep_put question;
    struct seep_server_answer *answer;
};

struct seep_server {
    const struct seep_live_source *source;
    struct seep_images look;
    struct seep_deltas *deltas;
    struct seep_server_shared shared[SEEP_SERVER_SHARED];
    unsigned next_shared;
    uint64_t untaken;     // bytes of long answers
    uint64_t nr_waits;    // of all time: Pulls that waited for room
    uint64_t nr_answered; // questions
    bool has_pulled;      // a Pull was answered, and all of the answer is sent
    int epoll_fd;
    int new_fd;    // an epoll that ends the server's rest: new clients, and those that may not wait
    int listen_fd; // -1: it does not
    struct seep_server_watch watch_listen, watch_listen_new;
    int64_t deaf_until_ns; // no client is accepted before: there was no descriptor for one
    bool lingers;
    bool lingers_ended; // it does so once the program has ended
    int64_t alone_ns; // since when it has no client, where it lingers; of `lingers_ended` and no program, too
    bool has_key;     // it listens on a network
    unsigned char key[SEEP_NOISE_KEY_BYTES];
    char path[108];
    bool has_path;
    ino_t path_ino; // of the socket at `path`
    struct seep_server_client *clients[SEEP_SERVER_CLIENTS];
    size_t nr_clients;
    struct seep_server_client *due[SEEP_SERVER_CLIENTS]; // with an event, or with more to do
    size_t nr_due;
    int64_t checked_ns; // whether clients have greeted
};

// Looks, unless the latest look is young enough for the client that pulls (NULL: for another question). Where
// a look fails and there is one before, that one stays.
SEEP_MUST_CHECK struct seep_error *seep_server_look_again(struct seep_server *server,
                                                          const struct seep_server_client *pulls);
// Clients whose latest question, or piece of an answer, is not older than SEEP_SERVER_ASKS_NS.
size_t seep_server_nr_asking(const struct seep_server *server);
// Puts the answer to one question, or the error, into what the client is to be sent.
void seep_server_answer(struct seep_server *server, struct seep_server_client *client,
                        const struct seep_wire_head *head, const unsigned char *bytes);
// The job of the client has ended: what it did is the answer.
void seep_server_answer_job(struct seep_server *server, struct seep_server_client *client);
// Ends the job that the client has, if any, without an answer.
void seep_server_drop_job(struct seep_server_client *client);
// Whether more of the answer comes after `out`.
bool seep_server_has_rest(const struct seep_server_client *client);
// The next frames of client->rest, until they have `most` bytes or more. Returns their bytes.
size_t seep_server_rest_pieces(const struct seep_server_client *client, size_t most,
                               struct seep_server_pieces *ret_pieces);
// So many of these bytes are sent.
void seep_server_rest_taken(struct seep_server *server, struct seep_server_client *client, size_t nr_bytes);
// Puts the next frame of the trace into `out`, which is empty. false: there is no memory.
bool seep_server_put_trace_piece(struct seep_server *server, struct seep_server_client *client);
// Drops the unsent part of a long answer, and the trace that is being sent.
void seep_server_drop_rest(struct seep_server *server, struct seep_server_client *client);
// Drops the answers that clients share.
void seep_server_drop_shared(struct seep_server *server);
// The client wants no more of the answer to this question.
void seep_server_cancel(struct seep_server *server, struct seep_server_client *client, uint16_t stream);

#endif
