// SPDX-License-Identifier: BSD-2-Clause
//
// pprof's profile.proto, packed by gzip, as it is kept and sent everywhere. (Source: github.com/google/pprof,
// proto/profile.proto.) Each frame is a location of
// its own; inlined frames are locations too. Message by message: nothing of the size of the profile is kept.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/gzip.h"
#include "output/measures.h"
#include "output/output.h"
#include "output/protobuf.h"
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

static void put_value_type(struct seep_proto *message, struct seep_proto_strings *strings, const char *type,
                           const char *unit) {
    uint64_t type_id = seep_proto_string(strings, type), unit_id = seep_proto_string(strings, unit);
    seep_proto_put_number(message, 1, type_id);
    seep_proto_put_number(message, 2, unit_id);
}

// Mapping, function and location of each frame: their ids are index + 1, modules by name.
static struct seep_error *put_frames(FILE *out, const struct seep_stack_table *table,
                                     struct seep_proto_strings *strings) {
    struct seep_proto message = {NULL};
    struct seep_map modules = SEEP_MAP_INIT;
    uint64_t nr_modules = 0;
    for (size_t i = 0; i < table->nr_frames && !message.failed; i++) {
        const struct seep_view_frame *frame = &table->frames[i].frame;
        uint64_t *module = seep_map_at(&modules, seep_proto_string(strings, frame->module), NULL);
        if (!module)
            break;
        if (!*module) {
            *module = ++nr_modules;
            seep_proto_put_number(&message, 1, nr_modules);
            seep_proto_put_number(&message, 5, seep_proto_string(strings, frame->module));
            for (unsigned field = 7; field <= 10; field++) // has functions, files, lines, inlined frames
                seep_proto_put_number(&message, field, 1);
            seep_proto_flush(out, PROFILE_MAPPING, &message);
        }
        uint64_t name = seep_proto_string(strings, table->frames[i].label);
        uint64_t linkage = seep_proto_string(strings, frame->linkage);
        uint64_t file = seep_proto_string(strings, frame->file);
        seep_proto_put_number(&message, 1, i + 1);
        seep_proto_put_number(&message, 2, name);
        seep_proto_put_number(&message, 3, linkage ? linkage : name);
        seep_proto_put_number(&message, 4, file);
        seep_proto_flush(out, PROFILE_FUNCTION, &message);
        struct seep_proto line = {NULL};
        seep_proto_put_number(&line, 1, i + 1);
        seep_proto_put_number(&line, 2, frame->line);
        seep_proto_put_number(&message, 1, i + 1);
        seep_proto_put_number(&message, 2, *module);
        seep_proto_put_number(&message, 3, frame->offset);
        seep_proto_put_bytes(&message, 4, line.bytes, line.nr);
        message.failed |= line.failed;
        seep_proto_deinit(&line);
        seep_proto_flush(out, PROFILE_LOCATION, &message);
    }
    bool failed = message.failed;
    seep_map_deinit(&modules);
    seep_proto_deinit(&message);
    return failed ? seep_error_no_memory() : NULL;
}

static struct seep_error *put_samples(FILE *out, const struct seep_view *view,
                                      const struct seep_stack_table *table, const uint32_t *nodes) {
    struct seep_proto message = {NULL}, list = {NULL};
    for (size_t i = 0; i < view->nr_rows; i++) {
        list.nr = 0;
        for (uint32_t node = nodes[i]; node != SEEP_NO_STACK; node = table->nodes[node].caller)
            seep_proto_put_varint(&list, table->nodes[node].frame + UINT64_C(1));
        seep_proto_put_bytes(&message, 1, list.bytes, list.nr);
        list.nr = 0;
        for (size_t t = 0; t < SEEP_GO_TYPES_NR; t++)
            if (seep_go_type_is_known(&seep_go_types[t], view))
                seep_proto_put_varint(
                    &list,
                    SEEP_MIN(seep_measure_value(&seep_measures[seep_go_types[t].measure], &view->rows[i]),
                             (uint64_t)INT64_MAX));
        seep_proto_put_bytes(&message, 2, list.bytes, list.nr);
        seep_proto_flush(out, PROFILE_SAMPLE, &message);
    }
    bool failed = message.failed || list.failed;
    seep_proto_deinit(&message);
    seep_proto_deinit(&list);
    return failed ? seep_error_no_memory() : NULL;
}

static struct seep_error *put_head(FILE *out, const struct seep_view *view,
                                   struct seep_proto_strings *strings) {
    const struct seep_profile *first = view->session->profiles[view->first_process];
    struct seep_proto message = {NULL};
    for (size_t t = 0; t < SEEP_GO_TYPES_NR; t++) {
        if (!seep_go_type_is_known(&seep_go_types[t], view))
            continue;
        put_value_type(&message, strings, seep_go_types[t].type, seep_go_types[t].unit);
        seep_proto_flush(out, PROFILE_SAMPLE_TYPE, &message);
    }
    put_value_type(&message, strings, "space", "bytes");
    seep_proto_flush(out, PROFILE_PERIOD_TYPE, &message);
    uint64_t live = seep_proto_string(strings, "inuse_space");
    seep_proto_put_number(&message, PROFILE_PERIOD, SEEP_MAX(first->health.sample_bytes, (uint64_t)1));
    seep_proto_put_number(&message, PROFILE_DEFAULT_SAMPLE_TYPE, live);
    if (first->process.start_realtime_ns > 0)
        seep_proto_put_number(&message, PROFILE_TIME_NANOS, (uint64_t)first->process.start_realtime_ns);
    if (first->process.duration_ns > 0)
        seep_proto_put_number(&message, PROFILE_DURATION_NANOS, (uint64_t)first->process.duration_ns);
    fwrite(message.bytes, 1, message.nr, out);
    bool failed = message.failed;
    seep_proto_deinit(&message);
    return failed ? seep_error_no_memory() : NULL;
}

static struct seep_error *write_profile(FILE *out, struct seep_view *view) {
    struct seep_stack_table table = SEEP_STACK_TABLE_INIT;
    struct seep_proto_strings strings;
    seep_proto_strings_init(&strings, PROFILE_STRING);
    uint32_t *nodes = NULL;
    struct seep_error *error = seep_stack_table_of(&table, view, &nodes);
    if (!error)
        error = put_head(out, view, &strings);
    if (!error)
        error = put_frames(out, &table, &strings);
    if (!error)
        error = put_samples(out, view, &table, nodes);
    fwrite(strings.fields.bytes, 1, strings.fields.nr, out);
    if (!error && strings.fields.failed)
        error = seep_error_no_memory();
    free(nodes);
    seep_proto_strings_deinit(&strings);
    seep_stack_table_deinit(&table);
    return error;
}

static struct seep_error *write_pprof(FILE *out, struct seep_view *view, const struct seep_summary *summary) {
    FILE *packed = seep_gzip_open(out, 4);
    if (!packed)
        return seep_error_no_memory();
    struct seep_error *error = write_profile(packed, view);
    fclose(packed); // what could not be written, `out` tells
    return error;
}

const struct seep_output seep_output_pprof = {
    .name = "pprof",
    .suffix = ".pb.gz",
    .what = "a heap profile for go tool pprof, and all that reads those",
    .needs = SEEP_OUTPUT_SITES | SEEP_OUTPUT_ALL | SEEP_OUTPUT_BINARY,
    .write = write_pprof,
};
