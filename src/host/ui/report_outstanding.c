// SPDX-License-Identifier: BSD-2-Clause
// Reports in memleak's shape, see report_outstanding.h.
#include <inttypes.h>
#include <time.h>

#include "ui/format.h"
#include "ui/report_outstanding.h"
#include "ui/report_text.h"

#define INDENT "        "

static void put_time(FILE *out) {
    time_t now = time(NULL);
    struct tm local;
    char text[16];
    if (localtime_r(&now, &local) && strftime(text, sizeof(text), "%H:%M:%S", &local))
        fprintf(out, "[%s] ", text);
}

static void put_frame(FILE *out, const struct seep_view_frame *frame) {
    fputs(INDENT INDENT, out);
    if (frame->function) {
        seep_put_escaped(out, frame->function);
        if (frame->inlined)
            fputs(" (inlined)", out);
        else
            fprintf(out, "+0x%" PRIx64, frame->function_offset);
    } else {
        fprintf(out, "0x%" PRIx64, frame->offset);
    }
    fputs(" [", out);
    seep_put_escaped(out, frame->module);
    fputc(']', out);
    if (frame->file) {
        fputs("  (", out);
        seep_put_escaped(out, frame->file);
        fprintf(out, ":%u)", frame->line);
    }
    fputc('\n', out);
}

static void put_cut(FILE *out, const struct seep_view_row *row) {
    if (row->cut >= 0)
        fprintf(out, INDENT INDENT "[the rest is not known: %s]\n", seep_cut_name((uint32_t)row->cut));
    else if (!row->node)
        fputs(INDENT INDENT "[stack not recorded]\n", out);
}

static struct seep_error *put_row(FILE *out, struct seep_view *view, const struct seep_view_row *row) {
    fprintf(out, INDENT "%" PRId64 " bytes in %" PRId64 " allocations from stack\n", row->live_bytes,
            row->live_blocks);
    for (size_t i = 0; i < row->nr_blocks; i++)
        fprintf(out, INDENT INDENT "addr = 0x%" PRIx64 " size = %" PRIu64 " age = %s\n",
                row->blocks[i].address, row->blocks[i].size,
                seep_format_duration(row->blocks[i].age_ns).text);
    const struct seep_view_frame *frames;
    size_t nr;
    uint32_t more;
    struct seep_error *err = seep_view_frames(view, row, &frames, &nr, &more);
    if (err)
        return err;
    for (size_t i = 0; i < nr; i++) {
        if (frames[i].folded)
            continue;
        put_frame(out, &frames[i]);
        if (frames[i].fold_times > 1)
            fprintf(out, INDENT INDENT "[the last %" PRIu32 " frame%s %" PRIu32 " times in a row]\n",
                    frames[i].fold_frames, frames[i].fold_frames == 1 ? "" : "s", frames[i].fold_times);
    }
    if (more)
        fprintf(out, INDENT INDENT "[and %" PRIu32 " more frames]\n", more);
    put_cut(out, row);
    return NULL;
}

static struct seep_error *put_view(FILE *out, struct seep_view *view) {
    struct seep_style style = seep_style_of(out);
    size_t nr = 0;
    while (nr < view->nr_rows && view->rows[nr].live_blocks > 0)
        nr++;
    put_time(out);
    fprintf(out, "%sTop %zu stacks with outstanding allocations:%s\n", seep_style_bold(&style), nr,
            seep_style_off(&style));
    struct seep_error *err = NULL;
    for (size_t i = 0; i < nr && !err; i++)
        err = put_row(out, view, &view->rows[i]);
    return err ? err : seep_text_health(out, view, &style);
}

struct seep_error *seep_report_outstanding(FILE *out, const struct seep_session *session,
                                           struct seep_symbols *symbols,
                                           const struct seep_view_options *options) {
    struct seep_view *view = NULL;
    struct seep_error *err = seep_view_create(session, SIZE_MAX, symbols, options, &view);
    if (!err)
        err = put_view(out, view);
    seep_view_destroy(view);
    return err ? err : seep_stream_check(out, "the report");
}
