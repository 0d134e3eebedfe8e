// SPDX-License-Identifier: BSD-2-Clause
//
// Markdown to paste into an issue or a review: the totals, a table of the biggest sites, and their stacks.
// (Source: spec.commonmark.org; tables as GitHub and GitLab have them.) Names stand in code, where only
// backticks mean something; in the table also bars.
#include <stdlib.h>
#include <string.h>

#include "output/format.h"
#include "output/measures.h"
#include "output/output.h"

#define DEPTH 12u // frames of a stack; what is beyond is named

static struct seep_error *put_code(FILE *out, const char *text) {
    char *safe = seep_escape(text);
    if (!safe)
        return seep_error_no_memory();
    fputc('`', out);
    for (const char *at = safe; *at; at++)
        fputs(*at == '`' ? "'" : *at == '|' ? "\\|" : (const char[]){*at, 0}, out);
    fputc('`', out);
    free(safe);
    return NULL;
}

static struct seep_error *put_place(FILE *out, const struct seep_view_frame *frames, size_t nr) {
    const struct seep_view_frame *frame = seep_view_blamed(frames, nr);
    char place[512] = "?";
    if (frame && frame->file)
        snprintf(place, sizeof(place), "%.200s (%.200s:%u)", frame->name ? frame->name : "?", frame->file,
                 frame->line);
    else if (frame)
        snprintf(place, sizeof(place), "%.200s [%.200s]", frame->name ? frame->name : "?", frame->module);
    return put_code(out, place);
}

static struct seep_error *put_stack(FILE *out, const struct seep_view_frame *frames, size_t nr) {
    for (size_t i = 0; i < nr && i < DEPTH; i++) {
        fputs("    ", out);
        if (frames[i].function)
            seep_put_escaped(out, frames[i].name);
        else
            fprintf(out, "+0x%llx", (unsigned long long)frames[i].offset);
        seep_put_source(out, frames[i].file, frames[i].line);
        seep_put_module(out, frames[i].module);
        fputc('\n', out);
    }
    if (nr > DEPTH)
        fprintf(out, "    ... %zu more\n", nr - DEPTH);
    return NULL;
}

static struct seep_error *put_table(FILE *out, struct seep_view *view) {
    struct seep_error *error = NULL;
    fputs("\n| # | live | blocks | share | allocations | class | where |\n|--:|--:|--:|--:|--:|---|---|\n",
          out);
    for (size_t i = 0; !error && i < view->nr_rows; i++) {
        const struct seep_view_row *row = &view->rows[i];
        const struct seep_view_frame *frames = NULL;
        size_t nr = 0;
        uint32_t more = 0;
        uint64_t live = seep_measure_value(&seep_measures[SEEP_MEASURE_LIVE_BYTES], row);
        error = seep_view_frames(view, row, &frames, &nr, &more);
        if (error)
            break;
        fprintf(out, "| %zu | %s | %s | %s | %s | %s%s | ", i + 1, seep_format_bytes(live).text,
                seep_format_count(seep_measure_value(&seep_measures[SEEP_MEASURE_LIVE_BLOCKS], row)).text,
                seep_format_share(live, (uint64_t)SEEP_MAX(view->all.live_bytes, INT64_C(0))).text,
                seep_format_count(row->counters.allocations).text, row->kind ? seep_view_partly(row) : "",
                row->kind ? seep_kind_name(row->kind) : "");
        error = put_place(out, frames, nr);
        fputs(" |\n", out);
    }
    return error;
}

static struct seep_error *write_md(FILE *out, struct seep_view *view, const struct seep_summary *summary) {
    const struct seep_totals *totals = &view->totals;
    fputs("### Memory of ", out);
    struct seep_error *error = put_code(out, view->session->profiles[view->first_process]->process.name);
    fprintf(out, "\n\n%s allocations, %s; still live: %s in %s block%s; peak %s%s.\n",
            seep_format_count(totals->allocations).text, seep_format_bytes(totals->allocated_bytes).text,
            seep_format_bytes(totals->live_bytes).text, seep_format_count(totals->live_blocks).text,
            totals->live_blocks == 1 ? "" : "s", totals->peak_exact ? "" : "about ",
            seep_format_bytes(totals->peak_bytes).text);
    fputs(summary->nr_findings ? "\n" : "", out);
    for (size_t i = 0; !error && i < summary->nr_findings; i++) {
        fprintf(out, "- %s: ", seep_finding_name(summary->findings[i].kind));
        error = put_code(out, summary->findings[i].text);
        fputc('\n', out);
    }
    if (!error)
        error = put_table(out, view);
    if (view->nr_rows < view->nr_rows_all)
        fprintf(out, "\n%s more are left out.\n", seep_format_count(view->nr_rows_all - view->nr_rows).text);
    for (size_t i = 0; !error && i < view->nr_rows; i++) {
        const struct seep_view_frame *frames = NULL;
        size_t nr = 0;
        uint32_t more = 0;
        error = seep_view_frames(view, &view->rows[i], &frames, &nr, &more);
        if (error)
            break;
        fprintf(out, "\n**%zu.** %s\n\n", i + 1, seep_via_name(view->rows[i].via));
        error = put_stack(out, frames, nr);
    }
    return error;
}

const struct seep_output seep_output_md = {
    .name = "md",
    .suffix = ".md",
    .what = "Markdown, for an issue or a review",
    .needs = SEEP_OUTPUT_SITES,
    .write = write_md,
};
