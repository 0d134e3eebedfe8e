// SPDX-License-Identifier: BSD-2-Clause
// Where a server is told to listen: "unix:PATH" (NULL: a place of its own), "stdio", "tcp:HOST:PORT" with the
// file of a key.
#ifndef SEEP_SERVER_SERVER_ADDRESS_H
#define SEEP_SERVER_SERVER_ADDRESS_H

#include "server/server.h"

bool seep_server_is_stdio(const char *where); // takes NULL
// Checks the form of the address, and that it has a key where one is needed.
SEEP_MUST_CHECK struct seep_error *seep_server_address_check(const char *where, const char *key_file);

struct seep_server_listens {
    char address[400];    // for clients; "": standard input and output, or no listening
    const char *made_key; // the file of the key, which was not there; else NULL
};
// Serves the process there until it is interrupted. `keep` false: or until the process has ended and no
// client has been connected for SEEP_SERVER_LEAVE_NS. `where` NULL: a Unix socket in a folder of our own.
// `key_file`: of tcp: addresses; it is made if it does not exist. `tell` is called once, before the first
// client, also where listening failed.
SEEP_MUST_CHECK struct seep_error *seep_server_address_serve(
    const struct seep_live_source *source, const char *where, const char *key_file, bool keep,
    void (*tell)(const struct seep_server_listens *listens));

#endif
