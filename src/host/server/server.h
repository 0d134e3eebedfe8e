// SPDX-License-Identifier: BSD-2-Clause
//
// The server behind `seep serve`: it looks at a process for its clients, and answers what they ask. One
// thread; a client that does not take its answer is not read from, and costs that answer. The program waits
// for none of it.
//
// Who may ask: by a Unix socket the user that runs the server, and root; by standard input the process that
// has it; by a network who has the key.
#ifndef SEEP_SERVER_SERVER_H
#define SEEP_SERVER_SERVER_H

#include "live/live.h"

#define SEEP_SERVER_CLIENTS      100u
#define SEEP_SERVER_GREET_NS     INT64_C(10000000000)
#define SEEP_SERVER_CHECK_NS     INT64_C(1000000000) // between two checks of it
#define SEEP_SERVER_ROOM_MS      50                  // between two checks whether a long answer has room
#define SEEP_SERVER_ASKS_NS      INT64_C(2000000000) // after its latest question, a client counts as one that asks
#define SEEP_SERVER_LOOK_NS      INT64_C(10000000) // between two looks, for each client that asks; at most
#define SEEP_SERVER_LOOK_MOST_NS INT64_C(950000000)
#define SEEP_SERVER_MANY         3u // clients that ask: from then on looks and wake-ups are for all of them
#define SEEP_SERVER_REST_MS      20 // after a Pull of many, for each client that asks but the first; at most
#define SEEP_SERVER_REST_MOST_MS 248
#define SEEP_SERVER_BEGIN_NS     INT64_C(2000000000)  // for the first image of a program that we started
#define SEEP_SERVER_LINGER_NS    INT64_C(60000000000) // without clients; if the program has ended:
#define SEEP_SERVER_LEAVE_NS     INT64_C(5000000000)

struct seep_server;
// Makes the first look, so that what cannot be looked at is said at once. `source` is borrowed.
SEEP_MUST_CHECK struct seep_error *seep_server_create(const struct seep_live_source *source,
                                                      struct seep_server **ret_server);
void seep_server_destroy(struct seep_server *server); // takes NULL; removes its socket

// Listens at `path`, or where it is NULL in a folder that only this user may enter; *ret_path lives as long
// as the server. A socket on which no process listens any more is replaced.
SEEP_MUST_CHECK struct seep_error *seep_server_listen(struct seep_server *server, const char *path,
                                                      const char **ret_path);
// Listens on the named address of a network ("HOST:PORT"), for those who have the key (wire/noise.h).
SEEP_MUST_CHECK struct seep_error *seep_server_listen_network(struct seep_server *server, const char *name,
                                                              const unsigned char *key, unsigned *ret_port);
// The place of a socket in a folder that only this user may enter, which is made.
SEEP_MUST_CHECK struct seep_error *seep_server_private_path(const char *name, char *ret_path, size_t room);
// It ends by itself when it has had no client for a while. `only_ended`: not before the program has ended.
void seep_server_linger(struct seep_server *server, bool only_ended);
// One client, on two descriptors.
SEEP_MUST_CHECK struct seep_error *seep_server_add(struct seep_server *server, int in_fd, int out_fd);
// Until it is interrupted (base/interrupt.h), or, where it does not listen, until its client has left.
SEEP_MUST_CHECK struct seep_error *seep_server_run(struct seep_server *server);

#endif
