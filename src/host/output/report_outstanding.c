// SPDX-License-Identifier: BSD-2-Clause
// Reports in memleak's shape, see report_outstanding.h.
#include <inttypes.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/words.h"
#include "output/format.h"
#include "output/report_outstanding.h"
#include "output/report_text.h"
#include "output/wrap.h"
#include "profile/verdict.h"
#include "view/sampling_error.h"

#define INDENT     "        "
#define SHARES_MAX 5u

static void put_time(FILE *out) {
    time_t now = time(NULL);
    struct tm local;
    char text[16];
    if (localtime_r(&now, &local) && strftime(text, sizeof(text), "%H:%M:%S", &local))
        fprintf(out, "[%s] ", text);
}

// `nr_inside`: the number of frames below it for which it stands.
static void put_frame(FILE *out, const struct seep_view_frame *frame, size_t nr_inside) {
    fputs(INDENT INDENT, out);
    if (frame->function) {
        seep_put_escaped(out, frame->name);
        if (frame->inlined)
            fputs(" (inlined)", out);
        else if (frame->function_offset)
            fprintf(out, "+0x%" PRIx64, frame->function_offset);
    } else {
        fprintf(out, "0x%" PRIx64, frame->offset);
    }
    seep_put_module(out, frame->module);
    if (frame->file) {
        fputc(' ', out);
        seep_put_source(out, frame->file, frame->line);
    }
    if (nr_inside)
        fprintf(out, " (+%s below)", seep_format_count(nr_inside).text);
    fputc('\n', out);
}

static void put_cut(FILE *out, const struct seep_view_row *row) {
    if (row->cut >= 0)
        fprintf(out, INDENT INDENT "[the rest is not known: %s]\n", seep_cut_name((uint32_t)row->cut));
    else if (!row->node)
        fputs(INDENT INDENT "[stack not recorded]\n", out);
}

static struct seep_error *put_stack(FILE *out, struct seep_view *view, const struct seep_view_row *row) {
    const struct seep_view_frame *frames;
    size_t nr;
    uint32_t more;
    struct seep_error *err = seep_view_frames(view, row, &frames, &nr, &more);
    if (err)
        return err;
    size_t nr_inside = 0;
    for (size_t i = 0; i < nr; i++) {
        if (frames[i].left_out)
            fprintf(out, INDENT INDENT "[%" PRIu32 " frame%s left out here]\n", frames[i].left_out,
                    seep_plural(frames[i].left_out));
        bool inside = seep_text_is_inside(view, frames, nr, i);
        nr_inside += inside;
        if (frames[i].folded || inside)
            continue;
        put_frame(out, &frames[i], nr_inside);
        nr_inside = 0;
        if (frames[i].fold_times > 1)
            fprintf(out, INDENT INDENT "[the last %" PRIu32 " frame%s %" PRIu32 " times in a row]\n",
                    frames[i].fold_frames, seep_plural(frames[i].fold_frames), frames[i].fold_times);
    }
    put_cut(out, row);
    return NULL;
}

// Of the kernel's memory: which processes allocated it, those of most bytes.
static struct seep_error *put_allocators(FILE *out, const struct seep_view *view, size_t row_index) {
    const struct seep_profile *profile = view->session->profiles[view->first_process];
    uint64_t *bytes = calloc(SEEP_MAX(profile->nr_threads, 1u), sizeof(*bytes));
    if (!bytes)
        return seep_error_no_memory();
    uint32_t nr = 0;
    for (size_t i = 0; i < profile->nr_thread_sites; i++) {
        const struct seep_thread_site *ts = &profile->thread_sites[i];
        uint64_t live = ts->counters.allocated_bytes - ts->counters.freed_bytes;
        if (view->site_rows[0][ts->site] != row_index + 1 || !live)
            continue;
        nr += !bytes[ts->thread];
        bytes[ts->thread] += live;
    }
    for (uint32_t shown = 0; shown < SEEP_MIN(nr, SHARES_MAX); shown++) {
        uint32_t most = 0;
        for (uint32_t i = 1; i < profile->nr_threads; i++)
            if (bytes[i] > bytes[most])
                most = i;
        fputs(shown ? ", " : INDENT INDENT "by ", out);
        char text[SEEP_KERNEL_PROCESS_NAME];
        seep_put_escaped(out, seep_kernel_process_name(&profile->threads[most], text));
        fprintf(out, " (%" PRIu64 " byte%s)", bytes[most], seep_plural(bytes[most]));
        bytes[most] = 0;
    }
    if (nr > SHARES_MAX)
        fprintf(out, " and %" PRIu32 " more", nr - SHARES_MAX);
    if (nr)
        fputc('\n', out);
    free(bytes);
    return NULL;
}

// Which processes have it, the first few of them.
static void put_shares(FILE *out, const struct seep_view *view, const struct seep_view_row *row) {
    fputs(INDENT INDENT "in", out);
    uint32_t shown = 0, nr = 0;
    for (uint32_t i = 0; i < row->nr_shares; i++) {
        const struct seep_view_share *share = &row->shares[i];
        if (!share->live_bytes && !share->live_blocks)
            continue;
        if (++nr > SHARES_MAX)
            continue;
        const struct seep_process *process = &view->session->profiles[share->process]->process;
        fprintf(out, "%s pid %" PRIu32 " ", shown++ ? "," : "", process->pid);
        seep_put_escaped(out, process->name);
        fprintf(out, " (%" PRId64 " byte%s)", share->live_bytes, seep_plural((uint64_t)share->live_bytes));
    }
    if (nr > SHARES_MAX)
        fprintf(out, " and %" PRIu32 " more", nr - SHARES_MAX);
    fputc('\n', out);
}

static struct seep_error *put_row(FILE *out, struct seep_view *view, const struct seep_view_row *row) {
    // Of a process as memleak has it, for those who read it by a script: never in the singular.
    bool kernel = seep_profile_is_kernel(view->session->profiles[view->first_process]);
    fprintf(out, INDENT "%" PRId64 " byte%s in %" PRId64 " allocation%s ", row->live_bytes,
            kernel && row->live_bytes == 1 ? "" : "s", row->live_blocks,
            kernel && row->live_blocks == 1 ? "" : "s");
    if (row->key) {
        fputs("by ", out);
        seep_put_escaped(out, row->key);
    } else {
        fputs("from stack", out);
    }
    if (row->slab_bytes)
        fprintf(out, " (%" PRIu64 " bytes of slabs)", row->slab_bytes);
    uint64_t nr_samples = row->counters.peak_bytes;
    if (view->sampled)
        fprintf(out, " (estimated from %" PRIu64 " sample%s, ±%.0f%%)", nr_samples, seep_plural(nr_samples),
                seep_sample_error_percent(nr_samples));
    fputc('\n', out);
    struct seep_error *err = NULL;
    if (view->nr_processes > 1)
        put_shares(out, view, row);
    else if (!row->key && kernel)
        err = put_allocators(out, view, (size_t)(row - view->rows));
    for (size_t i = 0; i < row->nr_blocks; i++)
        fprintf(out, INDENT INDENT "addr = 0x%" PRIx64 " size = %" PRIu64 " age = %s\n",
                row->blocks[i].address, row->blocks[i].size,
                seep_format_duration(row->blocks[i].age_ns).text);
    return err || row->key ? err : put_stack(out, view, row);
}

static void put_pid(FILE *out, const struct seep_view *view, uint32_t process) {
    if (view->nr_processes > 1)
        fprintf(out, " in pid %" PRIu32, view->session->profiles[process]->process.pid);
    fputs(" from stack\n", out);
}

// Those of which something is left.
static size_t nr_left(const struct seep_view_mapping *all, size_t nr_all) {
    size_t nr = 0;
    while (nr < nr_all && all[nr].live_bytes)
        nr++;
    return nr;
}

static struct seep_error *put_mapped(FILE *out, struct seep_view *view, const struct seep_style *style) {
    size_t nr = nr_left(view->mappings, view->nr_mappings);
    if (!nr)
        return NULL;
    fprintf(out, "%sTop %zu stacks with outstanding mappings:%s\n", seep_style_bold(style), nr,
            seep_style_off(style));
    struct seep_error *err = NULL;
    for (size_t i = 0; i < nr && !err; i++) {
        const struct seep_view_mapping *mapping = &view->mappings[i];
        fprintf(out, INDENT "%" PRIu64 " bytes in %" PRIu64 " mapping%s", mapping->live_bytes,
                mapping->nr_live, seep_plural(mapping->nr_live));
        put_pid(out, view, mapping->process);
        err = put_stack(out, view, &mapping->stack);
    }
    return err;
}

static struct seep_error *put_faults(FILE *out, struct seep_view *view, const struct seep_style *style) {
    size_t nr = nr_left(view->faults, view->nr_faults);
    if (!view->nr_page_faults)
        return NULL;
    fprintf(out, "%sTop %zu stacks with resident growth, %" PRIu64 " bytes in all:%s\n",
            seep_style_bold(style), nr, view->fault_bytes, seep_style_off(style));
    struct seep_error *err = NULL;
    for (size_t i = 0; i < nr && !err; i++) {
        const struct seep_view_mapping *fault = &view->faults[i];
        fprintf(out, INDENT "%" PRIu64 " bytes in memory by %" PRIu64 " page fault%s", fault->live_bytes,
                fault->counts.maps, seep_plural(fault->counts.maps));
        put_pid(out, view, fault->process);
        err = put_stack(out, view, &fault->stack);
    }
    return err;
}

// A report without rows would look as if nothing were outstanding.
static void put_younger(FILE *out, const struct seep_view *view) {
    uint64_t nr = 0;
    for (size_t p = 0; p < view->session->nr_profiles; p++) {
        const struct seep_profile *profile = view->session->profiles[p];
        for (size_t i = 0; i < profile->nr_blocks; i++) {
            const struct seep_block *block = &profile->blocks[i];
            nr += block->size >= view->options.min_size && block->size <= view->options.max_size &&
                  block->age_ns >= 0 && block->age_ns < view->options.older_ns;
        }
    }
    if (nr)
        fprintf(out, INDENT "%s live block%s younger than %s: --older 0 shows %s\n",
                seep_format_count(nr).text, nr == 1 ? " is" : "s are",
                seep_format_duration(view->options.older_ns).text, nr == 1 ? "it" : "them");
}

static struct seep_error *put_rows(FILE *out, struct seep_view *view, const char *what,
                                   const struct seep_style *style) {
    size_t nr = 0;
    while (nr < view->nr_rows && view->rows[nr].live_blocks > 0)
        nr++;
    put_time(out);
    bool one = nr == 1 && seep_profile_is_kernel(view->session->profiles[view->first_process]);
    const char *rows = view->options.by == SEEP_BY_PROCESS ? one ? "process" : "processes"
                       : one                               ? "stack"
                                                           : "stacks";
    fprintf(out, "%sTop %zu %s with outstanding %s:%s\n", seep_style_bold(style), nr, rows, what,
            seep_style_off(style));
    struct seep_error *err = NULL;
    for (size_t i = 0; i < nr && !err; i++)
        err = put_row(out, view, &view->rows[i]);
    if (!nr && view->options.older_ns > 0)
        put_younger(out, view);
    return err;
}

static struct seep_error *put_view(FILE *out, struct seep_view *view) {
    struct seep_style style = seep_style_of(out);
    struct seep_wrap wrap;
    FILE *to = seep_wrap_begin(&wrap, out, &style);
    struct seep_error *err = put_rows(to, view, "allocations", &style);
    if (!err)
        err = put_faults(to, view, &style);
    if (!err && view->mapping_totals.maps)
        err = put_mapped(to, view, &style);
    if (!err)
        err = seep_text_health(to, view, &style);
    return seep_wrap_end(&wrap, err);
}

// Standard output is checked once more when the tool ends. That check must not repeat this error.
static struct seep_error *check_written(FILE *out) {
    struct seep_error *err = seep_stream_check(out, out == stdout ? "to standard output" : "the report");
    if (err && out == stdout) {
        __fpurge(out);
        clearerr(out);
    }
    return err;
}

struct seep_error *seep_report_outstanding(FILE *out, const struct seep_session *session,
                                           struct seep_symbols *symbols,
                                           const struct seep_view_options *options) {
    struct seep_view *view = NULL;
    struct seep_view_options how = *options;
    how.each_stack = true; // frames have their offsets
    struct seep_error *err = seep_view_create(session, SIZE_MAX, symbols, &how, &view);
    if (!err) {
        seep_stream_gather(out, true);
        err = put_view(out, view);
        if (!err)
            err = check_written(out);
        seep_stream_gather(out, false);
    }
    seep_view_destroy(view);
    return err;
}

static struct seep_error *put_part(FILE *out, const struct seep_session *session, size_t process,
                                   struct seep_symbols *symbols, const struct seep_view_options *options,
                                   const struct seep_style *style) {
    struct seep_view *view = NULL;
    struct seep_view_options how = *options;
    how.each_stack = true;
    struct seep_error *err = seep_view_create(session, process, symbols, &how, &view);
    if (!err)
        err = put_rows(out, view, process ? "pages" : "allocations", style);
    if (!err) {
        const struct seep_totals *totals = &session->profiles[process]->totals;
        fprintf(out, INDENT "in all %s in %s allocation%s%s", seep_format_bytes(totals->live_bytes).text,
                seep_format_count(totals->live_blocks).text, seep_plural(totals->live_blocks),
                process ? " of pages" : "");
        if (view->all.slab_bytes)
            fprintf(out, ", for which slabs gave %s", seep_format_bytes(view->all.slab_bytes).text);
        fputc('\n', out);
    }
    seep_view_destroy(view);
    return err;
}

struct seep_error *seep_report_kernel_outstanding(FILE *out, const struct seep_session *session,
                                                  struct seep_symbols *symbols,
                                                  const struct seep_view_options *options) {
    struct seep_error *err = NULL;
    struct seep_style style = seep_style_of(out);
    struct seep_wrap wrap;
    FILE *to = seep_wrap_begin(&wrap, out, &style);
    for (size_t i = 0; i < session->nr_profiles && !err; i++)
        err = put_part(to, session, i, symbols, options, &style);
    struct seep_view *view = NULL;
    if (!err)
        err = seep_view_create(session, SIZE_MAX, symbols, options, &view);
    if (!err)
        err = seep_text_health(to, view, &style);
    seep_view_destroy(view);
    err = seep_wrap_end(&wrap, err);
    return err ? err : check_written(out);
}
