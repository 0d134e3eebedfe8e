// SPDX-License-Identifier: BSD-2-Clause
//
// A call graph for Graphviz, of what --sort sorts by: a box for each function, with what it allocates itself
// and with what it calls, and an arrow for each call with what passes along it. Functions below 1 % of the
// whole and those beyond the MOST biggest are left out, and the label of the graph says so. A function that
// calls itself counts once.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/sum.h"
#include "output/format.h"
#include "output/measures.h"
#include "output/output.h"
#include "view/stack_table.h"

#define MOST 80u

struct function {
    uint32_t frame; // the first that was seen
    uint64_t own;
    uint64_t all;
    uint64_t seen_by; // row + 1 that was the last to count it
    bool shown;
};

struct arrow {
    uint32_t from;
    uint32_t to;
    uint64_t value;
    uint64_t seen_by;
};

struct graph {
    struct seep_stack_table table;
    uint32_t *function_of; // by frame
    struct function *functions;
    size_t nr_functions;
    struct arrow *arrows;
    size_t nr_arrows;
    size_t arrows_capacity;
    struct seep_map arrow_ids;
    uint64_t total;
};

static void graph_deinit(struct graph *graph) {
    seep_stack_table_deinit(&graph->table);
    free(graph->function_of);
    free(graph->functions);
    free(graph->arrows);
    seep_map_deinit(&graph->arrow_ids);
}

static struct seep_error *find_functions(struct graph *graph) {
    size_t nr = SEEP_MAX(graph->table.nr_frames, (size_t)1);
    struct seep_map ids = SEEP_MAP_INIT;
    graph->function_of = calloc(nr, sizeof(*graph->function_of));
    graph->functions = calloc(nr, sizeof(*graph->functions));
    bool failed = !graph->function_of || !graph->functions;
    for (size_t i = 0; !failed && i < graph->table.nr_frames; i++) {
        const struct seep_table_frame *frame = &graph->table.frames[i];
        const char *const key[] = {frame->frame.function ? frame->frame.function : frame->label,
                                   frame->frame.module};
        uint64_t *slot = seep_map_at(&ids, seep_hash_bytes(key, sizeof(key)), NULL);
        failed = !slot;
        if (slot && !*slot) {
            graph->functions[graph->nr_functions].frame = (uint32_t)i;
            *slot = ++graph->nr_functions;
        }
        graph->function_of[i] = slot ? (uint32_t)*slot - 1 : 0;
    }
    seep_map_deinit(&ids);
    return failed ? seep_error_no_memory() : NULL;
}

static struct seep_error *count_arrow(struct graph *graph, uint32_t from, uint32_t to, uint64_t value,
                                      uint64_t row) {
    uint64_t *slot = seep_map_at(&graph->arrow_ids, (uint64_t)from << 32 | to, NULL);
    if (!slot || (!*slot && !seep_grow(&graph->arrows, &graph->arrows_capacity, graph->nr_arrows + 1,
                                       sizeof(*graph->arrows))))
        return seep_error_no_memory();
    if (!*slot) {
        graph->arrows[graph->nr_arrows] = (struct arrow){from, to, 0, 0};
        *slot = ++graph->nr_arrows;
    }
    struct arrow *arrow = &graph->arrows[*slot - 1];
    seep_add_up(&arrow->value, arrow->seen_by == row ? 0 : value);
    arrow->seen_by = row;
    return NULL;
}

static struct seep_error *count_row(struct graph *graph, uint32_t node, uint64_t value, uint64_t row) {
    struct seep_error *error = NULL;
    uint32_t callee = UINT32_MAX;
    seep_add_up(&graph->total, value);
    for (; !error && node != SEEP_NO_STACK; node = graph->table.nodes[node].caller) {
        uint32_t id = graph->function_of[graph->table.nodes[node].frame];
        struct function *function = &graph->functions[id];
        seep_add_up(&function->own, callee == UINT32_MAX ? value : 0);
        seep_add_up(&function->all, function->seen_by == row ? 0 : value);
        function->seen_by = row;
        if (callee != UINT32_MAX)
            error = count_arrow(graph, id, callee, value, row);
        callee = id;
    }
    return error;
}

static int compare_all(const void *left, const void *right) {
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a < b) - (a > b);
}

// Marks what is shown; returns how many are not.
static struct seep_error *choose(struct graph *graph, size_t *ret_nr_left) {
    uint64_t *sizes = calloc(SEEP_MAX(graph->nr_functions, (size_t)1), sizeof(*sizes));
    if (!sizes)
        return seep_error_no_memory();
    for (size_t i = 0; i < graph->nr_functions; i++)
        sizes[i] = graph->functions[i].all;
    qsort(sizes, graph->nr_functions, sizeof(*sizes), compare_all);
    uint64_t least = SEEP_MAX(graph->total / 100, (uint64_t)1);
    if (graph->nr_functions > MOST)
        least = SEEP_MAX(least, sizes[MOST - 1]);
    free(sizes);
    *ret_nr_left = 0;
    for (size_t i = 0; i < graph->nr_functions; i++) {
        graph->functions[i].shown = graph->functions[i].all >= least;
        *ret_nr_left += !graph->functions[i].shown;
    }
    return NULL;
}

// Inside of a quoted string. (Source: graphviz.org/doc/info/lang.html.)
static struct seep_error *put_text(FILE *out, const char *text) {
    char *safe = seep_escape(text);
    if (!safe)
        return seep_error_no_memory();
    for (const char *at = safe; *at; at++) {
        if (*at == '"' || *at == '\\')
            fputc('\\', out);
        fputc(*at, out);
    }
    free(safe);
    return NULL;
}

static void put_value(FILE *out, const struct seep_measure *measure, uint64_t value) {
    fputs(measure->bytes ? seep_format_bytes(value).text : seep_format_count(value).text, out);
}

static struct seep_error *put_graph(FILE *out, struct graph *graph, const struct seep_measure *measure,
                                    const char *program, size_t nr_left) {
    fputs("digraph seep {\nrankdir=TB;\nnode [shape=box, fontname=\"sans-serif\"];\n"
          "edge [fontname=\"sans-serif\", fontsize=10];\nlabel=\"",
          out);
    struct seep_error *error = put_text(out, program);
    fprintf(out, ": %s, ", measure->title);
    put_value(out, measure, graph->total);
    if (nr_left)
        fprintf(out, "; %zu smaller functions are left out", nr_left);
    fputs("\";\n", out);
    for (size_t i = 0; !error && i < graph->nr_functions; i++) {
        const struct function *function = &graph->functions[i];
        if (!function->shown)
            continue;
        double share = graph->total ? (double)function->own / (double)graph->total : 0;
        fprintf(out, "f%zu [fontsize=%.0f, label=\"", i, 10 + 14 * share);
        error = put_text(out, graph->table.frames[function->frame].label);
        fputs("\\n", out);
        put_value(out, measure, function->own);
        if (function->own != function->all) {
            fputs(" of ", out);
            put_value(out, measure, function->all);
        }
        fprintf(out, " (%s)\"];\n", seep_format_share(function->all, graph->total).text);
    }
    for (size_t i = 0; !error && i < graph->nr_arrows; i++) {
        const struct arrow *arrow = &graph->arrows[i];
        if (!graph->functions[arrow->from].shown || !graph->functions[arrow->to].shown)
            continue;
        double share = graph->total ? (double)arrow->value / (double)graph->total : 0;
        fprintf(out, "f%" PRIu32 " -> f%" PRIu32 " [penwidth=%.1f, label=\"", arrow->from, arrow->to,
                1 + 5 * share);
        put_value(out, measure, arrow->value);
        fputs("\"];\n", out);
    }
    fputs("}\n", out);
    return error;
}

static struct seep_error *write_dot(FILE *out, struct seep_view *view, const struct seep_summary *summary) {
    const struct seep_measure *measure = seep_measure_of_sort(view->options.sort);
    struct graph graph = {.arrow_ids = SEEP_MAP_INIT};
    uint32_t *nodes = NULL;
    size_t nr_left = 0;
    struct seep_error *error = seep_stack_table_of(&graph.table, view, &nodes);
    if (!error)
        error = find_functions(&graph);
    for (size_t i = 0; !error && i < view->nr_rows; i++)
        error = count_row(&graph, nodes[i], seep_measure_value(measure, &view->rows[i]), i + 1);
    if (!error)
        error = choose(&graph, &nr_left);
    if (!error)
        error = put_graph(out, &graph, measure, view->session->profiles[view->first_process]->process.name,
                          nr_left);
    free(nodes);
    graph_deinit(&graph);
    return error;
}

const struct seep_output seep_output_dot = {
    .name = "dot",
    .suffix = ".dot",
    .what = "a call graph for Graphviz",
    .needs = SEEP_OUTPUT_SITES | SEEP_OUTPUT_ALL,
    .write = write_dot,
};
