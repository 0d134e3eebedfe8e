// SPDX-License-Identifier: BSD-2-Clause
// Reads a recording chunk by chunk, see event_file.h.
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map.h"
#include "base/read_at.h"
#include "source/image/event_alone.h"
#include "file/event_file.h"
#include "file/event_rest.h"
#include "file/trace.h"
#include "profile/verdict.h"
#include "source/image/raw_file.h"

struct seep_event_file {
    int fd;
    char *path;
    uint64_t first_off; // of the sections
    uint64_t at;
    uint64_t size; // of the file, when it was last asked for
    uint16_t minor;
    unsigned char *stored; // of the section at hand, with its header
    size_t stored_capacity;
    unsigned char *raw;
    struct seep_recorded *events;
    struct seep_chunk_unpacker *unpacker;
    struct seep_chunk chunk;
    struct seep_event_alone *alone; // of a library that had no tool
    struct seep_event_rests *rests; // of a recording without its end
    unsigned char *index;           // of its chunks, NULL: none
    size_t index_bytes;
    bool looked_for_index;
    uint32_t only;        // type of the sections that are wanted; 0: those of events
    uint64_t place;       // of the latest section of events
    struct seep_map ends; // process to the stamp at which its latest chunk ended, or began: see check_order()
    uint64_t stop_off;    // no section is read that begins there or later; 0: all are
    bool damaged;
    bool has_gap;
    char trouble[256];
};

void seep_event_file_close(struct seep_event_file *file) {
    if (!file)
        return;
    if (file->fd >= 0)
        close(file->fd);
    seep_event_alone_destroy(file->alone);
    seep_event_rests_destroy(file->rests);
    seep_map_deinit(&file->ends);
    free(file->index);
    free(file->path);
    free(file->stored);
    free(file->raw);
    free(file->events);
    seep_chunk_unpacker_destroy(file->unpacker);
    free(file);
}

static bool is_of_events(uint32_t type) {
    return type == SEEP_TRACE_EVENTS || type == SEEP_TRACE_STACKS;
}

static bool is_wanted(const struct seep_event_file *file, uint32_t type) {
    return file->only ? type == file->only : is_of_events(type);
}

void seep_event_file_only(struct seep_event_file *file, uint32_t type) {
    file->only = type;
}

static uint64_t size_of(int fd) {
    struct stat status;
    return fstat(fd, &status) == 0 && status.st_size > 0 ? (uint64_t)status.st_size : 0;
}

static struct seep_error *read_header(struct seep_event_file *file) {
    unsigned char header[SEEP_TRACE_HEADER_BYTES];
    struct seep_trace_reader reader;
    file->size = size_of(file->fd);
    size_t nr = (size_t)SEEP_MIN(file->size, (uint64_t)sizeof(header));
    if (!seep_read_at(file->fd, 0, header, nr))
        return seep_error_system(errno, "%s: cannot read", file->path);
    struct seep_error *error = seep_trace_reader_init(header, nr, file->path, &reader);
    if (error)
        return error;
    file->first_off = file->at = reader.at;
    file->minor = reader.minor;
    return NULL;
}

static struct seep_error *stop(struct seep_event_file *file, struct seep_error *error) {
    snprintf(file->trouble, sizeof(file->trouble), "%s", error->message);
    seep_error_destroy(error);
    file->at = UINT64_MAX;
    file->damaged = true;
    return NULL;
}

// The tool that writes the recording may have joined gaps since the section before file->at was read, so that
// file->at lies in one. true: it is behind that gap now.
static bool step_behind_gap(struct seep_event_file *file) {
    unsigned char header[SEEP_TRACE_SECTION_BYTES];
    uint64_t at = file->first_off;
    while (at < file->at) {
        if (!seep_read_at(file->fd, at, header, sizeof(header)) ||
            seep_fetch32(header + 24) != seep_trace_crc32(0, header, 24) ||
            __builtin_add_overflow(at + sizeof(header), seep_fetch64(header + 8), &at))
            return false;
    }
    bool is_in_gap = at > file->at && seep_fetch32(header) == SEEP_TRACE_GAP;
    file->has_gap |= is_in_gap;
    if (is_in_gap)
        file->at = at;
    return is_in_gap;
}

// The whole section at file->at; *ret_more false: there is none.
static struct seep_error *next_section(struct seep_event_file *file, struct seep_trace_section *ret_section,
                                       struct seep_trace_reader *ret_reader, bool *ret_more) {
    unsigned char header[SEEP_TRACE_SECTION_BYTES];
    *ret_more = false;
    for (;;) {
        if (file->at > file->size || file->size - file->at < sizeof(header) ||
            (file->stop_off && file->at >= file->stop_off))
            return NULL;
        if (!seep_read_at(file->fd, file->at, header, sizeof(header)))
            return NULL;
        uint32_t type = seep_fetch32(header);
        uint64_t stored = seep_fetch64(header + 8);
        bool good = seep_fetch32(header + 24) == seep_trace_crc32(0, header, 24);
        uint64_t left = file->size - file->at - sizeof(header);
        if (!good && step_behind_gap(file))
            continue;
        file->has_gap |= good && type == SEEP_TRACE_GAP;
        if (good && !is_wanted(file, type) && stored <= left) {
            file->at += sizeof(header) + stored;
            continue;
        }
        if (good && stored > left) { // cut, or not yet written
            snprintf(file->trouble, sizeof(file->trouble), "%s: cut at offset %llu", file->path,
                     (unsigned long long)file->at);
            file->at = UINT64_MAX;
            return NULL;
        }
        size_t whole = sizeof(header) + (good ? (size_t)stored : 0);
        if (whole > file->stored_capacity) {
            unsigned char *larger = realloc(file->stored, whole);
            if (!larger)
                return seep_error_no_memory();
            file->stored = larger;
            file->stored_capacity = whole;
        }
        if (!seep_read_at(file->fd, file->at, file->stored, whole))
            return NULL;
        seep_trace_reader_part(file->stored, whole, file->at, file->path, file->minor, ret_reader);
        struct seep_error *error = seep_trace_reader_next(ret_reader, ret_section, ret_more);
        if (error)
            return stop(file, error);
        file->place = file->at;
        file->at += whole;
        return NULL;
    }
}

static struct seep_error *next_alone(struct seep_event_file *file, uint32_t *ret_type,
                                     struct seep_take *ret_take) {
    struct seep_error *error = seep_event_alone_next(file->alone, &file->chunk, file->events);
    *ret_take = (struct seep_take){.failed = true};
    if (error)
        return error;
    if (file->chunk.nr_events)
        *ret_type = SEEP_TRACE_EVENTS;
    else if (seep_event_alone_damaged(file->alone))
        snprintf(file->trouble, sizeof(file->trouble), "%s: events of %llu places make no sense", file->path,
                 (unsigned long long)seep_event_alone_damaged(file->alone));
    return NULL;
}

// Behind the last section of a recording without its end. What it lacks because it was cut is there too.
static struct seep_error *next_of_rests(struct seep_event_file *file, uint32_t *ret_type,
                                        struct seep_take *ret_take) {
    if (!file->rests || file->only || file->damaged)
        return NULL;
    int64_t start_realtime_ns;
    struct seep_error *error = seep_event_rests_find(file->rests, file->path);
    if (error || !seep_event_rests_path(file->rests, 0, &start_realtime_ns))
        return error;
    file->trouble[0] = 0;
    file->place = file->size;
    *ret_take = (struct seep_take){.failed = true};
    error = seep_event_rests_next(file->rests, &file->chunk, file->events);
    *ret_type = !error && file->chunk.nr_events ? SEEP_TRACE_EVENTS : 0;
    return error;
}

static void forget_ends(struct seep_event_file *file) {
    seep_map_deinit(&file->ends);
    file->ends = (struct seep_map)SEEP_MAP_INIT;
}

// In a file that the tool wrote whole, a chunk begins where the one before it of its process ended. In other
// files, as those that 'seep shrink' made of several, chunks may overlap, but none ends before the one before
// it begins. *ret_good false: it was moved.
static struct seep_error *check_order(struct seep_event_file *file, bool *ret_good) {
    const struct seep_chunk *chunk = &file->chunk;
    bool is_whole = seep_event_file_is_whole(file);
    *ret_good = true;
    if (!chunk->nr_events) // that of a shrunk file which says only up to where events were seen
        return NULL;
    uint64_t *before =
        seep_map_at(&file->ends, seep_hash64((uint64_t)chunk->start_realtime_ns) ^ chunk->pid, NULL);
    if (!before)
        return seep_error_no_memory();
    *ret_good = (is_whole ? chunk->begin.stamp : chunk->end.stamp) >= *before;
    *before = is_whole ? chunk->end.stamp : chunk->begin.stamp;
    return NULL;
}

// A process that the trace has, and its events.
static struct seep_error *pass_to_rests(struct seep_event_file *file) {
    struct seep_error *error = file->rests ? NULL : seep_event_rests_create(&file->rests);
    return error ? error : seep_event_rests_pass(file->rests, &file->chunk, file->events);
}

struct seep_error *seep_event_file_section(struct seep_event_file *file, uint32_t *ret_type,
                                           struct seep_take *ret_take) {
    struct seep_trace_section section;
    struct seep_trace_reader reader;
    bool more = false;
    *ret_type = 0;
    if (file->alone)
        return next_alone(file, ret_type, ret_take);
    struct seep_error *error = next_section(file, &section, &reader, &more);
    if (error || !more)
        return error ? error : next_of_rests(file, ret_type, ret_take);
    free(file->raw);
    file->raw = NULL;
    error = seep_trace_section_unpack(&reader, &section, &file->raw);
    if (error)
        return error->code == SEEP_E_FORMAT ? stop(file, error) : error;
    *ret_take = (struct seep_take){file->raw, file->raw + section.raw_bytes, false};
    if (section.type == SEEP_TRACE_EVENTS) {
        struct seep_take take = *ret_take;
        if (!seep_chunk_take(&take, &file->chunk) ||
            !seep_chunk_take_events(file->unpacker, &take, section.version, &file->chunk, file->events))
            return stop(file, seep_trace_section_error(&reader, &section, "its events do not fit"));
        bool good;
        error = check_order(file, &good);
        if (error)
            return error;
        if (!good)
            return stop(file, seep_trace_section_error(&reader, &section, "its events are out of order"));
    }
    if (section.type == SEEP_TRACE_STACKS) { // begins with the same two
        struct seep_take take = *ret_take;
        file->chunk.nr_events = 0;
        file->chunk.pid = seep_take_u32(&take);
        file->chunk.start_realtime_ns = seep_take_zigzag(&take);
    }
    if (!seep_event_file_is_whole(file) && (error = pass_to_rests(file)))
        return error;
    *ret_type = section.type;
    return NULL;
}

struct seep_error *seep_event_file_next(struct seep_event_file *file, const struct seep_chunk **ret_chunk) {
    for (;;) {
        uint32_t type;
        struct seep_take take;
        struct seep_error *error = seep_event_file_section(file, &type, &take);
        *ret_chunk = !error && type == SEEP_TRACE_EVENTS ? &file->chunk : NULL;
        if (error || !type || *ret_chunk)
            return error;
    }
}

const struct seep_recorded *seep_event_file_events(const struct seep_event_file *file) {
    return file->events;
}

struct seep_error *seep_event_file_rewind(struct seep_event_file *file) {
    file->at = file->first_off;
    forget_ends(file);
    file->stop_off = 0;
    file->trouble[0] = 0;
    file->damaged = false;
    if (file->rests)
        seep_event_rests_rewind(file->rests);
    return file->alone ? seep_event_alone_rewind(file->alone) : NULL;
}

// Where the index begins; 0: there is none.
static uint64_t find_index(const struct seep_event_file *file) {
    unsigned char header[SEEP_TRACE_SECTION_BYTES];
    for (uint64_t at = file->first_off; at < file->size && file->size - at >= sizeof(header);) {
        if (!seep_read_at(file->fd, at, header, sizeof(header)) ||
            seep_fetch32(header + 24) != seep_trace_crc32(0, header, 24))
            return 0;
        uint32_t type = seep_fetch32(header);
        if (type == SEEP_TRACE_EVENT_INDEX)
            return at;
        uint64_t stored = seep_fetch64(header + 8);
        if (type == SEEP_TRACE_SESSION || stored > file->size - at - sizeof(header))
            return 0;
        at += sizeof(header) + stored;
    }
    return 0;
}

// The section of that type that begins there, unpacked and malloc'ed; NULL: there is none.
static struct seep_error *read_section(struct seep_event_file *file, uint64_t off, uint32_t type,
                                       unsigned char **ret_raw, size_t *ret_bytes) {
    unsigned char header[SEEP_TRACE_SECTION_BYTES];
    struct seep_trace_reader reader;
    struct seep_trace_section section;
    bool more;
    *ret_raw = NULL;
    *ret_bytes = 0;
    if (off > file->size || !seep_read_at(file->fd, off, header, sizeof(header)))
        return NULL;
    uint64_t stored = seep_fetch64(header + 8);
    uint64_t left = file->size - off;
    uint64_t whole = left >= sizeof(header) && stored <= left - sizeof(header) ? sizeof(header) + stored : 0;
    unsigned char *bytes = whole ? malloc((size_t)whole) : NULL;
    if (!bytes || !seep_read_at(file->fd, off, bytes, (size_t)whole)) {
        free(bytes);
        return NULL;
    }
    seep_trace_reader_part(bytes, (size_t)whole, off, file->path, file->minor, &reader);
    struct seep_error *error = seep_trace_reader_next(&reader, &section, &more);
    if (!error && more && section.type == type)
        error = seep_trace_section_unpack(&reader, &section, ret_raw);
    *ret_bytes = *ret_raw ? (size_t)section.raw_bytes : 0;
    free(bytes);
    return error;
}

static void read_index(struct seep_event_file *file, uint64_t off) {
    if (off)
        seep_error_destroy(read_section(file, off, SEEP_TRACE_EVENT_INDEX, &file->index, &file->index_bytes));
    file->looked_for_index |= file->index != NULL;
}

void seep_event_file_index_at(struct seep_event_file *file, uint64_t off) {
    if (!file->looked_for_index && !file->alone)
        read_index(file, off);
}

// Once. An index that is damaged is none.
static void look_for_index(struct seep_event_file *file) {
    if (!file->looked_for_index)
        read_index(file, find_index(file));
    file->looked_for_index = true;
}

// Only the tool writes an index, and only of what it recorded whole.
bool seep_event_file_is_whole(struct seep_event_file *file) {
    if (file->alone)
        return false;
    look_for_index(file);
    return file->index;
}

struct seep_error *seep_event_file_seek(struct seep_event_file *file, int64_t from_ns, int64_t to_ns) {
    struct seep_error *error = seep_event_file_rewind(file);
    if (error || file->alone)
        return error;
    look_for_index(file);
    struct seep_take take = {file->index, file->index ? file->index + file->index_bytes : NULL, !file->index};
    uint64_t nr = seep_take_leb(&take);
    uint64_t at = 0, first = 0, behind = file->first_off;
    for (uint64_t i = 0; i < nr && !take.failed; i++) {
        at += seep_take_leb(&take);
        uint64_t begins_ns = seep_take_leb(&take), ends_ns = seep_take_leb(&take);
        if (!first && from_ns <= (int64_t)SEEP_MIN(ends_ns, (uint64_t)INT64_MAX))
            first = at;
        if (to_ns >= (int64_t)SEEP_MIN(begins_ns, (uint64_t)INT64_MAX))
            behind = at + 1; // where the last begins that is wanted
    }
    // What it says is not believed: a place that is none gives no section there.
    if (take.failed || (first && (first < file->first_off || first >= file->size)))
        return NULL;
    file->at = first ? first : file->size;
    file->stop_off = behind;
    return NULL;
}

uint64_t seep_event_file_place(const struct seep_event_file *file) {
    return file->place;
}

void seep_event_file_go_to(struct seep_event_file *file, uint64_t place) {
    forget_ends(file);
    if (!file->alone)
        file->at = place;
}

struct seep_error *seep_event_file_sums(struct seep_event_file *file,
                                        struct seep_event_sums_place **ret_places, size_t *ret_nr) {
    *ret_places = NULL;
    *ret_nr = 0;
    if (!seep_event_file_is_whole(file))
        return NULL;
    struct seep_take take = {file->index, file->index + file->index_bytes, false};
    for (uint64_t nr = seep_take_leb(&take); nr && !take.failed; nr--)
        for (int i = 0; i < 3; i++)
            (void)seep_take_leb(&take);
    enum { ROW_LEAST = 5 };
    uint64_t nr = !take.failed && seep_take_left(&take) ? seep_take_leb(&take) : 0;
    if (!nr || nr > seep_take_left(&take) / ROW_LEAST)
        return NULL;
    struct seep_event_sums_place *places = calloc((size_t)nr, sizeof(*places));
    if (!places)
        return seep_error_no_memory();
    uint64_t place = 0;
    for (size_t i = 0; i < nr; i++) {
        place += seep_take_leb(&take);
        places[i].place = place;
        places[i].pid = seep_take_u32(&take);
        places[i].whole = seep_take_bool(&take);
        places[i].most_ns = seep_take_zigzag(&take);
        places[i].nr_events = seep_take_leb(&take);
    }
    *ret_places = places;
    *ret_nr = take.failed ? 0 : (size_t)nr;
    return NULL;
}

struct seep_error *seep_event_file_sums_at(struct seep_event_file *file, uint64_t place,
                                           struct seep_event_sums *ret_sums) {
    unsigned char *raw;
    size_t nr_bytes;
    struct seep_error *error = read_section(file, place, SEEP_TRACE_EVENT_SUMS, &raw, &nr_bytes);
    if (error)
        return error;
    struct seep_take take = {raw, raw ? raw + nr_bytes : NULL, !raw};
    if (!raw || !seep_event_sums_take(&take, ret_sums))
        error = seep_error_create(SEEP_E_FORMAT, "%s: no sums at offset %llu", file->path,
                                  (unsigned long long)place);
    free(raw);
    return error;
}

bool seep_event_file_has_gap(const struct seep_event_file *file) {
    return file->has_gap;
}

const char *seep_event_file_trouble(const struct seep_event_file *file) {
    return file->trouble[0] ? file->trouble : NULL;
}

struct seep_error *seep_event_file_note(const struct seep_event_file *file, struct seep_profile *profile) {
    bool is_told = !file->trouble[0];
    for (size_t i = 0; i < profile->health.nr_notes; i++) {
        enum seep_note_code code = profile->health.notes[i].code;
        is_told |= code == SEEP_NOTE_EVENTS_DAMAGED || code == SEEP_NOTE_TRACE_CUT;
    }
    return is_told ? NULL
                   : seep_profile_note(profile, SEEP_NOTE_EVENTS_DAMAGED,
                                       "%s: events from there on are not known", file->trouble);
}

struct seep_error *seep_event_file_note_dropped(struct seep_event_file *file, uint64_t nr_events,
                                                struct seep_profile *profile) {
    if (file->alone || seep_event_file_is_whole(file) || nr_events >= profile->health.events ||
        seep_profile_verdict(profile) != SEEP_VERDICT_COMPLETE)
        return NULL;
    return seep_profile_note(profile, SEEP_NOTE_EVENTS_DROPPED,
                             "the recording has %" PRIu64 " of %" PRIu64
                             " events ('seep shrink' or --keep-last dropped the others): times, rates and "
                             "calls cover only these",
                             nr_events, profile->health.events);
}

// A recording begins with what it has of events.
static bool begins_with_events(struct seep_event_file *file) {
    unsigned char header[SEEP_TRACE_SECTION_BYTES];
    return file->size >= file->at + sizeof(header) &&
           seep_read_at(file->fd, file->at, header, sizeof(header)) && is_of_events(seep_fetch32(header));
}

// Commands that take a process or a file come here with a process, too.
static struct seep_error *no_file(const char *path, int trouble) {
    bool is_pid = trouble == ENOENT && *path && !path[strspn(path, "0123456789")];
    struct seep_error *error =
        is_pid ? seep_error_create(SEEP_E_UNSUPPORTED, "%s: a running process has no recording of its events",
                                   path)
               : seep_error_system(trouble, "%s: cannot open", path);
    return seep_error_hint(error, "name a trace that 'seep run --mode record -o FILE PROG' has written");
}

struct seep_error *seep_event_file_open(const char *path, struct seep_event_file **ret_file) {
    struct seep_event_file *file = calloc(1, sizeof(*file));
    if (!file)
        return seep_error_no_memory();
    file->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct seep_error *error = file->fd < 0 ? no_file(path, errno) : NULL;
    file->path = strdup(path);
    file->events = calloc(SEEP_CHUNK_EVENTS, sizeof(*file->events));
    file->unpacker = seep_chunk_unpacker_create();
    if (!error && (!file->path || !file->events || !file->unpacker))
        error = seep_error_no_memory();
    bool alone = !error && seep_raw_file_is_one(file->fd);
    if (!error)
        error = alone ? seep_event_alone_create(file->fd, path, seep_trace_most_bytes(file->fd), &file->alone)
                      : read_header(file);
    if (!error && !alone && !begins_with_events(file))
        error = seep_error_hint(seep_error_create(SEEP_E_UNSUPPORTED, "%s: there are no events in it", path),
                                "'seep run --mode record' makes a trace that has them");
    if (error)
        seep_event_file_close(file);
    else
        *ret_file = file;
    return error;
}

struct seep_error *seep_event_file_again(const struct seep_event_file *file,
                                         struct seep_event_file **ret_file) {
    return seep_event_file_open(file->path, ret_file);
}

const char *seep_event_file_rest(const struct seep_event_file *file, size_t i,
                                 int64_t *ret_start_realtime_ns) {
    return file->rests ? seep_event_rests_path(file->rests, i, ret_start_realtime_ns) : NULL;
}

bool seep_event_file_is_one(const char *path) {
    struct seep_event_file *file = NULL;
    struct seep_error *error = strcmp(path, "-") == 0 ? NULL : seep_event_file_open(path, &file);
    bool is_one = file;
    seep_event_file_close(file);
    seep_error_destroy(error);
    return is_one;
}
