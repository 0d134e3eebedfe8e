// SPDX-License-Identifier: BSD-2-Clause
//
// heaptrack's interpreted data, format 3, for heaptrack_print and heaptrack_gui. (Source: heaptrack 1.4,
// src/interpret/heaptrack_interpret.cpp and src/analyze/accumulatedtracedata.cpp.) All numbers are
// hexadecimal; texts carry their length. It is a stream of events, and a trace of seep is a state: each live
// block becomes an allocation that is never freed. What was freed is not there.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "output/format.h"
#include "output/output.h"
#include "view/stack_table.h"

struct strings {
    FILE *out;
    struct seep_map ids; // hash to number; numbers begin with 1
    uint64_t nr;
    bool failed;
};

static uint64_t string_of(struct strings *strings, const char *text) {
    if (!text || !*text)
        return 0;
    uint64_t *slot = seep_map_at(&strings->ids, seep_hash_bytes(text, strlen(text)), NULL);
    char *safe = slot && !*slot ? seep_escape(text) : NULL;
    strings->failed |= !slot || (!*slot && !safe);
    if (safe) {
        fprintf(strings->out, "s %zx %s\n", strlen(safe), safe);
        *slot = ++strings->nr;
        free(safe);
    }
    return slot ? *slot : 0;
}

// "i" lines: an instruction for each frame; ids are index + 1. "t" lines: the stacks, the same.
static struct seep_error *put_stacks(FILE *out, const struct seep_stack_table *table,
                                     struct strings *strings) {
    for (size_t i = 0; i < table->nr_frames && !strings->failed; i++) {
        const struct seep_view_frame *frame = &table->frames[i].frame;
        uint64_t module = string_of(strings, frame->module);
        uint64_t function = string_of(strings, table->frames[i].label);
        uint64_t file = string_of(strings, frame->file);
        fprintf(out, "i %" PRIx64 " %" PRIx64 " %" PRIx64, frame->offset, module, function);
        if (file)
            fprintf(out, " %" PRIx64 " %x", file, frame->line);
        fputc('\n', out);
    }
    for (size_t i = 0; i < table->nr_nodes; i++)
        fprintf(out, "t %" PRIx32 " %" PRIx32 "\n", table->nodes[i].frame + 1, table->nodes[i].caller + 1);
    return strings->failed ? seep_error_no_memory() : NULL;
}

// A size at a stack is told once ("a"), and each block of it is a "+".
static void put_sizes(FILE *out, uint32_t trace, uint64_t size, uint64_t nr, uint64_t *next_info) {
    fprintf(out, "a %" PRIx64 " %" PRIx32 "\n", size, trace);
    for (uint64_t i = 0; i < nr; i++)
        fprintf(out, "+ %" PRIx64 "\n", *next_info);
    ++*next_info;
}

static int compare_sizes(const void *left, const void *right) {
    const struct seep_view_block *a = left, *b = right;
    return (a->size > b->size) - (a->size < b->size);
}

static void put_row(FILE *out, struct seep_view_row *row, uint32_t trace, uint64_t *next_info) {
    qsort(row->blocks, row->nr_blocks, sizeof(*row->blocks), compare_sizes);
    for (size_t i = 0; i < row->nr_blocks;) {
        size_t end = i;
        while (end < row->nr_blocks && row->blocks[end].size == row->blocks[i].size)
            end++;
        put_sizes(out, trace, row->blocks[i].size, end - i, next_info);
        i = end;
    }
}

static struct seep_error *write_heaptrack(FILE *out, struct seep_view *view,
                                          const struct seep_summary *summary) {
    const struct seep_process *process = &view->session->profiles[view->first_process]->process;
    struct seep_stack_table table = SEEP_STACK_TABLE_INIT;
    struct strings strings = {out, SEEP_MAP_INIT, 0, false};
    uint32_t *nodes = NULL;
    uint64_t next_info = 0;
    fputs("v 10400 3\nX ", out);
    seep_put_escaped(out, process->name);
    fputs("\nI 1000 0\n", out);
    struct seep_error *error = seep_stack_table_of(&table, view, &nodes);
    if (!error)
        error = put_stacks(out, &table, &strings);
    for (size_t i = 0; !error && i < view->nr_rows; i++)
        put_row(out, &view->rows[i], nodes[i] + 1, &next_info);
    if (!error)
        fprintf(out, "c %" PRIx64 "\n", (uint64_t)SEEP_MAX(process->duration_ns / 1000000, INT64_C(0)));
    free(nodes);
    seep_map_deinit(&strings.ids);
    seep_stack_table_deinit(&table);
    return error;
}

const struct seep_output seep_output_heaptrack = {
    .name = "heaptrack",
    .suffix = ".heaptrack",
    .what = "the live blocks for heaptrack_print and heaptrack_gui",
    .needs = SEEP_OUTPUT_SITES | SEEP_OUTPUT_ALL | SEEP_OUTPUT_BLOCKS,
    .write = write_heaptrack,
};
