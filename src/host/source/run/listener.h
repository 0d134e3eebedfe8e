// SPDX-License-Identifier: BSD-2-Clause
//
// The socket at which traced processes hand over their images (image/hello.h). It lives in a private
// folder and takes what is sent; it never waits for a peer.
//
// Run by root, every user may connect, because a daemon that root starts drops its privileges: who connects
// is then asked of the kernel, and is let in as a process of ours only. The name of the socket is a secret
// that the environment of descendants has.
#ifndef SEEP_SOURCE_RUN_LISTENER_H
#define SEEP_SOURCE_RUN_LISTENER_H

#include <poll.h>
#include <sys/types.h>

#include "base/error.h"
#include "image/hello.h"

// An image, a process that has parked, or a notice that one becomes another program (image/hello.h).
struct seep_listener_message {
    int fd;           // hello: of the memory file; the taker owns it. -1: parked, or a notice
    int peer;         // parked: the connection; the process goes on when it is closed; the taker owns it
    uint64_t sp_rt;   // parked: struct seep_parked
    pid_t pid;        // as this side sees the sender (SO_PEERCRED)
    uint32_t own_pid; // as the sender sees itself
    const struct seep_notice *notice; // NULL: no notice
    bool foreign;                     // of another user than ours
    uid_t uid;                        // of the sender (SO_PEERCRED)
    gid_t gid;
};

struct seep_listener_peer {
    int fd;
    int64_t since_ns; // CLOCK_MONOTONIC
};

struct seep_listener {
    char folder[108];
    char path[108];
    int fd;
    struct seep_listener_peer *peers; // connections that have not sent their hello yet
    size_t nr_peers;
    size_t capacity;
    bool (*is_known)(void *data,
                     pid_t pid); // whether a process of another user is one of ours; NULL: none is
    void *data;
    uint64_t nr_refused; // hellos that were not as they must be, or from another user
    int spare;           // a descriptor kept so that a message's file always finds room, or -1
    bool out_of_descriptors;
    bool lost_a_file; // a message came whose file found no room all the same
};

// Makes a folder that only this user may enter, and a socket in it. _deinit removes both.
SEEP_MUST_CHECK struct seep_error *seep_listener_init(struct seep_listener *ret_listener);
void seep_listener_deinit(struct seep_listener *listener); // removes socket and folder

// Accepts and reads all there is. `take` owns message->fd and message->peer.
SEEP_MUST_CHECK struct seep_error *seep_listener_read(
    struct seep_listener *listener,
    struct seep_error *(*take)(void *data, const struct seep_listener_message *message), void *data);

// Fills ret_polls[0..nr_peers] with what is to be polled; it has room for nr_peers + 1.
void seep_listener_polls(const struct seep_listener *listener, struct pollfd *ret_polls);

#endif
