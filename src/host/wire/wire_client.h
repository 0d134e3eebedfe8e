// SPDX-License-Identifier: BSD-2-Clause
//
// A client of `seep serve`: it connects by a Unix socket or through ssh, asks, and keeps what it has, so that
// after a link that broke the next question gets what came since.
//
// Context: one question at a time, from whatever thread.
#ifndef SEEP_WIRE_WIRE_CLIENT_H
#define SEEP_WIRE_WIRE_CLIENT_H

#include <signal.h>

#include "wire/wire.h"

struct seep_wire_client;

// Connects to an address (wire/wire_address.h) and greets. `key_file` may be NULL for other addresses than
// tcp:. Context: questions of several threads wait for one another.
SEEP_MUST_CHECK struct seep_error *seep_wire_client_create(const char *name, const char *key_file,
                                                           struct seep_wire_client **ret_client);
void seep_wire_client_destroy(struct seep_wire_client *client); // takes NULL

// What is now. *ret_look lives until the next question. A link that broke is made anew once.
SEEP_MUST_CHECK struct seep_error *seep_wire_client_pull(struct seep_wire_client *client,
                                                         struct seep_session **ret_session,
                                                         struct seep_wire_look *ret_look);
// The bytes of a trace, malloc'ed: of all there is, or of a scan that the server makes (the program waits for
// it).
SEEP_MUST_CHECK struct seep_error *seep_wire_client_trace(struct seep_wire_client *client, bool scan,
                                                          unsigned char **ret_bytes, size_t *ret_nr);
// What is recorded from now on, see seep_image_control_pid: enum seep_image_recording, and 0 or a depth.
SEEP_MUST_CHECK struct seep_error *seep_wire_client_control(struct seep_wire_client *client,
                                                            uint64_t recording, uint64_t depth,
                                                            bool *ret_done);
// Sets a mark in the process that is served.
SEEP_MUST_CHECK struct seep_error *seep_wire_client_mark(struct seep_wire_client *client, const char *name);
// The `nr` sites that have most, and one for all others: what a slow link brings within a moment. As a trace.
SEEP_MUST_CHECK struct seep_error *seep_wire_client_top(struct seep_wire_client *client, uint32_t nr,
                                                        unsigned char **ret_bytes, size_t *ret_nr);
struct seep_wire_block {
    uint64_t process; // place in the look
    uint64_t address;
    uint64_t size;
    uint64_t site;
    int64_t age_ns; // -1: not known
};
// Blocks [first, first + nr) of a site of the process (0: of all), the largest first; malloc'ed. *ret_all:
// that there are.
SEEP_MUST_CHECK struct seep_error *seep_wire_client_blocks(struct seep_wire_client *client, uint64_t process,
                                                           uint64_t site, uint64_t first, uint64_t nr,
                                                           struct seep_wire_block **ret_blocks,
                                                           size_t *ret_nr, uint64_t *ret_all);
// While it is not 0 questions end, here and at the server. Borrowed; NULL: nothing ends them.
void seep_wire_client_stop_by(struct seep_wire_client *client, const volatile sig_atomic_t *stop);
// From any thread: no answer is awaited any more, not even the end of one. Takes NULL.
void seep_wire_client_leave(struct seep_wire_client *client);

#endif
