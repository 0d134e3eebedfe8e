// SPDX-License-Identifier: BSD-2-Clause
//
// Debug information from debuginfod servers. libdebuginfod is loaded at the first question, and
// only if DEBUGINFOD_URLS names a server: it brings a TLS library along. It is never unloaded.
//
// Invariant: all questions together take no longer than the limit (plus the second that the client
// library sleeps between two looks at its clock); once it is used up nothing is asked any more.
#ifndef SEEP_NAMES_DEBUG_SERVER_H
#define SEEP_NAMES_DEBUG_SERVER_H

#include "core/attr.h"

struct debuginfod_client;

struct seep_debug_server {
    struct debuginfod_client *client; // NULL: nothing was asked yet
    int (*find)(struct debuginfod_client *client, const unsigned char *build_id, int build_id_bytes,
                char **path);
    void (*end)(struct debuginfod_client *client);
    int64_t remaining_ns;
    bool off; // never ask (again)
};

// `timeout_s` is for all questions together; 0: the default of debuginfod.
void seep_debug_server_init(struct seep_debug_server *server, bool off, unsigned timeout_s);
void seep_debug_server_deinit(struct seep_debug_server *server);

// A descriptor of the file with the debug information, or -1. The caller closes it.
int seep_debug_server_find(struct seep_debug_server *server, const uint8_t *build_id, size_t build_id_bytes);

#endif
