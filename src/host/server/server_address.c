// SPDX-License-Identifier: BSD-2-Clause
// Addresses of a server, see server_address.h.
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "server/server_address.h"
#include "wire/noise.h"

#define UNIX_PREFIX "unix:"
#define TCP_PREFIX  "tcp:"

static bool begins(const char *text, const char *with) {
    return text && strncmp(text, with, strlen(with)) == 0;
}

bool seep_server_is_stdio(const char *where) {
    return where && strcmp(where, "stdio") == 0;
}

struct seep_error *seep_server_address_check(const char *where, const char *key_file) {
    bool network = begins(where, TCP_PREFIX);
    if (network && !key_file)
        return seep_error_hint(
            seep_error_create(SEEP_E_USAGE, "--listen %s: a network needs --key FILE", where),
            "a file that does not exist is created; clients need a copy of it");
    if (!network && key_file)
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "--key is for --listen tcp:HOST:PORT"),
                               "add that, or leave --key out: a Unix socket needs no key");
    if (where && !network && !seep_server_is_stdio(where) &&
        (!begins(where, UNIX_PREFIX) || !where[strlen(UNIX_PREFIX)]))
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "--listen: bad address '%s'", where),
                               "unix:PATH, tcp:HOST:PORT, or stdio");
    return NULL;
}

static struct seep_error *listen_network(struct seep_server *server, const char *name, const char *key_file,
                                         struct seep_server_listens *listens) {
    unsigned char key[SEEP_NOISE_KEY_BYTES];
    unsigned port = 0;
    bool made = false;
    struct seep_error *error = seep_noise_key_read(key_file, true, key, &made);
    if (made)
        listens->made_key = key_file;
    if (!error)
        error = seep_server_listen_network(server, name, key, &port);
    explicit_bzero(key, sizeof(key));
    if (!error)
        snprintf(listens->address, sizeof(listens->address), TCP_PREFIX "%.*s:%u",
                 (int)(strrchr(name, ':') - name), name, port);
    return error;
}

static struct seep_error *listen_at(struct seep_server *server, const char *where, const char *key_file,
                                    struct seep_server_listens *listens) {
    if (seep_server_is_stdio(where))
        return seep_server_add(server, STDIN_FILENO, dup(STDOUT_FILENO));
    if (begins(where, TCP_PREFIX))
        return listen_network(server, where + strlen(TCP_PREFIX), key_file, listens);
    const char *path = NULL;
    struct seep_error *error = seep_server_listen(server, where ? where + strlen(UNIX_PREFIX) : NULL, &path);
    if (!error)
        snprintf(listens->address, sizeof(listens->address), UNIX_PREFIX "%s", path);
    return error;
}

struct seep_error *seep_server_address_serve(const struct seep_live_source *source, const char *where,
                                             const char *key_file, bool keep,
                                             void (*tell)(const struct seep_server_listens *listens)) {
    struct seep_server *server = NULL;
    struct seep_server_listens listens = {.made_key = NULL};
    struct seep_error *error = seep_server_create(source, &server);
    if (!error)
        error = listen_at(server, where, key_file, &listens);
    tell(&listens);
    if (!error && !keep)
        seep_server_linger(server, true);
    if (!error)
        error = seep_server_run(server);
    seep_server_destroy(server);
    return error;
}
