// SPDX-License-Identifier: BSD-2-Clause
//
// Callgrind's profile format, for callgrind_annotate and KCachegrind. (Source: Valgrind's
// docs/html/cl-format.html.) Each stack that allocates gives its line the cost, and each edge of the tree of
// stacks is a call with what is below it. Without the line `totals:` readers would add calls to the sum.
#include <inttypes.h>
#include <stdlib.h>

#include "base/sum.h"
#include "base/version.h"
#include "output/format.h"
#include "output/measures.h"
#include "output/output.h"
#include "view/stack_table.h"

static const enum seep_measure_id events[] = {SEEP_MEASURE_LIVE_BYTES, SEEP_MEASURE_LIVE_BLOCKS,
                                              SEEP_MEASURE_ALLOCATED_BYTES, SEEP_MEASURE_ALLOCATIONS,
                                              SEEP_MEASURE_TEMPORARY};
#define NR_EVENTS SEEP_ARRAY_SIZE(events)

struct costs {
    uint64_t of[NR_EVENTS];
};

static void put_costs(FILE *out, const struct costs *costs) {
    for (size_t e = 0; e < NR_EVENTS; e++) {
        fputc(' ', out);
        seep_put_number(out, costs->of[e]);
    }
    fputc('\n', out);
}

static bool is_zero(const struct costs *costs) {
    for (size_t e = 0; e < NR_EVENTS; e++)
        if (costs->of[e])
            return false;
    return true;
}

static void add(struct costs *into, const struct costs *costs) {
    for (size_t e = 0; e < NR_EVENTS; e++)
        seep_add_up(&into->of[e], costs->of[e]);
}

// "ob=", "fl=", "fn=" of a frame; with the prefix "c" those of a callee.
static void put_place(FILE *out, const struct seep_stack_table *table, uint32_t node, bool callee) {
    const struct seep_table_frame *frame = &table->frames[table->nodes[node].frame];
    fputs(callee ? "cob=" : "ob=", out);
    seep_put_escaped(out, frame->frame.module);
    fputs(callee ? "\ncfi=" : "\nfl=", out);
    seep_put_escaped(out, frame->frame.file ? frame->frame.file : "???");
    fputs(callee ? "\ncfn=" : "\nfn=", out);
    seep_put_escaped(out, frame->label);
    fputc('\n', out);
}

static unsigned line_of(const struct seep_stack_table *table, uint32_t node) {
    return table->frames[table->nodes[node].frame].frame.line;
}

static void put_nodes(FILE *out, const struct seep_stack_table *table, const struct costs *own,
                      struct costs *inclusive) {
    // Callers come first in the table: from the end on each node is complete before its caller is.
    for (size_t i = table->nr_nodes; i > 0; i--) {
        uint32_t node = (uint32_t)i - 1, caller = table->nodes[node].caller;
        add(&inclusive[node], &own[node]);
        if (caller != SEEP_NO_STACK)
            add(&inclusive[caller], &inclusive[node]);
        if (!is_zero(&own[node])) {
            put_place(out, table, node, false);
            fprintf(out, "%u", line_of(table, node));
            put_costs(out, &own[node]);
            fputc('\n', out);
        }
        if (caller == SEEP_NO_STACK || is_zero(&inclusive[node]))
            continue;
        put_place(out, table, caller, false);
        put_place(out, table, node, true);
        fprintf(out, "calls=%" PRIu64 " %u\n%u", SEEP_MAX(inclusive[node].of[3], (uint64_t)1),
                line_of(table, node), line_of(table, caller));
        put_costs(out, &inclusive[node]);
        fputc('\n', out);
    }
}

static struct seep_error *write_callgrind(FILE *out, struct seep_view *view,
                                          const struct seep_summary *summary) {
    const struct seep_process *process = &view->session->profiles[view->first_process]->process;
    struct seep_stack_table table = SEEP_STACK_TABLE_INIT;
    struct costs sum = {{0}}, of_row = {{0}};
    uint32_t *nodes = NULL;
    struct seep_error *error = seep_stack_table_of(&table, view, &nodes);
    struct costs *own = calloc(SEEP_MAX(table.nr_nodes, (size_t)1), sizeof(*own));
    struct costs *inclusive = calloc(SEEP_MAX(table.nr_nodes, (size_t)1), sizeof(*inclusive));
    if (!error && (!own || !inclusive))
        error = seep_error_no_memory();
    for (size_t i = 0; !error && i < view->nr_rows; i++) {
        for (size_t e = 0; e < NR_EVENTS; e++)
            of_row.of[e] = seep_measure_value(&seep_measures[events[e]], &view->rows[i]);
        if (nodes[i] != SEEP_NO_STACK) {
            add(&own[nodes[i]], &of_row);
            add(&sum, &of_row);
        }
    }
    if (!error) {
        fprintf(out,
                "# callgrind format\nversion: 1\ncreator: seep %s\npid: %" PRIu32 "\ncmd: ", SEEP_VERSION,
                process->pid);
        seep_put_escaped(out, process->name);
        fputs("\npositions: line\nevents:", out);
        for (size_t e = 0; e < NR_EVENTS; e++)
            fprintf(out, " %s", seep_measures[events[e]].name);
        fputs("\ntotals:", out);
        put_costs(out, &sum);
        fputc('\n', out);
        put_nodes(out, &table, own, inclusive);
    }
    free(own);
    free(inclusive);
    free(nodes);
    seep_stack_table_deinit(&table);
    return error;
}

const struct seep_output seep_output_callgrind = {
    .name = "callgrind",
    .suffix = ".callgrind",
    .what = "for callgrind_annotate and KCachegrind",
    .needs = SEEP_OUTPUT_SITES | SEEP_OUTPUT_ALL,
    .write = write_callgrind,
};
