// SPDX-License-Identifier: BSD-2-Clause
// The debuginfod client, see debug_server.h.
#include <dlfcn.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <elfutils/debuginfod.h>

#include "base/clock.h"
#include "names/debug_server.h"

#define DEFAULT_TIMEOUT_S 10u
#define FILE_BYTES_MAX    (4L << 30) // the largest browsers' debug information has 3 GiB
#define NS_PER_S          INT64_C(1000000000)

void seep_debug_server_init(struct seep_debug_server *server, bool off, unsigned timeout_s) {
    const char *urls = getenv(DEBUGINFOD_URLS_ENV_VAR);
    *server = (struct seep_debug_server){
        .remaining_ns = (timeout_s ? timeout_s : DEFAULT_TIMEOUT_S) * NS_PER_S,
        .off = off || !urls || !*urls,
    };
}

void seep_debug_server_deinit(struct seep_debug_server *server) {
    if (server->client)
        server->end(server->client);
    server->client = NULL;
}

// Of the question under way. The client calls back on the thread that asks.
static _Thread_local int64_t deadline_ns;

// Called several times a second while the client waits; anything but 0 makes it give up. Who answers without
// end would fill the disk until time is over.
static int is_too_much(struct debuginfod_client *client, long done, long all) {
    return seep_monotonic_ns() >= deadline_ns || done > FILE_BYTES_MAX;
}

static bool connect_client(struct seep_debug_server *server) {
    void *library = dlopen(DEBUGINFOD_SONAME, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return false;
    __typeof__(debuginfod_begin) *begin = dlsym(library, "debuginfod_begin");
    __typeof__(debuginfod_set_progressfn) *set_progress = dlsym(library, "debuginfod_set_progressfn");
    server->find = dlsym(library, "debuginfod_find_debuginfo");
    server->end = dlsym(library, "debuginfod_end");
    if (!begin || !set_progress || !server->find || !server->end)
        return false;
    server->client = begin();
    if (server->client)
        set_progress(server->client, is_too_much);
    return server->client != NULL;
}

// The client of elfutils 0.192 does not call back before a server answers. The variable is gone again
// afterwards: programs that we start do not have it.
static int find_in_time(struct seep_debug_server *server, const uint8_t *build_id, size_t build_id_bytes) {
    char seconds[24];
    snprintf(seconds, sizeof(seconds), "%" PRId64, (server->remaining_ns + NS_PER_S - 1) / NS_PER_S);
    bool ours = !getenv(DEBUGINFOD_MAXTIME_ENV_VAR) && setenv(DEBUGINFOD_MAXTIME_ENV_VAR, seconds, 1) == 0;
    int fd = server->find(server->client, build_id, (int)build_id_bytes, NULL);
    if (ours)
        unsetenv(DEBUGINFOD_MAXTIME_ENV_VAR);
    return fd;
}

int seep_debug_server_find(struct seep_debug_server *server, const uint8_t *build_id, size_t build_id_bytes) {
    if (server->off || !build_id_bytes || build_id_bytes > INT_MAX)
        return -1;
    if (!server->client && !connect_client(server)) {
        server->off = true;
        return -1;
    }
    int64_t start_ns = seep_monotonic_ns();
    deadline_ns = start_ns + server->remaining_ns;
    int fd = find_in_time(server, build_id, build_id_bytes);
    server->remaining_ns -= seep_monotonic_ns() - start_ns;
    server->off = server->remaining_ns <= 0;
    return fd >= 0 ? fd : -1;
}
