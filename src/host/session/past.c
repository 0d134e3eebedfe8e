// SPDX-License-Identifier: BSD-2-Clause
// From a file of events to moments, see past.h.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "file/trace.h"
#include "session/past.h"
#include "session/past_heap.h"
#include "source/image/profile_image.h"

bool seep_past_parse(const char *text, int64_t *ret_at_ns) {
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}};
    if (strcmp(text, "peak") == 0) {
        *ret_at_ns = SEEP_PAST_PEAK;
        return true;
    }
    if (text[strspn(text, "0123456789.")] == 0 || text[0] < '0' || text[0] > '9')
        return false;
    char *end;
    double value = strtod(text, &end);
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(units); i++) {
        if (strcmp(end, units[i].name) != 0 || value * units[i].ns > 9e18)
            continue;
        *ret_at_ns = (int64_t)(value * units[i].ns);
        return true;
    }
    return false;
}

// ---- the chunks of a file --------------------------------------------------------------------------

struct chunks {
    struct seep_trace_reader reader;
    unsigned char *bytes; // of the file
    size_t size;
    struct seep_recorded *events; // of the chunk
    struct seep_chunk chunk;
};

static void chunks_deinit(struct chunks *chunks) {
    free(chunks->bytes);
    free(chunks->events);
}

static struct seep_error *chunks_init(const char *path, struct chunks *ret_chunks) {
    struct chunks chunks = {.events = calloc(SEEP_CHUNK_EVENTS, sizeof(*chunks.events))};
    struct seep_error *error = chunks.events ? NULL : seep_error_no_memory();
    if (!error)
        error = seep_trace_slurp(path, &chunks.bytes, &chunks.size);
    if (error)
        chunks_deinit(&chunks);
    else
        *ret_chunks = chunks;
    return error;
}

static struct seep_error *chunks_begin(struct chunks *chunks, const char *path) {
    return seep_trace_reader_init(chunks->bytes, chunks->size, path, &chunks->reader);
}

static struct seep_error *unpack(struct chunks *chunks, const struct seep_trace_section *section) {
    unsigned char *raw = NULL;
    struct seep_error *error = seep_trace_section_unpack(&chunks->reader, section, &raw);
    if (error)
        return error;
    struct seep_take take = {raw, raw + section->raw_bytes, false};
    if (!seep_chunk_take(&take, &chunks->chunk) ||
        !seep_chunk_take_events(&take, &chunks->chunk, chunks->events))
        error = seep_trace_section_error(&chunks->reader, section, "its events do not fit");
    free(raw);
    return error;
}

// The next chunk; *ret_more false: there is none.
static struct seep_error *chunks_next(struct chunks *chunks, bool *ret_more) {
    for (;;) {
        struct seep_trace_section section;
        bool more = false;
        struct seep_error *error = seep_trace_reader_next(&chunks->reader, &section, &more);
        if (error || !more || section.type == SEEP_TRACE_EVENTS) {
            *ret_more = !error && more;
            return *ret_more ? unpack(chunks, &section) : error;
        }
    }
}

bool seep_past_is_recording(const char *path) {
    unsigned char *bytes = NULL;
    size_t size;
    struct seep_trace_reader reader;
    struct seep_trace_section section;
    bool more = false;
    struct seep_error *error = strcmp(path, "-") == 0 ? NULL : seep_trace_slurp(path, &bytes, &size);
    if (!error && bytes)
        error = seep_trace_reader_init(bytes, size, path, &reader);
    if (!error && bytes)
        error = seep_trace_reader_next(&reader, &section, &more);
    free(bytes);
    seep_error_destroy(error);
    return !error && more && section.type == SEEP_TRACE_EVENTS; // a recording begins with them
}

// ---- processes -------------------------------------------------------------------------------------

struct past {
    struct seep_session *session;
    struct seep_past_heap *heaps;
    uint64_t *stop;      // by process: after so many events
    int64_t *at_ns;      // by process: the moment, from its own start; below 0: it was not there
    uint64_t nr_foreign; // events of processes that the file has nothing else of
};

// SIZE_MAX: none of them.
static size_t process_of(const struct seep_session *session, const struct seep_chunk *chunk) {
    for (size_t i = 0; i < session->nr_profiles; i++)
        if (session->profiles[i]->process.pid == chunk->pid &&
            session->profiles[i]->process.start_realtime_ns == chunk->start_realtime_ns)
            return i;
    return SIZE_MAX;
}

// One way through all events. `stops`: each process only up to its moment.
static struct seep_error *walk(struct past *past, struct chunks *chunks, const char *path, bool stops) {
    struct seep_error *error = chunks_begin(chunks, path);
    for (bool more = true; !error;) {
        error = chunks_next(chunks, &more);
        if (error || !more)
            break;
        size_t p = process_of(past->session, &chunks->chunk);
        if (p == SIZE_MAX) {
            past->nr_foreign += chunks->chunk.nr_events;
            continue;
        }
        struct seep_past_heap *heap = &past->heaps[p];
        for (uint64_t i = 0; !error && i < chunks->chunk.nr_events; i++) {
            int64_t at_ns = seep_chunk_ns(&chunks->chunk, chunks->events[i].stamp);
            if (stops && (heap->nr_events >= past->stop[p] || at_ns > past->at_ns[p]))
                break;
            if (!seep_past_heap_step(heap, &chunks->events[i], at_ns))
                error = seep_error_no_memory();
        }
    }
    return error;
}

static struct seep_error *heaps_init(struct past *past) {
    for (size_t i = 0; i < past->session->nr_profiles; i++) {
        seep_past_heap_deinit(&past->heaps[i]);
        if (!seep_past_heap_init(&past->heaps[i], past->session->profiles[i]->nr_sites))
            return seep_error_no_memory();
    }
    return NULL;
}

// The second time up to the moment, and from what there was before the first event.
static struct seep_error *again(struct past *past, struct chunks *chunks, const char *path) {
    size_t nr = past->session->nr_profiles;
    struct seep_past_before *before = calloc(nr ? nr : 1, sizeof(*before));
    struct seep_error *error = before ? NULL : seep_error_no_memory();
    for (size_t i = 0; !error && i < nr; i++)
        if (!seep_past_heap_before(&past->heaps[i], past->session->profiles[i], &before[i]))
            error = seep_error_no_memory();
    if (!error)
        error = heaps_init(past);
    for (size_t i = 0; !error && i < nr; i++)
        if (!seep_past_heap_begin(&past->heaps[i], &before[i]))
            error = seep_error_no_memory();
    if (!error)
        error = walk(past, chunks, path, true);
    for (size_t i = 0; before && i < nr; i++)
        seep_past_before_deinit(&before[i]);
    free(before);
    return error;
}

static struct seep_error *show(struct past *past, size_t p, int64_t at_ns) {
    struct seep_profile *profile = past->session->profiles[p];
    const struct seep_past_heap *heap = &past->heaps[p];
    if (past->at_ns[p] < 0)
        at_ns = 0;
    struct seep_error *error = seep_past_heap_show(heap, at_ns, profile);
    if (!error && heap->nr_strange)
        error = seep_profile_note(profile, SEEP_NOTE_EVENTS_STRANGE,
                                  "%" PRIu64 " events of the recording follow from nothing before them",
                                  heap->nr_strange);
    return error;
}

static struct seep_error *go(struct past *past, struct chunks *chunks, const char *path, int64_t at_ns) {
    struct seep_session *session = past->session;
    int64_t start_ns = session->profiles[0]->process.start_realtime_ns;
    struct seep_error *error = heaps_init(past);
    if (!error)
        error = walk(past, chunks, path, false);
    for (size_t i = 0; !error && i < session->nr_profiles; i++) {
        past->stop[i] = at_ns == SEEP_PAST_PEAK ? past->heaps[i].peak_event : UINT64_MAX;
        past->at_ns[i] = at_ns == SEEP_PAST_PEAK
                             ? INT64_MAX
                             : at_ns - (session->profiles[i]->process.start_realtime_ns - start_ns);
    }
    if (!error)
        error = again(past, chunks, path);
    for (size_t i = 0; !error && i < session->nr_profiles; i++)
        error = show(past, i, at_ns == SEEP_PAST_PEAK ? past->heaps[i].latest_ns : past->at_ns[i]);
    if (!error && past->nr_foreign)
        error = seep_profile_note(session->profiles[0], SEEP_NOTE_EVENTS_FOREIGN,
                                  "%" PRIu64 " events are of processes that the file has nothing else of",
                                  past->nr_foreign / 2);
    return error;
}

struct seep_error *seep_past_go(struct seep_session *session, const char *path, int64_t at_ns) {
    struct chunks chunks;
    struct past past = {.session = session};
    struct seep_error *error = chunks_init(path, &chunks);
    if (error)
        return error;
    past.heaps = calloc(session->nr_profiles, sizeof(*past.heaps));
    past.stop = calloc(session->nr_profiles, sizeof(*past.stop));
    past.at_ns = calloc(session->nr_profiles, sizeof(*past.at_ns));
    error = past.heaps && past.stop && past.at_ns ? go(&past, &chunks, path, at_ns) : seep_error_no_memory();
    for (size_t i = 0; past.heaps && i < session->nr_profiles; i++)
        seep_past_heap_deinit(&past.heaps[i]);
    free(past.heaps);
    free(past.stop);
    free(past.at_ns);
    chunks_deinit(&chunks);
    return error;
}
