// SPDX-License-Identifier: BSD-2-Clause
//
// speedscope's file format: the frames once, and for each figure that is known and not 0 everywhere an
// evented profile: the tree of the stacks, whose frames open and close at the sum of what lies before them.
// Sampled profiles repeat each stack, and become longer than a browser's longest text. (Source:
// speedscope.app/file-format-schema.json) What --sort sorts by is shown first.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/sum.h"
#include "base/version.h"
#include "output/format.h"
#include "output/json_text.h"
#include "output/measures.h"
#include "output/output.h"
#include "view/stack_table.h"

struct document {
    FILE *out;
    const struct seep_view *view;
    struct seep_stack_table table;
    uint32_t *nodes;
    struct branch *branches; // by node, of the figure that is being written
    unsigned nr_profiles;
};

struct branch {
    uint64_t own;
    uint64_t total;
    uint32_t first; // callee with a total + 1; 0: none
    uint32_t next;  // of the same caller + 1; 0: none
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

// Sums the figure up over the tree. `ret_first`: the first root + 1. Returns what no frame has.
static uint64_t grow_branches(struct document *d, const struct seep_measure *measure, uint32_t *ret_first) {
    uint64_t without_frames = 0;
    memset(d->branches, 0, d->table.nr_nodes * sizeof(*d->branches));
    for (size_t i = 0; i < d->view->nr_rows; i++) {
        uint32_t node = d->nodes[i];
        seep_add_up(node == SEEP_NO_STACK ? &without_frames : &d->branches[node].own,
                    seep_measure_value(measure, &d->view->rows[i]));
    }
    *ret_first = 0;
    for (size_t i = d->table.nr_nodes; i > 0; i--) { // callers come first in the table
        struct branch *branch = &d->branches[i - 1];
        uint32_t caller = d->table.nodes[i - 1].caller;
        seep_add_up(&branch->total, branch->own);
        if (!branch->total)
            continue;
        uint32_t *first = caller == SEEP_NO_STACK ? ret_first : &d->branches[caller].first;
        branch->next = *first;
        *first = (uint32_t)i;
        if (caller != SEEP_NO_STACK)
            seep_add_up(&d->branches[caller].total, branch->total);
    }
    return without_frames;
}

// Sums of absurd counts stop at the largest number that every reader of JSON takes.
static uint64_t shown(uint64_t value) {
    return SEEP_MIN(value, (uint64_t)INT64_MAX);
}

// There are millions of events. Most have the place of the event before, so the text of that place is kept.
struct events {
    const struct document *d;
    uint64_t at;
    size_t nr_text;
    char text[SEEP_NUMBER_DIGITS + 4]; // of `at`, and what ends an event
    bool more;
};

static void move_to(struct events *events, uint64_t at) {
    events->at = at;
    events->nr_text = seep_number_text(shown(at), events->text);
    events->text[events->nr_text++] = '}';
}

static void put_event(struct events *events, char type, uint32_t node) {
    static const char start[] = ",\n{\"type\":\"?\",\"frame\":", middle[] = ",\"at\":";
    enum { COMMA = 1, TYPE = sizeof(",\n{\"type\":\"") - 1 };
    char text[sizeof(start) + sizeof(middle) + SEEP_NUMBER_DIGITS + sizeof(events->text)];
    size_t nr = sizeof(start) - 1;
    memcpy(text, start, nr);
    text[TYPE] = type;
    nr += seep_number_text(events->d->table.nodes[node].frame, text + nr);
    memcpy(text + nr, middle, sizeof(middle) - 1);
    nr += sizeof(middle) - 1;
    memcpy(text + nr, events->text, sizeof(events->text));
    nr += events->nr_text;
    size_t from = events->more ? 0 : COMMA;
    fwrite_unlocked(text + from, 1, nr - from, events->d->out);
    events->more = true;
}

// The tree may be as deep as the program's stacks: the callers of a node are found in the table.
static void put_events(const struct document *d, uint32_t first) {
    struct events events = {.d = d};
    uint32_t next = first;
    move_to(&events, 0);
    while (next) {
        uint32_t node = next - 1;
        put_event(&events, 'O', node);
        if (d->branches[node].own) {
            uint64_t at = events.at;
            seep_add_up(&at, d->branches[node].own);
            move_to(&events, at);
        }
        next = d->branches[node].first;
        while (!next && node != SEEP_NO_STACK) {
            put_event(&events, 'C', node);
            next = d->branches[node].next;
            node = d->table.nodes[node].caller;
        }
    }
}

static void put_profile(struct document *d, const struct seep_measure *measure) {
    uint32_t first;
    uint64_t sum = grow_branches(d, measure, &first);
    for (uint32_t root = first; root; root = d->branches[root - 1].next)
        seep_add_up(&sum, d->branches[root - 1].total);
    if (!sum)
        return;
    fputs(d->nr_profiles++ ? ",\n" : "\n", d->out);
    fprintf(d->out,
            "{\"type\":\"evented\",\"name\":\"%s\",\"unit\":\"%s\",\"startValue\":0,\"endValue\":%" PRIu64
            ",\n\"events\":[",
            measure->title, measure->bytes ? "bytes" : "none", shown(sum));
    put_events(d, first);
    fputs("]}", d->out);
}

static struct seep_error *write_speedscope(FILE *out, struct seep_view *view,
                                           const struct seep_summary *summary) {
    struct document d = {.out = out, .view = view};
    const struct seep_measure *first = seep_measure_of_sort(view->options.sort);
    struct seep_error *error = seep_stack_table_of(&d.table, view, &d.nodes);
    if (!error) {
        d.branches = malloc(SEEP_MAX(d.table.nr_nodes, (size_t)1) * sizeof(*d.branches));
        error = d.branches ? NULL : seep_error_no_memory();
    }
    if (!error) {
        fputs("{\"$schema\":\"https://www.speedscope.app/"
              "file-format-schema.json\",\n\"exporter\":\"seep " SEEP_VERSION "\",\n\"name\":",
              out);
        seep_put_json_text(out, view->session->profiles[view->first_process]->process.name);
        fputs(",\n\"activeProfileIndex\":0,\n\"shared\":{\"frames\":[", out);
        put_frames(&d);
        fputs("]},\n\"profiles\":[", out);
        put_profile(&d, first);
    }
    for (size_t i = 0; !error && i < SEEP_MEASURE_NR; i++)
        if (&seep_measures[i] != first && i != SEEP_MEASURE_PEAK_BYTES &&
            seep_measure_is_known(&seep_measures[i], view))
            put_profile(&d, &seep_measures[i]);
    if (!error && !d.nr_profiles) // speedscope opens no file without a profile
        fputs("{\"type\":\"evented\",\"name\":\"live "
              "bytes\",\"unit\":\"bytes\",\"startValue\":0,\"endValue\":0,\"events\":[]}",
              out);
    fputs("]}\n", out);
    free(d.nodes);
    free(d.branches);
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
