// SPDX-License-Identifier: BSD-2-Clause
//
// Profiles of OpenTelemetry: one message ProfilesData, which is also the body of an export by HTTP. (Source:
// github.com/open-telemetry/opentelemetry-proto, version 1.11.0,
// opentelemetry/proto/profiles/v1development/profiles.proto. It is alpha: fields have changed their numbers
// between versions.) A profile has one type of sample, so there is a profile for each; all share one
// dictionary, in whose tables number 0 means that there is none. The message is inside out and has the
// lengths of its parts in front: the parts are made first.
#include <stdlib.h>
#include <string.h>

#include "base/version.h"
#include "output/measures.h"
#include "output/output.h"
#include "output/protobuf.h"
#include "view/stack_table.h"

enum { // field numbers, by message
    DATA_RESOURCE_PROFILES = 1,
    DATA_DICTIONARY = 2,
    DICTIONARY_MAPPING = 1,
    DICTIONARY_LOCATION = 2,
    DICTIONARY_FUNCTION = 3,
    DICTIONARY_LINK = 4,
    DICTIONARY_STRING = 5,
    DICTIONARY_ATTRIBUTE = 6,
    DICTIONARY_STACK = 7,
    MAPPING_FILENAME = 4,
    LOCATION_MAPPING = 1,
    LOCATION_ADDRESS = 2,
    LOCATION_LINE = 3,
    LINE_FUNCTION = 1,
    LINE_LINE = 2,
    FUNCTION_NAME = 1,
    FUNCTION_SYSTEM_NAME = 2,
    FUNCTION_FILENAME = 3,
    STACK_LOCATIONS = 1,
    RESOURCE_PROFILES_RESOURCE = 1,
    RESOURCE_PROFILES_SCOPE_PROFILES = 2,
    RESOURCE_ATTRIBUTE = 1,
    ATTRIBUTE_KEY = 1,
    ATTRIBUTE_VALUE = 2,
    VALUE_STRING = 1,
    VALUE_INT = 3,
    SCOPE_PROFILES_SCOPE = 1,
    SCOPE_PROFILES_PROFILE = 2,
    SCOPE_NAME = 1,
    SCOPE_VERSION = 2,
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_TIME = 3,
    PROFILE_DURATION = 4,
    PROFILE_PERIOD_TYPE = 5,
    PROFILE_PERIOD = 6,
    SAMPLE_STACK = 1,
    SAMPLE_VALUES = 4,
    TYPE_TYPE = 1,
    TYPE_UNIT = 2,
};

struct building {
    const struct seep_view *view;
    struct seep_stack_table table;
    uint32_t *nodes;
    struct seep_proto_strings strings;
    struct seep_proto dictionary;
    struct seep_proto part; // one item of a list, and what lies in it
    struct seep_proto inner;
};

// A mapping for each module, a function and a location for each frame. Those of a frame are its index + 1.
static struct seep_error *put_frames(struct building *building) {
    struct seep_proto *dictionary = &building->dictionary, *part = &building->part, *inner = &building->inner;
    struct seep_map modules = SEEP_MAP_INIT;
    uint64_t nr_modules = 0;
    static const unsigned tables[] = {DICTIONARY_MAPPING, DICTIONARY_LOCATION, DICTIONARY_FUNCTION,
                                      DICTIONARY_LINK, DICTIONARY_ATTRIBUTE};
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(tables); i++)
        seep_proto_put_message(dictionary, tables[i], part);
    for (size_t i = 0; i < building->table.nr_frames; i++) {
        const struct seep_view_frame *frame = &building->table.frames[i].frame;
        uint64_t filename = seep_proto_string(&building->strings, frame->module);
        uint64_t *module = seep_map_at(&modules, filename, NULL);
        if (!module) {
            dictionary->failed = true;
            break;
        }
        if (!*module) {
            *module = ++nr_modules;
            seep_proto_put_number(part, MAPPING_FILENAME, filename);
            seep_proto_put_message(dictionary, DICTIONARY_MAPPING, part);
        }
        uint64_t name = seep_proto_string(&building->strings, building->table.frames[i].label);
        uint64_t linkage = seep_proto_string(&building->strings, frame->linkage);
        seep_proto_put_number(part, FUNCTION_NAME, name);
        seep_proto_put_number(part, FUNCTION_SYSTEM_NAME, linkage ? linkage : name);
        seep_proto_put_number(part, FUNCTION_FILENAME, seep_proto_string(&building->strings, frame->file));
        seep_proto_put_message(dictionary, DICTIONARY_FUNCTION, part);
        seep_proto_put_number(inner, LINE_FUNCTION, i + 1);
        seep_proto_put_number(inner, LINE_LINE, frame->line);
        seep_proto_put_number(part, LOCATION_MAPPING, *module);
        seep_proto_put_number(part, LOCATION_ADDRESS, frame->offset);
        seep_proto_put_message(part, LOCATION_LINE, inner);
        seep_proto_put_message(dictionary, DICTIONARY_LOCATION, part);
    }
    seep_map_deinit(&modules);
    return dictionary->failed ? seep_error_no_memory() : NULL;
}

// A stack for each row: row i has number i + 1. Innermost first.
static void put_stacks(struct building *building) {
    const struct seep_stack_table *table = &building->table;
    seep_proto_put_message(&building->dictionary, DICTIONARY_STACK, &building->part);
    for (size_t i = 0; i < building->view->nr_rows; i++) {
        for (uint32_t node = building->nodes[i]; node != SEEP_NO_STACK; node = table->nodes[node].caller)
            seep_proto_put_varint(&building->inner, table->nodes[node].frame + UINT64_C(1));
        seep_proto_put_message(&building->part, STACK_LOCATIONS, &building->inner);
        seep_proto_put_message(&building->dictionary, DICTIONARY_STACK, &building->part);
    }
}

static void put_value_type(struct building *building, struct seep_proto *profile, unsigned field,
                           const char *type, const char *unit) {
    seep_proto_put_number(&building->part, TYPE_TYPE, seep_proto_string(&building->strings, type));
    seep_proto_put_number(&building->part, TYPE_UNIT, seep_proto_string(&building->strings, unit));
    seep_proto_put_message(profile, field, &building->part);
}

static void put_profile(struct building *building, const struct seep_go_type *type,
                        struct seep_proto *profile) {
    const struct seep_view *view = building->view;
    const struct seep_profile *first = view->session->profiles[view->first_process];
    put_value_type(building, profile, PROFILE_SAMPLE_TYPE, type->type, type->unit);
    for (size_t i = 0; i < view->nr_rows; i++) {
        uint64_t value = seep_measure_value(&seep_measures[type->measure], &view->rows[i]);
        if (!value)
            continue;
        seep_proto_put_number(&building->part, SAMPLE_STACK, i + 1);
        seep_proto_put_varint(&building->inner, value);
        seep_proto_put_message(&building->part, SAMPLE_VALUES, &building->inner);
        seep_proto_put_message(profile, PROFILE_SAMPLE, &building->part);
    }
    if (first->process.start_realtime_ns > 0)
        seep_proto_put_fixed64(profile, PROFILE_TIME, (uint64_t)first->process.start_realtime_ns);
    if (first->process.duration_ns > 0)
        seep_proto_put_number(profile, PROFILE_DURATION, (uint64_t)first->process.duration_ns);
    put_value_type(building, profile, PROFILE_PERIOD_TYPE, "space", "bytes");
    seep_proto_put_number(profile, PROFILE_PERIOD, SEEP_MAX(first->health.sample_bytes, (uint64_t)1));
}

static void put_attribute(struct building *building, struct seep_proto *resource, const char *key,
                          const char *text, uint64_t number) {
    if (text)
        seep_proto_put_text(&building->inner, VALUE_STRING, text);
    else
        seep_proto_put_number(&building->inner, VALUE_INT, number);
    seep_proto_put_text(&building->part, ATTRIBUTE_KEY, key);
    seep_proto_put_message(&building->part, ATTRIBUTE_VALUE, &building->inner);
    seep_proto_put_message(resource, RESOURCE_ATTRIBUTE, &building->part);
}

// ResourceProfiles with all profiles, the one of live bytes first: it is what readers show by themselves.
static void put_profiles(struct building *building, struct seep_proto *resource_profiles) {
    const struct seep_process *process =
        &building->view->session->profiles[building->view->first_process]->process;
    struct seep_proto scope_profiles = {NULL}, profile = {NULL};
    put_attribute(building, &profile, "service.name", process->name ? process->name : "", 0);
    put_attribute(building, &profile, "process.pid", NULL, process->pid);
    if (process->exe)
        put_attribute(building, &profile, "process.executable.path", process->exe, 0);
    seep_proto_put_message(resource_profiles, RESOURCE_PROFILES_RESOURCE, &profile);
    seep_proto_put_text(&building->part, SCOPE_NAME, "seep");
    seep_proto_put_text(&building->part, SCOPE_VERSION, SEEP_VERSION);
    seep_proto_put_message(&scope_profiles, SCOPE_PROFILES_SCOPE, &building->part);
    for (unsigned round = 0; round < 2; round++)
        for (size_t t = 0; t < SEEP_GO_TYPES_NR; t++) {
            bool is_first = seep_go_types[t].measure == SEEP_MEASURE_LIVE_BYTES;
            if (is_first != (round == 0) || !seep_go_type_is_known(&seep_go_types[t], building->view))
                continue;
            put_profile(building, &seep_go_types[t], &profile);
            seep_proto_put_message(&scope_profiles, SCOPE_PROFILES_PROFILE, &profile);
        }
    seep_proto_put_message(resource_profiles, RESOURCE_PROFILES_SCOPE_PROFILES, &scope_profiles);
    seep_proto_deinit(&profile);
    seep_proto_deinit(&scope_profiles);
}

static struct seep_error *build(FILE *out, struct building *building) {
    struct seep_proto resource_profiles = {NULL};
    struct seep_error *error = put_frames(building);
    if (error)
        return error;
    put_stacks(building);
    put_profiles(building, &resource_profiles);
    bool failed = resource_profiles.failed | building->dictionary.failed | building->strings.fields.failed;
    if (!failed) {
        seep_proto_flush(out, DATA_RESOURCE_PROFILES, &resource_profiles);
        seep_proto_put_raw(&building->dictionary, building->strings.fields.bytes,
                           building->strings.fields.nr);
        failed = building->dictionary.failed;
    }
    if (!failed)
        seep_proto_flush(out, DATA_DICTIONARY, &building->dictionary);
    seep_proto_deinit(&resource_profiles);
    return failed ? seep_error_no_memory() : NULL;
}

static struct seep_error *write_otlp(FILE *out, struct seep_view *view, const struct seep_summary *summary) {
    struct building building = {.view = view, .table = SEEP_STACK_TABLE_INIT};
    seep_proto_strings_init(&building.strings, DICTIONARY_STRING);
    struct seep_error *error = seep_stack_table_of(&building.table, view, &building.nodes);
    if (!error)
        error = build(out, &building);
    free(building.nodes);
    seep_proto_deinit(&building.dictionary);
    seep_proto_deinit(&building.part);
    seep_proto_deinit(&building.inner);
    seep_proto_strings_deinit(&building.strings);
    seep_stack_table_deinit(&building.table);
    return error;
}

const struct seep_output seep_output_otlp = {
    .name = "otlp",
    .suffix = ".pb",
    .what = "profiles of OpenTelemetry (alpha), as a collector takes them by HTTP",
    .needs = SEEP_OUTPUT_SITES | SEEP_OUTPUT_ALL | SEEP_OUTPUT_BINARY,
    .write = write_otlp,
};
