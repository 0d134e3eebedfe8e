// SPDX-License-Identifier: BSD-2-Clause
// A look at a source: a process, a file, or the server of a link. See live.h.
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "file/session_file.h"
#include "live/look_process.h"
#include "session/mark_live.h"
#include "session/session_open.h"
#include "wire/wire_address.h"

struct seep_error *seep_live_source_of(const char *name, const char *key_file,
                                       struct seep_live_source *ret_source) {
    struct seep_live_source source = {.name = name};
    struct seep_wire_address address;
    struct seep_error *error = seep_wire_address_parse(name, &address);
    if (error)
        return error;
    if (address.kind) {
        source.is_pid = true;
        error = seep_wire_client_create(name, key_file, &source.link);
        if (!error)
            *ret_source = source;
        return error;
    }
    error = seep_parse_pid(name, &source.is_pid, &source.pid);
    if (error)
        return error;
    if (!source.is_pid && access(name, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR))
        return seep_wire_address_refuse(name);
    if (key_file)
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "--key is for tcp:HOST:PORT"),
                               "leave it out: %s is on this machine", name);
    if (source.is_pid)
        source.started = seep_look_started(source.pid);
    *ret_source = source;
    return NULL;
}

void seep_live_source_deinit(struct seep_live_source *source) {
    seep_wire_client_destroy(source->link);
    source->link = NULL;
}

// ---- what is asked for now and then ----

static struct seep_error *trace_of(const struct seep_live_source *source, bool scan,
                                   struct seep_session **ret_session) {
    unsigned char *bytes = NULL;
    size_t nr = 0;
    struct seep_session *session = NULL;
    struct seep_error *error = seep_wire_client_trace(source->link, scan, &bytes, &nr);
    if (!error)
        error = seep_session_load_bytes(bytes, nr, source->name, &session);
    free(bytes);
    if (!error && scan && !session->profiles[0]->leaks.known)
        error =
            seep_error_create(SEEP_E_FORMAT, "%s: the server's answer to a scan has no scan", source->name);
    if (error)
        seep_session_destroy(session);
    else
        *ret_session = session;
    return error;
}

struct seep_error *seep_live_source_scan(const struct seep_live_source *source,
                                         struct seep_session **ret_session) {
    if (source->link)
        return trace_of(source, true, ret_session);
    if (!source->is_pid)
        return seep_error_create(SEEP_E_UNSUPPORTED, "a file has no memory to be scanned");
    return seep_look_scan(source->pid, ret_session);
}

struct seep_error *seep_live_source_mark(const struct seep_live_source *source, const char *name) {
    return source->link ? seep_wire_client_mark(source->link, name) : seep_mark_live(source->pid, name);
}

void seep_live_describe_control(const struct seep_image_control *asked, bool is_done, char *ret_text,
                                size_t text_bytes) {
    const char *when = is_done ? "" : "soon, once it allocates: ";
    if (asked->recording == SEEP_RECORDING_STOP)
        snprintf(ret_text, text_bytes, "%sallocations are not recorded, releases are", when);
    else if (asked->recording == SEEP_RECORDING_START)
        snprintf(ret_text, text_bytes, "%sallocations are recorded", when);
    else
        snprintf(ret_text, text_bytes, "%sstacks are recorded to a depth of %" PRIu32, when, asked->depth);
}

struct seep_error *seep_live_source_control(const struct seep_live_source *source,
                                            const struct seep_look *look,
                                            const struct seep_image_control *asked, bool *ret_done) {
    if (source->link)
        return seep_wire_client_control(source->link, asked->recording, asked->depth, ret_done);
    return seep_look_control(look, asked, ret_done);
}

struct seep_error *seep_live_source_whole(const struct seep_live_source *source,
                                          struct seep_session **ret_session) {
    *ret_session = NULL;
    return source->link ? trace_of(source, false, ret_session) : NULL;
}

struct seep_error *seep_live_source_blocks(const struct seep_live_source *source, uint64_t process,
                                           uint64_t site, uint64_t first, uint64_t nr,
                                           struct seep_wire_block **ret_blocks, size_t *ret_nr,
                                           uint64_t *ret_all) {
    return seep_wire_client_blocks(source->link, process, site, first, nr, ret_blocks, ret_nr, ret_all);
}

void seep_look_make_top(const struct seep_live_source *source, uint32_t nr, struct seep_look *ret_look) {
    unsigned char *bytes = NULL;
    size_t nr_bytes = 0;
    *ret_look = (struct seep_look){NULL};
    int64_t begin_ns = seep_monotonic_ns();
    ret_look->error = seep_wire_client_top(source->link, nr, &bytes, &nr_bytes);
    if (!ret_look->error)
        ret_look->error = seep_session_load_bytes(bytes, nr_bytes, source->name, &ret_look->session);
    free(bytes);
    ret_look->at_ns = seep_monotonic_ns();
    ret_look->took_ns = ret_look->at_ns - begin_ns;
}

// The other side looks, and says what has changed.
static void look_over_link(const struct seep_live_source *source, struct seep_look *look) {
    struct seep_wire_look told;
    look->error = seep_wire_client_pull(source->link, &look->session, &told);
    if (look->error)
        return;
    look->epoch = seep_hash64(told.server ^ told.epoch) | 1;
    look->ended = told.ended;
    look->rss_bytes = told.rss_bytes;
    look->used_bytes = told.used_bytes;
    look->limit_bytes = told.limit_bytes;
    snprintf(look->limit, sizeof(look->limit), "%s", told.limit);
    look->nr_threads = (uint32_t)told.nr_threads;
    look->nr_unseen = told.nr_unseen;
}

void seep_look_make(const struct seep_live_source *source, const struct seep_look *before,
                    struct seep_look *ret_look) {
    if (source->is_pid && !source->link) {
        seep_look_make_here(source, before, ret_look);
        return;
    }
    *ret_look = (struct seep_look){NULL};
    int64_t begin_ns = seep_monotonic_ns();
    if (source->link) {
        look_over_link(source, ret_look);
    } else {
        ret_look->ended = true;
        ret_look->error = seep_session_open(source->name, &ret_look->session);
    }
    seep_look_end(ret_look, begin_ns);
}
