// SPDX-License-Identifier: BSD-2-Clause
//
// DHAT's file, version 2, for dh_view.html. (Source: Valgrind's dhat/dh_main.c, "JSON file format".) Times
// are microseconds. seep has no lifetimes and no blocks at the peak of the process: these figures are 0, and
// a site's own maximum stands for its bytes only.
#include <inttypes.h>
#include <stdlib.h>

#include "output/format.h"
#include "output/json_text.h"
#include "output/measures.h"
#include "output/output.h"
#include "view/stack_table.h"

static struct seep_error *frame_text(const struct seep_table_frame *from, char **ret_text) {
    const struct seep_view_frame *frame = &from->frame;
    int nr;
    if (frame->file)
        nr = asprintf(ret_text, "0x%" PRIx64 ": %s (%s:%u)", frame->offset, from->label, frame->file,
                      frame->line);
    else
        nr = asprintf(ret_text, "0x%" PRIx64 ": %s (in %s)", frame->offset, from->label, frame->module);
    return nr < 0 ? seep_error_no_memory() : NULL;
}

static void put_row(FILE *out, const struct seep_view_row *row, const struct seep_stack_table *table,
                    uint32_t node) {
    uint64_t live = seep_measure_value(&seep_measures[SEEP_MEASURE_LIVE_BYTES], row);
    uint64_t nr_live = seep_measure_value(&seep_measures[SEEP_MEASURE_LIVE_BLOCKS], row);
    uint64_t total = seep_measure_value(&seep_measures[SEEP_MEASURE_ALLOCATED_BYTES], row);
    uint64_t nr_total = seep_measure_value(&seep_measures[SEEP_MEASURE_ALLOCATIONS], row);
    const struct seep_counters *c = &row->counters;
    bool at_peak = row->known & SEEP_KNOWN_AT_PEAK;
    uint64_t peak =
        SEEP_MAX(row->known & SEEP_KNOWN_PEAK ? SEEP_MIN(c->peak_bytes, (uint64_t)INT64_MAX) : 0, live);
    fprintf(out,
            "{\"tb\":%" PRIu64 ",\"tbk\":%" PRIu64 ",\"tl\":0,\"mb\":%" PRIu64 ",\"mbk\":%" PRIu64
            ",\"gb\":%" PRIu64 ",\"gbk\":%" PRIu64 ",\"eb\":%" PRIu64 ",\"ebk\":%" PRIu64 ",\"fs\":[",
            total, nr_total, peak, nr_live, at_peak ? SEEP_MIN(c->at_peak_bytes, (uint64_t)INT64_MAX) : 0,
            at_peak ? SEEP_MIN(c->at_peak_blocks, (uint64_t)INT64_MAX) : 0, live, nr_live);
    const char *between = "";
    for (; node != SEEP_NO_STACK; node = table->nodes[node].caller, between = ",") { // millions of them
        fputs(between, out);
        seep_put_number(out, table->nodes[node].frame + UINT64_C(1));
    }
    fputs("]}", out);
}

static struct seep_error *write_dhat(FILE *out, struct seep_view *view, const struct seep_summary *summary) {
    const struct seep_process *process = &view->session->profiles[view->first_process]->process;
    struct seep_stack_table table = SEEP_STACK_TABLE_INIT;
    uint32_t *nodes = NULL;
    struct seep_error *error = seep_stack_table_of(&table, view, &nodes);
    if (error)
        return error;
    int64_t end_us = SEEP_MAX(process->duration_ns, INT64_C(0)) / 1000;
    fputs("{\"dhatFileVersion\":2,\"mode\":\"heap\",\"verb\":\"Allocated\",\"bklt\":true,\"bkacc\":false,"
          // tuth: what lives shorter is called short-lived; no lifetime is known.
          "\"tu\":\"us\",\"Mtu\":\"s\",\"tuth\":500,\"cmd\":",
          out);
    seep_put_json_text(out, process->name);
    fprintf(out, ",\"pid\":%" PRIu32 ",\"te\":%" PRId64 ",\"tg\":%" PRId64 ",\n\"pps\":[", process->pid,
            end_us, end_us);
    for (size_t i = 0; i < view->nr_rows; i++) {
        fputs(i ? ",\n" : "\n", out);
        put_row(out, &view->rows[i], &table, nodes[i]);
    }
    fputs("],\n\"ftbl\":[\"[root]\"", out);
    for (size_t i = 0; !error && i < table.nr_frames; i++) {
        char *text = NULL;
        error = frame_text(&table.frames[i], &text);
        fputs(",\n", out);
        if (!error)
            seep_put_json_text(out, text);
        free(error ? NULL : text);
    }
    fputs("]}\n", out);
    free(nodes);
    seep_stack_table_deinit(&table);
    return error;
}

const struct seep_output seep_output_dhat = {
    .name = "dhat",
    .suffix = ".dhat.json",
    .what = "for DHAT's viewer, dh_view.html",
    .needs = SEEP_OUTPUT_SITES | SEEP_OUTPUT_ALL,
    .is_json = true,
    .write = write_dhat,
};
