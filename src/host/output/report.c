// SPDX-License-Identifier: BSD-2-Clause
// Which report, and whether it could be written; see report.h.
#include "output/format.h"
#include "output/output.h"
#include "output/report.h"
#include "output/wrap.h"

struct seep_error *seep_report_write(FILE *out, const struct seep_session *session,
                                     struct seep_symbols *symbols, const struct seep_view_options *options,
                                     const char *source) {
    if (session->nr_profiles == 0)
        return seep_error_create(SEEP_E_NOT_FOUND, "%s: there is no process in it",
                                 source ? source : "the session");
    const struct seep_output *output = seep_output_of(options);
    struct seep_view_options resolved = *options;
    if (options->top == SEEP_TOP_DEFAULT && output->needs & SEEP_OUTPUT_ALL)
        resolved.top = 0;
    resolved.blocks |= (output->needs & SEEP_OUTPUT_BLOCKS) != 0;
    resolved.full_paths |= (output->needs & SEEP_OUTPUT_PATHS) != 0;
    // What is held is no leak, unless somebody asks for it.
    if (output->needs & SEEP_OUTPUT_LEAKS && !options->kinds && session->profiles[0]->leaks.known)
        resolved.kinds = SEEP_KINDS_UNHELD;
    resolved.lost_first = output->needs & SEEP_OUTPUT_LOST;
    resolved.all_rows = output->needs & SEEP_OUTPUT_ROWS;
    struct seep_view *view = NULL;
    struct seep_summary summary;
    struct seep_error *error = seep_view_create(session, SIZE_MAX, symbols, &resolved, &view);
    if (!error)
        error = seep_summary_make(view, source, &summary);
    if (!error) {
        seep_stream_gather(out, true);
        error = output->write(out, view, &summary);
        if (!error && out != stdout)
            error = seep_stream_check(out, "the report");
        seep_stream_gather(out, false);
    }
    seep_view_destroy(view);
    return error;
}

void seep_report_reached(FILE *to, const char *name, uint64_t bytes, uint64_t limit_bytes, const char *what) {
    struct seep_style style = seep_style_of(to);
    struct seep_wrap wrap;
    FILE *out = seep_wrap_begin(&wrap, to, &style);
    fprintf(out, "seep: memory is at %s", seep_format_bytes(bytes).text);
    if (limit_bytes)
        fprintf(out, ", %s of %s", seep_format_share(bytes, limit_bytes).text,
                seep_format_bytes(limit_bytes).text);
    fputs(" (", out);
    seep_put_escaped(out, what);
    fputs("): a snapshot is in ", out);
    seep_put_escaped(out, name);
    fputc('\n', out);
    seep_wrap_done(&wrap);
    fflush(to);
}
