// SPDX-License-Identifier: BSD-2-Clause
//
// Massif's output file, for ms_print and massif-visualizer. (Source: Valgrind's massif/ms_main.c and
// ms_print.) Snapshots: the start, the peak where it is known, and what is live now, with trees of the
// functions that allocate and their callers. As massif does, what is below 1 % of the whole is put together
// in one line.
#include <inttypes.h>
#include <stdlib.h>

#include "base/sum.h"
#include "output/format.h"
#include "output/measures.h"
#include "output/output.h"
#include "view/call_tree.h"

#define THRESHOLD_PERCENT 1u  // as massif's --threshold
#define DEPTH             30u // as massif's --depth

static void put_head(FILE *out, const struct seep_call_tree *tree, uint32_t call, unsigned depth,
                     unsigned nr_children) {
    for (unsigned i = 0; i < depth; i++)
        fputc(' ', out);
    fprintf(out, "n%u: %" PRIu64 " ", nr_children, tree->calls[call].total);
    if (call == 0) {
        fputs("(heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n", out);
        return;
    }
    const struct seep_table_frame *frame = &tree->table->frames[tree->calls[call].frame];
    fprintf(out, "0x%" PRIx64 ": ", frame->frame.offset);
    seep_put_escaped(out, frame->label);
    if (frame->frame.file) {
        fputs(" (", out);
        seep_put_escaped(out, frame->frame.file);
        fprintf(out, ":%u)\n", frame->frame.line);
    } else {
        fputs(" (in ", out);
        seep_put_escaped(out, frame->frame.module);
        fputs(")\n", out);
    }
}

// By a stack of our own: the tree may be as deep as the program's stacks.
static struct seep_error *put_tree(FILE *out, const struct seep_call_tree *tree) {
    const uint64_t least = tree->least;
    struct open {
        uint32_t next; // child to be written
        uint64_t left_bytes;
        unsigned nr_left;
    } *open = NULL;
    size_t nr = 0, capacity = 0;
    uint32_t call = 0;
    for (;;) {
        if (call != SEEP_NO_CALL) {
            struct open here = {SEEP_NO_CALL, 0, 0};
            unsigned nr_children = 0;
            for (uint32_t child = tree->calls[call].first_child; child != SEEP_NO_CALL;
                 child = tree->calls[child].next) {
                bool shown = tree->calls[child].total >= least;
                nr_children += shown;
                here.nr_left += !shown;
                seep_add_up(&here.left_bytes, shown ? 0 : tree->calls[child].total);
            }
            if (nr_children)
                here.next = tree->calls[call].first_child;
            nr_children += here.nr_left != 0;
            put_head(out, tree, call, (unsigned)nr, nr_children);
            if (!seep_grow(&open, &capacity, nr + 1, sizeof(*open))) {
                free(open);
                return seep_error_no_memory();
            }
            open[nr++] = here;
        }
        while (nr && open[nr - 1].next == SEEP_NO_CALL) {
            struct open *done = &open[nr - 1];
            for (size_t i = 0; done->nr_left && i < nr; i++)
                fputc(' ', out);
            if (done->nr_left)
                fprintf(out, "n0: %" PRIu64 " in %u place%s, below massif's threshold (%u.00%%)\n",
                        done->left_bytes, done->nr_left, done->nr_left == 1 ? "" : "s", THRESHOLD_PERCENT);
            nr--;
        }
        if (!nr)
            break;
        call = open[nr - 1].next;
        uint32_t next = tree->calls[call].next;
        open[nr - 1].next = next != SEEP_NO_CALL && tree->calls[next].total >= least ? next : SEEP_NO_CALL;
    }
    free(open);
    return NULL;
}

static void put_snapshot(FILE *out, unsigned index, int64_t ms, uint64_t bytes, const char *tree) {
    fprintf(out,
            "#-----------\nsnapshot=%u\n#-----------\ntime=%" PRId64 "\nmem_heap_B=%" PRIu64
            "\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=%s\n",
            index, ms, bytes, tree);
}

// A snapshot with its tree, of one measure of the rows.
static struct seep_error *put_moment(FILE *out, struct seep_view *view, unsigned index, int64_t ms,
                                     enum seep_measure_id id, const char *kind) {
    struct seep_stack_table table = SEEP_STACK_TABLE_INIT;
    struct seep_call_tree tree = {NULL};
    uint32_t *nodes = NULL;
    uint64_t *values = calloc(SEEP_MAX(view->nr_rows, (size_t)1), sizeof(*values));
    struct seep_error *error = values ? NULL : seep_error_no_memory();
    for (size_t i = 0; values && i < view->nr_rows; i++)
        values[i] = seep_measure_value(&seep_measures[id], &view->rows[i]);
    if (!error)
        error = seep_stack_table_of(&table, view, &nodes);
    if (!error)
        error = seep_call_tree_init(&tree, &table, nodes, values, view->nr_rows, true, DEPTH,
                                    10 * THRESHOLD_PERCENT);
    if (!error) {
        put_snapshot(out, index, ms, tree.calls[0].total, kind);
        error = put_tree(out, &tree);
    }
    seep_call_tree_deinit(&tree);
    free(nodes);
    free(values);
    seep_stack_table_deinit(&table);
    return error;
}

static struct seep_error *write_massif(FILE *out, struct seep_view *view,
                                       const struct seep_summary *summary) {
    const struct seep_profile *profile = view->session->profiles[view->first_process];
    const struct seep_process *process = &profile->process;
    int64_t end_ms = SEEP_MAX(process->duration_ns / 1000000, INT64_C(1));
    unsigned index = 0;
    struct seep_error *error = NULL;
    fputs("desc: seep\ncmd: ", out);
    seep_put_escaped(out, process->name);
    fputs("\ntime_unit: ms\n", out);
    put_snapshot(out, index++, 0, 0, "empty");
    // Peaks of several processes are no moment, and those of a part are not known.
    if (view->nr_processes == 1 && !view->filtered && profile->at_peak.counted &&
        view->all.known & SEEP_KNOWN_AT_PEAK)
        error = put_moment(out, view, index++, SEEP_MIN(profile->at_peak.at_ns / 1000000, end_ms),
                           SEEP_MEASURE_PEAK_BYTES, "peak");
    return error ? error : put_moment(out, view, index, end_ms, SEEP_MEASURE_LIVE_BYTES, "detailed");
}

const struct seep_output seep_output_massif = {
    .name = "massif",
    .suffix = ".massif",
    .what = "live bytes for ms_print and massif-visualizer",
    .needs = SEEP_OUTPUT_SITES | SEEP_OUTPUT_ALL,
    .write = write_massif,
};
