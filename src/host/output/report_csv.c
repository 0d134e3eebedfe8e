// SPDX-License-Identifier: BSD-2-Clause
//
// The rows of a view as CSV (output/csv.h): a header, then one line per row, or per live block with --blocks.
// A figure that is not known is empty. The column `row` says whether a row is a site or a stack.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "output/csv.h"
#include "output/format.h"
#include "output/output.h"
#include "profile/verdict.h"
#include "view/sampling_error.h"
#include "view/stack_table.h"

static void put_count(FILE *out, const struct seep_view_row *row, uint32_t bits, uint64_t value) {
    if ((row->known & bits) == bits)
        seep_put_number(out, value);
    fputc(',', out);
}

// How many samples a row rests on, and its error (one sigma), where figures are estimates.
static void put_samples(FILE *out, const struct seep_view *view, const struct seep_view_row *row) {
    uint64_t nr_samples = row->counters.peak_bytes;
    if (view->sampled)
        fprintf(out, "%" PRIu64 ",%.1f,", nr_samples, seep_sample_error_percent(nr_samples));
}

// What the slab allocator gave is a column where the kernel's memory is shown.
static bool has_slabs(const struct seep_view *view) {
    return seep_profile_is_kernel(view->session->profiles[view->first_process]);
}

static void put_figures(FILE *out, const struct seep_view *view, const struct seep_view_row *row) {
    const struct seep_counters *c = &row->counters;
    uint32_t sizes = c->allocations && c->size_min <= c->size_max ? SEEP_KNOWN_SIZES : UINT32_MAX;
    if (row->known & SEEP_KNOWN_LIVE)
        seep_put_signed(out, row->live_bytes);
    fputc(',', out);
    if (row->known & SEEP_KNOWN_LIVE)
        seep_put_signed(out, row->live_blocks);
    fputc(',', out);
    put_count(out, row, SEEP_KNOWN_ALLOCATIONS, c->allocations);
    put_count(out, row, SEEP_KNOWN_BYTES, c->allocated_bytes);
    put_count(out, row, SEEP_KNOWN_FREES, c->frees);
    put_count(out, row, SEEP_KNOWN_FREES, c->freed_bytes);
    put_count(out, row, SEEP_KNOWN_TEMPORARY, c->temporary);
    put_count(out, row, SEEP_KNOWN_PEAK, c->peak_bytes);
    put_count(out, row, sizes, c->size_min);
    put_count(out, row, sizes, c->size_max);
    if (has_slabs(view))
        put_count(out, row, row->slab_bytes ? 0 : UINT32_MAX, row->slab_bytes);
    put_samples(out, view, row);
}

// via,kind,cut,processes, and the stack.
static void put_site(FILE *out, const struct seep_view *view, const struct seep_view_row *row,
                     const struct seep_csv_places *places, uint32_t node) {
    fputs("site,", out);
    put_figures(out, view, row);
    fprintf(out, "%s,%s,%s,%" PRIu32 ",", seep_via_name(row->via), row->kind ? seep_kind_name(row->kind) : "",
            row->cut >= 0 ? seep_cut_name((uint32_t)row->cut) : "", row->nr_shares);
    seep_csv_put_stack(out, places, node);
}

static struct seep_error *put_sites(FILE *out, struct seep_view *view) {
    struct seep_stack_table table = SEEP_STACK_TABLE_INIT;
    struct seep_csv_places places = SEEP_CSV_PLACES_INIT;
    uint32_t *nodes = NULL;
    struct seep_error *error = seep_stack_table_of(&table, view, &nodes);
    if (!error)
        error = seep_csv_places_make(&places, &table);
    for (size_t i = 0; !error && i < view->nr_rows; i++)
        put_site(out, view, &view->rows[i], &places, nodes[i]);
    char empty[32] = "stack,,,,,,,,,,,,,,,";
    size_t nr_more = has_slabs(view) + 2 * (size_t)view->sampled;
    memset(empty + strlen(empty), ',', nr_more);
    if (!error)
        seep_csv_put_stacks(out, empty, &places);
    free(nodes);
    seep_csv_places_deinit(&places);
    seep_stack_table_deinit(&table);
    return error;
}

static struct seep_error *put_blocks(FILE *out, struct seep_view *view, size_t index) {
    const struct seep_view_row *row = &view->rows[index];
    const struct seep_view_frame *frames = NULL;
    size_t nr = 0;
    uint32_t more = 0;
    struct seep_error *error = seep_view_frames(view, row, &frames, &nr, &more);
    for (size_t i = 0; !error && i < row->nr_blocks; i++) {
        const struct seep_view_block *block = &row->blocks[i];
        fprintf(out, "%zu,0x%" PRIx64 ",%" PRIu64 ",", index + 1, block->address, block->size);
        if (block->age_ns >= 0)
            fprintf(out, "%.9f", (double)block->age_ns / 1e9);
        fputc(',', out);
        if (block->tid)
            fprintf(out, "%" PRIu32, block->tid);
        fprintf(out, ",%" PRIu32 ",%s,%s,", view->session->profiles[block->process]->process.pid,
                seep_via_name(row->via), block->kind ? seep_kind_name(block->kind) : "");
        error = seep_csv_put_place(out, frames, nr);
        fputc('\n', out);
    }
    return error;
}

static struct seep_error *write_csv(FILE *out, struct seep_view *view, const struct seep_summary *summary) {
    static const char figures[] =
        "live_bytes,live_blocks,allocations,allocated_bytes,frees,freed_bytes,temporary,"
        "peak_bytes,size_min,size_max";
    bool sites = view->options.by == SEEP_BY_SITE;
    const char *slabs = has_slabs(view) ? ",slab_bytes" : "";
    const char *samples = view->sampled ? ",samples,error_percent" : "";
    if (view->options.blocks && sites)
        fputs("site,address,size,age_s,thread,pid,via,kind,function,file,line,module\n", out);
    else if (sites)
        fprintf(out, "row,%s%s%s,via,kind,cut,processes," SEEP_CSV_STACK "\n", figures, slabs, samples);
    else
        fprintf(out, "%s%s%s,processes,%s\n", figures, slabs, samples, seep_view_by_name(view->options.by));
    if (sites && !view->options.blocks)
        return put_sites(out, view);
    for (size_t i = 0; i < view->nr_rows; i++) {
        struct seep_error *error;
        if (sites) {
            error = put_blocks(out, view, i);
        } else {
            put_figures(out, view, &view->rows[i]);
            fprintf(out, "%" PRIu32 ",", view->rows[i].nr_shares);
            error = seep_csv_put_field(out, view->rows[i].key);
            fputc('\n', out);
        }
        if (error)
            return error;
    }
    return NULL;
}

const struct seep_output seep_output_csv = {
    .name = "csv",
    .suffix = ".csv",
    .what = "the rows as a table",
    .needs = SEEP_OUTPUT_ALL,
    .write = write_csv,
};
