// SPDX-License-Identifier: BSD-2-Clause
//
// pprof's profile.proto, not compressed. (Source: github.com/google/pprof, proto/profile.proto; encoding:
// protobuf.dev/programming-guides/encoding.) The types of samples are those of Go's heap profiles, so that
// every reader of those knows them; lost_space is added where a scan was made. Each frame is a location of
// its own; inlined frames are locations too. Message by message: nothing of the size of the profile is kept.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "output/format.h"
#include "output/measures.h"
#include "output/output.h"
#include "view/stack_table.h"

// Field numbers of message Profile.
enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_MAPPING = 3,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING = 6,
    PROFILE_TIME_NANOS = 9,
    PROFILE_DURATION_NANOS = 10,
    PROFILE_PERIOD_TYPE = 11,
    PROFILE_PERIOD = 12,
    PROFILE_DEFAULT_SAMPLE_TYPE = 14,
};

struct message {
    unsigned char *bytes;
    size_t nr;
    size_t capacity;
    bool failed; // out of memory
};

static void put_byte(struct message *message, unsigned char byte) {
    message->failed |= !seep_grow(&message->bytes, &message->capacity, message->nr + 1, 1);
    if (!message->failed)
        message->bytes[message->nr++] = byte;
}

static void put_varint(struct message *message, uint64_t value) {
    for (; value >= 0x80; value >>= 7)
        put_byte(message, (unsigned char)(value | 0x80));
    put_byte(message, (unsigned char)value);
}

static void put_number(struct message *message, unsigned field, uint64_t value) {
    put_varint(message, field << 3);
    put_varint(message, value);
}

static void put_bytes(struct message *message, unsigned field, const void *bytes, size_t nr) {
    put_varint(message, field << 3 | 2);
    put_varint(message, nr);
    for (size_t i = 0; i < nr; i++)
        put_byte(message, ((const unsigned char *)bytes)[i]);
}

// A message as a field of the profile; empties it.
static void flush(FILE *out, unsigned field, struct message *message) {
    unsigned char head[16];
    size_t nr = 0;
    for (uint64_t value = field << 3 | 2; nr == 0; nr++)
        head[nr] = (unsigned char)value;
    uint64_t length = message->nr;
    for (; length >= 0x80; length >>= 7)
        head[nr++] = (unsigned char)(length | 0x80);
    head[nr++] = (unsigned char)length;
    fwrite(head, 1, nr, out);
    fwrite(message->bytes, 1, message->nr, out);
    message->nr = 0;
}

struct strings { // string_table, as it is written: 0 is ""
    FILE *out;
    struct seep_map
        ids; // hash of a text to its number; the table's texts have no two of one hash but by chance
    uint64_t nr;
};

// The number of a text, which is written when it is new.
static uint64_t string_of(struct strings *strings, struct message *scratch, const char *text) {
    if (!text || !*text)
        return 0;
    uint64_t *slot = seep_map_at(&strings->ids, seep_hash_bytes(text, strlen(text)), NULL);
    if (!slot) {
        scratch->failed = true;
        return 0;
    }
    if (!*slot) {
        // UTF-8 is the law of protobuf strings: what is not becomes '?'.
        char *safe = strdup(text);
        scratch->failed |= !safe;
        for (char *at = safe; at && *at;) {
            uint32_t code;
            unsigned length = seep_utf8_next(at, &code);
            if (!length)
                *at = '?';
            at += SEEP_MAX(length, 1u);
        }
        struct message message = {NULL};
        for (const char *at = safe; at && *at; at++)
            put_byte(&message, (unsigned char)*at);
        flush(strings->out, PROFILE_STRING, &message);
        scratch->failed |= message.failed;
        free(message.bytes);
        free(safe);
        *slot = strings->nr++;
    }
    return *slot;
}

struct sample_type {
    enum seep_measure_id measure;
    const char *type;
    const char *unit;
};

static const struct sample_type sample_types[] = {
    {SEEP_MEASURE_ALLOCATIONS, "alloc_objects", "count"},
    {SEEP_MEASURE_ALLOCATED_BYTES, "alloc_space", "bytes"},
    {SEEP_MEASURE_LIVE_BLOCKS, "inuse_objects", "count"},
    {SEEP_MEASURE_LIVE_BYTES, "inuse_space", "bytes"},
    {SEEP_MEASURE_LEAKED_BYTES, "lost_space", "bytes"},
};

static bool has(const struct seep_view *view, const struct sample_type *type) {
    return type->measure != SEEP_MEASURE_LEAKED_BYTES ||
           seep_measure_is_known(&seep_measures[type->measure], view);
}

static void put_value_type(struct message *message, struct strings *strings, const char *type,
                           const char *unit) {
    uint64_t type_id = string_of(strings, message, type), unit_id = string_of(strings, message, unit);
    put_number(message, 1, type_id);
    put_number(message, 2, unit_id);
}

// Mapping, function and location of each frame: their ids are index + 1, modules by name.
static struct seep_error *put_frames(FILE *out, const struct seep_stack_table *table,
                                     struct strings *strings) {
    struct message message = {NULL};
    struct seep_map modules = SEEP_MAP_INIT;
    uint64_t nr_modules = 0;
    for (size_t i = 0; i < table->nr_frames && !message.failed; i++) {
        const struct seep_view_frame *frame = &table->frames[i].frame;
        uint64_t *module = seep_map_at(&modules, string_of(strings, &message, frame->module), NULL);
        if (!module)
            break;
        if (!*module) {
            *module = ++nr_modules;
            put_number(&message, 1, nr_modules);
            put_number(&message, 5, string_of(strings, &message, frame->module));
            for (unsigned field = 7; field <= 10; field++) // has functions, files, lines, inlined frames
                put_number(&message, field, 1);
            flush(out, PROFILE_MAPPING, &message);
        }
        uint64_t name = string_of(strings, &message, table->frames[i].label);
        uint64_t linkage = string_of(strings, &message, frame->linkage);
        uint64_t file = string_of(strings, &message, frame->file);
        put_number(&message, 1, i + 1);
        put_number(&message, 2, name);
        put_number(&message, 3, linkage ? linkage : name);
        put_number(&message, 4, file);
        flush(out, PROFILE_FUNCTION, &message);
        struct message line = {NULL};
        put_number(&line, 1, i + 1);
        put_number(&line, 2, frame->line);
        put_number(&message, 1, i + 1);
        put_number(&message, 2, *module);
        put_number(&message, 3, frame->offset);
        put_bytes(&message, 4, line.bytes, line.nr);
        message.failed |= line.failed;
        free(line.bytes);
        flush(out, PROFILE_LOCATION, &message);
    }
    bool failed = message.failed;
    seep_map_deinit(&modules);
    free(message.bytes);
    return failed ? seep_error_no_memory() : NULL;
}

static struct seep_error *put_samples(FILE *out, const struct seep_view *view,
                                      const struct seep_stack_table *table, const uint32_t *nodes) {
    struct message message = {NULL}, list = {NULL};
    for (size_t i = 0; i < view->nr_rows; i++) {
        list.nr = 0;
        for (uint32_t node = nodes[i]; node != SEEP_NO_STACK; node = table->nodes[node].caller)
            put_varint(&list, table->nodes[node].frame + UINT64_C(1));
        put_bytes(&message, 1, list.bytes, list.nr);
        list.nr = 0;
        for (size_t t = 0; t < SEEP_ARRAY_SIZE(sample_types); t++)
            if (has(view, &sample_types[t]))
                put_varint(&list, SEEP_MIN(seep_measure_value(&seep_measures[sample_types[t].measure],
                                                              &view->rows[i]),
                                           (uint64_t)INT64_MAX));
        put_bytes(&message, 2, list.bytes, list.nr);
        flush(out, PROFILE_SAMPLE, &message);
    }
    bool failed = message.failed || list.failed;
    free(message.bytes);
    free(list.bytes);
    return failed ? seep_error_no_memory() : NULL;
}

static struct seep_error *put_head(FILE *out, const struct seep_view *view, struct strings *strings) {
    const struct seep_profile *first = view->session->profiles[view->first_process];
    struct message message = {NULL};
    flush(out, PROFILE_STRING, &message); // number 0 is ""
    for (size_t t = 0; t < SEEP_ARRAY_SIZE(sample_types); t++) {
        if (!has(view, &sample_types[t]))
            continue;
        put_value_type(&message, strings, sample_types[t].type, sample_types[t].unit);
        flush(out, PROFILE_SAMPLE_TYPE, &message);
    }
    put_value_type(&message, strings, "space", "bytes");
    flush(out, PROFILE_PERIOD_TYPE, &message);
    uint64_t live = string_of(strings, &message, "inuse_space");
    put_number(&message, PROFILE_PERIOD, SEEP_MAX(first->health.sample_bytes, (uint64_t)1));
    put_number(&message, PROFILE_DEFAULT_SAMPLE_TYPE, live);
    if (first->process.start_realtime_ns > 0)
        put_number(&message, PROFILE_TIME_NANOS, (uint64_t)first->process.start_realtime_ns);
    if (first->process.duration_ns > 0)
        put_number(&message, PROFILE_DURATION_NANOS, (uint64_t)first->process.duration_ns);
    fwrite(message.bytes, 1, message.nr, out);
    bool failed = message.failed;
    free(message.bytes);
    return failed ? seep_error_no_memory() : NULL;
}

static struct seep_error *write_pprof(FILE *out, struct seep_view *view, const struct seep_summary *summary) {
    struct seep_stack_table table = SEEP_STACK_TABLE_INIT;
    struct strings strings = {.out = out, .ids = SEEP_MAP_INIT, .nr = 1};
    uint32_t *nodes = NULL;
    struct seep_error *error = seep_stack_table_of(&table, view, &nodes);
    if (!error)
        error = put_head(out, view, &strings);
    if (!error)
        error = put_frames(out, &table, &strings);
    if (!error)
        error = put_samples(out, view, &table, nodes);
    free(nodes);
    seep_map_deinit(&strings.ids);
    seep_stack_table_deinit(&table);
    return error;
}

const struct seep_output seep_output_pprof = {
    .name = "pprof",
    .suffix = ".pb",
    .what = "a heap profile for go tool pprof, and all that reads those",
    .needs = SEEP_OUTPUT_SITES | SEEP_OUTPUT_ALL | SEEP_OUTPUT_BINARY,
    .write = write_pprof,
};
