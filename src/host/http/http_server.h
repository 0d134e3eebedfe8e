// SPDX-License-Identifier: BSD-2-Clause
//
// A small HTTP server for one person and a few scrapers: one thread, one request a connection, nothing but
// GET. It listens where it is told, refuses what was not meant for it, and drops who is slow.
#ifndef SEEP_HTTP_HTTP_SERVER_H
#define SEEP_HTTP_HTTP_SERVER_H

#include "base/error.h"

#define SEEP_HTTP_CONNECTIONS 16u
#define SEEP_HTTP_SLOW_NS     INT64_C(10000000000) // from accepting to the last byte

struct seep_http_answer {
    int status;           // 200, 404, ...
    const char *type;     // of the body
    const char *encoding; // "gzip" or NULL
    unsigned char *body;  // malloc'ed; the server frees it
    size_t nr_bytes;
};

struct seep_http_server {
    const char *address; // as it was told: an IP address
    unsigned port;       // 0: any; the real one once it listens
    char token[33];
    // Fills the answer for a path that was asked for by somebody who has the token, or `is_open` paths
    // without.
    void (*answer)(void *data, const char *path, struct seep_http_answer *ret_answer);
    bool (*is_open)(const char *path);
    void *data;
    int fd;
};

// Listens, on 127.0.0.1 or what `address` says ("HOST:PORT", "PORT", "" or NULL), and makes the token.
SEEP_MUST_CHECK struct seep_error *seep_http_listen(struct seep_http_server *server, const char *where);
// Serves until a signal interrupts (base/interrupt.h).
SEEP_MUST_CHECK struct seep_error *seep_http_serve(struct seep_http_server *server);
void seep_http_close(struct seep_http_server *server);

#endif
