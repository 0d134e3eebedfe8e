// SPDX-License-Identifier: BSD-2-Clause
// What mmleak dumps: "ADDRESS CALLER SIZE", and without a size a free, see import_format.h. Callers are
// run-time addresses, so that a copy of /proc/PID/maps says of which file they are.
#include <stdlib.h>
#include <string.h>

#include "base/map_line.h"
#include "file/import_format.h"
#include "file/lines.h"

struct area {
    uint64_t start, end, bias;
    uint32_t module;
};

struct mmleak {
    struct area *areas; // of the maps, by address
    size_t nr_areas, capacity;
};

static int by_start(const void *a, const void *b) {
    const struct area *left = a, *right = b;
    return (left->start > right->start) - (left->start < right->start);
}

static int find_area(const void *caller, const void *of_areas) {
    uint64_t address = *(const uint64_t *)caller;
    const struct area *area = of_areas;
    return address < area->start ? -1 : address >= area->end;
}

static struct seep_error *read_maps(struct seep_import_reading *reading) {
    struct mmleak *mmleak = reading->state;
    struct seep_lines *lines = NULL;
    struct seep_error *error =
        reading->options->maps ? seep_lines_open(reading->options->maps, &lines) : NULL;
    while (!error && lines) {
        char *text;
        struct seep_map_line line;
        error = seep_lines_next(lines, &text);
        if (error || !text)
            break;
        if (!seep_map_line_read(text, &line) || line.path[0] != '/')
            continue;
        size_t length = strcspn(line.path, "\n");
        struct area area = {.start = line.start, .end = line.end, .bias = line.start - line.file_off};
        if (!seep_grow(&mmleak->areas, &mmleak->capacity, mmleak->nr_areas + 1, sizeof(*mmleak->areas)) ||
            !seep_import_module(&reading->importing, line.path, length, &area.module))
            error = seep_error_no_memory();
        else
            mmleak->areas[mmleak->nr_areas++] = area;
    }
    seep_lines_close(lines);
    if (mmleak->nr_areas)
        qsort(mmleak->areas, mmleak->nr_areas, sizeof(*mmleak->areas), by_start);
    return error;
}

static void free_maps(void *state) {
    struct mmleak *mmleak = state;
    free(mmleak->areas);
}

static bool node_of(struct seep_import_reading *reading, uint64_t caller, uint32_t *ret_node) {
    const struct mmleak *mmleak = reading->state;
    const struct area *area = mmleak->nr_areas ? bsearch(&caller, mmleak->areas, mmleak->nr_areas,
                                                         sizeof(*mmleak->areas), find_area)
                                               : NULL;
    if (area)
        return seep_import_node(&reading->importing, 0, area->module, caller - area->bias, NULL, ret_node);
    return seep_import_node(&reading->importing, 0, 0, caller & ((UINT64_C(1) << 47) - 1), NULL, ret_node);
}

static struct seep_error *read_line(struct seep_import_reading *reading, char *at, uint64_t line) {
    uint64_t address, caller, size;
    uint32_t node;
    seep_import_pass_time(reading, line);
    if (!*at) {
        reading->importing.counts.nr_skipped++;
        return NULL;
    }
    if (!seep_import_take_hex(&at, &address) || !seep_import_take_hex(&at, &caller))
        return seep_import_damaged(reading, line);
    if (!*at)
        return seep_import_free(&reading->importing, address, SEEP_RELEASE_FREE);
    if (!seep_import_take_number(&at, &size) || *at)
        return seep_import_damaged(reading, line);
    if (!node_of(reading, caller, &node))
        return seep_error_no_memory();
    return seep_import_allocation(&reading->importing, address, size, node, SEEP_VIA_MALLOC);
}

const struct seep_import_format seep_import_mmleak = {.name = "mmleak",
                                                      .takes_maps = true,
                                                      .state_bytes = sizeof(struct mmleak),
                                                      .begin = read_maps,
                                                      .line = read_line,
                                                      .end = free_maps};
