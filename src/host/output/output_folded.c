// SPDX-License-Identifier: BSD-2-Clause
//
// Folded stacks (Source: the input of flamegraph.pl, also read by speedscope and inferno): a line per site,
// "outermost;...;innermost N". N is what --sort sorts by, in bytes or blocks. The format has no escapes: a
// semicolon in a name becomes a colon, and control characters are escaped as in the text report.
#include <inttypes.h>
#include <stdlib.h>

#include "output/format.h"
#include "output/measures.h"
#include "output/output.h"
#include "view/stack_table.h"

// The labels as the format can have them, by frame; in the arena of the table.
static struct seep_error *make_labels(struct seep_stack_table *table, const char ***ret_labels) {
    const char **labels = seep_arena_alloc(&table->arena, table->nr_frames + 1, sizeof(*labels));
    if (!labels)
        return seep_error_no_memory();
    for (size_t i = 0; i < table->nr_frames; i++) {
        char *safe = seep_escape(table->frames[i].label);
        char *kept = safe ? seep_arena_strdup(&table->arena, safe) : NULL;
        free(safe);
        if (!kept)
            return seep_error_no_memory();
        for (char *at = kept; *at; at++)
            *at = *at == ';' ? ':' : *at;
        labels[i] = kept;
    }
    *ret_labels = labels;
    return NULL;
}

static struct seep_error *put_row(FILE *out, const struct seep_stack_table *table, const char **labels,
                                  uint32_t node, uint64_t value, uint32_t **path, size_t *capacity) {
    size_t nr = 0;
    for (; node != SEEP_NO_STACK; node = table->nodes[node].caller) {
        if (!seep_grow(path, capacity, nr + 1, sizeof(**path)))
            return seep_error_no_memory();
        (*path)[nr++] = table->nodes[node].frame;
    }
    if (!nr)
        fputs("[no stack]", out);
    for (size_t i = nr; i > 0; i--) {
        fputs(labels[(*path)[i - 1]], out);
        if (i > 1)
            fputc(';', out);
    }
    fprintf(out, " %" PRIu64 "\n", value);
    return NULL;
}

static struct seep_error *write_folded(FILE *out, struct seep_view *view,
                                       const struct seep_summary *summary) {
    const struct seep_measure *measure = seep_measure_of_sort(view->options.sort);
    struct seep_stack_table table = SEEP_STACK_TABLE_INIT;
    uint32_t *nodes = NULL, *path = NULL;
    size_t capacity = 0;
    const char **labels = NULL;
    struct seep_error *error = seep_stack_table_of(&table, view, &nodes);
    if (!error)
        error = make_labels(&table, &labels);
    for (size_t i = 0; !error && i < view->nr_rows; i++) {
        uint64_t value = seep_measure_value(measure, &view->rows[i]);
        if (value)
            error = put_row(out, &table, labels, nodes[i], value, &path, &capacity);
    }
    free(path);
    free(nodes);
    seep_stack_table_deinit(&table);
    return error;
}

const struct seep_output seep_output_folded = {
    .name = "folded",
    .suffix = ".folded",
    .what = "folded stacks, for flamegraph.pl and speedscope",
    .needs = SEEP_OUTPUT_SITES | SEEP_OUTPUT_ALL,
    .write = write_folded,
};
