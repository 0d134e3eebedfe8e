// SPDX-License-Identifier: BSD-2-Clause
//
// speedscope's file format: the frames once, and for each figure that is known and not 0 everywhere a sampled
// profile, whose samples are the stacks, outermost frame first. (Source:
// speedscope.app/file-format-schema.json) What --sort sorts by is shown first.
#include <inttypes.h>
#include <stdlib.h>

#include "base/sum.h"
#include "base/version.h"
#include "output/json_text.h"
#include "output/measures.h"
#include "output/output.h"
#include "view/stack_table.h"

struct document {
    FILE *out;
    const struct seep_view *view;
    struct seep_stack_table table;
    uint32_t *nodes;
    uint32_t *path;
    size_t path_capacity;
    unsigned nr_profiles;
};

static void put_frames(struct document *d) {
    for (size_t i = 0; i < d->table.nr_frames; i++) {
        const struct seep_view_frame *frame = &d->table.frames[i].frame;
        fputs(i ? ",\n{\"name\":" : "\n{\"name\":", d->out);
        seep_put_json_text(d->out, d->table.frames[i].label);
        fputs(",\"file\":", d->out);
        seep_put_json_text(d->out, frame->file ? frame->file : frame->module);
        if (frame->line)
            fprintf(d->out, ",\"line\":%u", frame->line);
        fputc('}', d->out);
    }
}

// There may be hundreds of millions of them.
static void put_index(FILE *out, uint32_t index, char after) {
    char text[12];
    size_t at = sizeof(text);
    text[--at] = after;
    do {
        text[--at] = (char)('0' + index % 10);
        index /= 10;
    } while (index);
    fwrite(text + at, 1, sizeof(text) - at, out);
}

static struct seep_error *put_sample(struct document *d, uint32_t node) {
    size_t nr = 0;
    for (; node != SEEP_NO_STACK; node = d->table.nodes[node].caller) {
        if (!seep_grow(&d->path, &d->path_capacity, nr + 1, sizeof(*d->path)))
            return seep_error_no_memory();
        d->path[nr++] = d->table.nodes[node].frame;
    }
    fputc('[', d->out);
    for (size_t i = nr; i > 0; i--)
        put_index(d->out, d->path[i - 1], i > 1 ? ',' : ']');
    fputs(nr ? "" : "]", d->out);
    return NULL;
}

static struct seep_error *put_profile(struct document *d, const struct seep_measure *measure) {
    uint64_t sum = 0;
    for (size_t i = 0; i < d->view->nr_rows; i++)
        seep_add_up(&sum, seep_measure_value(measure, &d->view->rows[i]));
    if (!sum)
        return NULL;
    fputs(d->nr_profiles++ ? ",\n" : "\n", d->out);
    fprintf(d->out,
            "{\"type\":\"sampled\",\"name\":\"%s\",\"unit\":\"%s\",\"startValue\":0,\"endValue\":%" PRIu64
            ",\n\"samples\":[",
            measure->title, measure->bytes ? "bytes" : "none", SEEP_MIN(sum, (uint64_t)INT64_MAX));
    const char *between = "\n";
    struct seep_error *error = NULL;
    for (size_t i = 0; !error && i < d->view->nr_rows; i++) {
        if (!seep_measure_value(measure, &d->view->rows[i]))
            continue;
        fputs(between, d->out);
        between = ",\n";
        error = put_sample(d, d->nodes[i]);
    }
    fputs("],\n\"weights\":[", d->out);
    between = "";
    for (size_t i = 0; i < d->view->nr_rows; i++) {
        uint64_t value = seep_measure_value(measure, &d->view->rows[i]);
        if (value)
            fprintf(d->out, "%s%" PRIu64, between, value);
        between = value ? "," : between;
    }
    fputs("]}", d->out);
    return error;
}

static struct seep_error *write_speedscope(FILE *out, struct seep_view *view,
                                           const struct seep_summary *summary) {
    struct document d = {.out = out, .view = view};
    const struct seep_measure *first = seep_measure_of_sort(view->options.sort);
    struct seep_error *error = seep_stack_table_of(&d.table, view, &d.nodes);
    if (!error) {
        fputs("{\"$schema\":\"https://www.speedscope.app/"
              "file-format-schema.json\",\n\"exporter\":\"seep " SEEP_VERSION "\",\n\"name\":",
              out);
        seep_put_json_text(out, view->session->profiles[view->first_process]->process.name);
        fputs(",\n\"activeProfileIndex\":0,\n\"shared\":{\"frames\":[", out);
        put_frames(&d);
        fputs("]},\n\"profiles\":[", out);
        error = put_profile(&d, first);
    }
    for (size_t i = 0; !error && i < SEEP_MEASURE_NR; i++)
        if (&seep_measures[i] != first && i != SEEP_MEASURE_PEAK_BYTES &&
            seep_measure_is_known(&seep_measures[i], view))
            error = put_profile(&d, &seep_measures[i]);
    if (!error && !d.nr_profiles) // speedscope opens no file without a profile
        fputs("{\"type\":\"sampled\",\"name\":\"live "
              "bytes\",\"unit\":\"bytes\",\"startValue\":0,\"endValue\":0,"
              "\"samples\":[],\"weights\":[]}",
              out);
    fputs("]}\n", out);
    free(d.nodes);
    free(d.path);
    seep_stack_table_deinit(&d.table);
    return error;
}

const struct seep_output seep_output_speedscope = {
    .name = "speedscope",
    .suffix = ".speedscope.json",
    .what = "flame graphs for speedscope, one for each figure",
    .needs = SEEP_OUTPUT_SITES | SEEP_OUTPUT_ALL,
    .is_json = true,
    .write = write_speedscope,
};
