// SPDX-License-Identifier: BSD-2-Clause
//
// The protocol of `seep serve`: frames, and what they hold. docs/protocol.md has it in words, complete enough
// to write a client from. The client asks and the server answers, so a slow client costs one answer and
// no other waits.
//
// Both sides check what they get: a frame has a limit, a list is as long as the bytes that it comes in allow.
#ifndef SEEP_WIRE_WIRE_H
#define SEEP_WIRE_WIRE_H

#include "base/error.h"
#include "base/map.h"
#include "base/records.h"
#include "profile/profile.h"
#include "source/image/image_look.h"

#define SEEP_WIRE_MAGIC       "SEEPWIRE"
#define SEEP_WIRE_MAGIC_BYTES 8u
#define SEEP_WIRE_VERSION     1u
#define SEEP_WIRE_HEAD_BYTES  8u
#define SEEP_WIRE_FRAME_MAX                                                                                  \
    (UINT32_C(1) << 20) // payload, as it is sent and as it is when it is not compressed
#define SEEP_WIRE_ASK_MAX    (UINT32_C(1) << 18) // payload of a client's frame
#define SEEP_WIRE_ANSWER_MAX (UINT64_C(1) << 30) // bytes of all frames of one answer
#define SEEP_WIRE_PACKED     1u // flag: a zstd frame behind the LEB of the bytes that it makes
// *takes* of Hello, of both sides.
#define SEEP_WIRE_TAKES_ZSTD    1u // packed frames
#define SEEP_WIRE_TAKES_CHANGES 2u // thread sites as enum seep_wire_thread_sites has them
#define SEEP_WIRE_TAKES_MANY    4u // more processes than SEEP_WIRE_IMAGES_OLD

// *first* of Thread sites.
enum seep_wire_thread_sites {
    SEEP_WIRE_THREADS_ALL,     // the figures of all items
    SEEP_WIRE_THREADS_CHANGED, // differences, of an answer whose Counters are differences
    SEEP_WIRE_THREADS_ONE,     // no items: from now on all figures are the first thread's
};

enum seep_wire_type {
    // Of both.
    SEEP_WIRE_HELLO = 1,
    // Of the client.
    SEEP_WIRE_PULL = 2,
    SEEP_WIRE_SNAPSHOT = 3,
    SEEP_WIRE_SCAN = 4,
    SEEP_WIRE_MARK = 5,
    SEEP_WIRE_CONTROL = 6,
    SEEP_WIRE_CANCEL = 7,
    SEEP_WIRE_TOP = 8,
    SEEP_WIRE_PAGE = 9,
    // Of the server.
    SEEP_WIRE_LOOK = 16,
    SEEP_WIRE_PROCESS = 17,
    SEEP_WIRE_MODULES = 18,
    SEEP_WIRE_NODES = 19,
    SEEP_WIRE_SITES = 20,
    SEEP_WIRE_COUNTERS = 21,
    SEEP_WIRE_THREAD_SITES = 22,
    SEEP_WIRE_BYTES = 23,  // of a trace
    SEEP_WIRE_BLOCKS = 24, // a page of them
    SEEP_WIRE_END = 31,    // of an answer
    SEEP_WIRE_ERROR = 32,  // the same
};

struct seep_wire_head {
    uint32_t nr_bytes; // of the payload
    uint8_t type;
    uint8_t flags;
    uint16_t stream; // of the question; its answers have the same
};
// SEEP_WIRE_HEAD_BYTES at `at`, little-endian. Read values are not checked.
void seep_wire_head_put(unsigned char *at, const struct seep_wire_head *head);
struct seep_wire_head seep_wire_head_of(const unsigned char *at);

// Appends a frame with the payload; `packed` tries to compress it.
SEEP_MUST_CHECK struct seep_error *seep_wire_put(struct seep_put *out, enum seep_wire_type type,
                                                 uint16_t stream, const struct seep_put *payload,
                                                 bool packed);
// The payload of a frame as it was: `bytes`, or malloc'ed where it was compressed (*ret_owned).
SEEP_MUST_CHECK struct seep_error *seep_wire_unpack(const struct seep_wire_head *head,
                                                    const unsigned char *bytes,
                                                    const unsigned char **ret_bytes, size_t *ret_nr,
                                                    unsigned char **ret_owned);

struct seep_wire_hello {
    uint64_t version_least;
    uint64_t version_most;
    uint64_t takes; // SEEP_WIRE_TAKES_*
    char build[64];
};
// Appends the greeting of this build. A received greeting is checked: SEEP_E_FORMAT.
void seep_wire_hello_put(struct seep_put *payload);
SEEP_MUST_CHECK struct seep_error *seep_wire_hello_take(const unsigned char *bytes, size_t nr,
                                                        struct seep_wire_hello *ret_hello);

// ---- what a client has of an image: the same on both sides ----

struct seep_wire_have {
    uint64_t pid;
    uint64_t start; // start_realtime_ns: with the pid it names a life
    uint64_t nr_modules;
    uint64_t nr_nodes;
    uint64_t nr_sites;
};
#define SEEP_WIRE_IMAGES_MAX 4096u
#define SEEP_WIRE_IMAGES_OLD 256u // of a side without SEEP_WIRE_TAKES_MANY

struct seep_wire_pull {
    uint64_t server; // the number of the server that made the epoch; 0: nothing is had
    uint64_t epoch;
    uint32_t nr_have;
    struct seep_wire_have have[];
};
// Appends the question. A received question, malloc'ed, is checked: SEEP_E_FORMAT.
void seep_wire_pull_put(struct seep_put *payload, const struct seep_wire_pull *pull);
SEEP_MUST_CHECK struct seep_error *seep_wire_pull_take(const unsigned char *bytes, size_t nr,
                                                       struct seep_wire_pull **ret_pull);

// What is told of a look beside its processes.
struct seep_wire_look {
    uint64_t server;
    uint64_t epoch;
    bool ended;
    uint64_t rss_bytes;
    uint64_t used_bytes;
    uint64_t limit_bytes;
    const char *limit; // borrowed; of a taken one: within the payload
    uint64_t nr_threads;
    uint64_t nr_unseen;
    uint64_t nr_processes;
};

// ---- the server's side: what changed when ----

struct seep_deltas;
// Begins with epoch 0, which is no look.
SEEP_MUST_CHECK struct seep_error *seep_deltas_create(struct seep_deltas **ret_deltas);
void seep_deltas_destroy(struct seep_deltas *deltas); // takes NULL
// The epoch of the last look; 0: there was none.
uint64_t seep_deltas_epoch(const struct seep_deltas *deltas);
// Begins a look, and returns its epoch.
uint64_t seep_deltas_next(struct seep_deltas *deltas);
// Ends it with these images.
SEEP_MUST_CHECK struct seep_error *seep_deltas_take(struct seep_deltas *deltas,
                                                    struct seep_image_look *const *images, size_t nr_images);
// The frames that bring what a client has up to the last look, with SEEP_WIRE_END. `look` without server,
// epoch and nr_processes. `takes`: SEEP_WIRE_TAKES_* of the client.
SEEP_MUST_CHECK struct seep_error *seep_deltas_answer(const struct seep_deltas *deltas,
                                                      struct seep_image_look *const *images, size_t nr_images,
                                                      const struct seep_wire_look *look,
                                                      const struct seep_wire_pull *pull, uint16_t stream,
                                                      uint64_t takes, struct seep_put *out);

// ---- the client's side: what it has ----

struct seep_replica;
// Begins empty: the first question asks for everything.
SEEP_MUST_CHECK struct seep_error *seep_replica_create(struct seep_replica **ret_replica);
void seep_replica_destroy(struct seep_replica *replica); // takes NULL
// The question for all changes since the last whole answer, or for everything if the last answer broke off.
// Malloc'ed. It names at most `most` images.
SEEP_MUST_CHECK struct seep_error *seep_replica_ask(const struct seep_replica *replica, size_t most,
                                                    struct seep_wire_pull **ret_pull);
// A frame of the answer. SEEP_E_FORMAT for what does not fit what is had: then all of it is to be asked anew.
SEEP_MUST_CHECK struct seep_error *seep_replica_take(struct seep_replica *replica, uint8_t type,
                                                     const unsigned char *bytes, size_t nr, bool *ret_ended);
// What it is now, as a session of its own.
SEEP_MUST_CHECK struct seep_error *seep_replica_session(const struct seep_replica *replica,
                                                        struct seep_session **ret_session);
// Bytes that a trace may have for the sites and blocks of the latest answer: 1 KiB for a site, because there
// may be many marks, and 64 for a node of the tree of stacks or a block. At most UINT64_MAX.
uint64_t seep_replica_trace_bytes(const struct seep_replica *replica);
// Of the latest answer. Borrowed; valid until the next frame is taken.
const struct seep_wire_look *seep_replica_look(const struct seep_replica *replica);

#endif
