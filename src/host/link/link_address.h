// SPDX-License-Identifier: BSD-2-Clause
// Where a server is told to listen: "unix:PATH" (NULL: a place of its own), "stdio", "tcp:HOST:PORT" with the
// file of a key.
#ifndef SEEP_LINK_LINK_ADDRESS_H
#define SEEP_LINK_LINK_ADDRESS_H

#include "link/link_server.h"

bool seep_link_is_stdio(const char *where); // takes NULL
// Checks the form of the address, and that it has a key where one is needed.
SEEP_MUST_CHECK struct seep_error *seep_link_address_check(const char *where, const char *key_file);

struct seep_link_listens {
    char address[400]; // for clients; "": standard input and output
    bool made_key;     // the file of the key was not there
};
SEEP_MUST_CHECK struct seep_error *seep_link_address_listen(struct seep_link_server *server,
                                                            const char *where, const char *key_file,
                                                            struct seep_link_listens *ret_listens);

#endif
