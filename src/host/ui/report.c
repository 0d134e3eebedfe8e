// SPDX-License-Identifier: BSD-2-Clause
// Which report, and whether it could be written; see report.h.
#include "ui/format.h"
#include "ui/report.h"

static struct seep_error *write_view(FILE *out, const struct seep_session *session,
                                     struct seep_symbols *symbols, const struct seep_view_options *options,
                                     const char *source) {
    struct seep_view *view = NULL;
    struct seep_view_options resolved = *options;
    if (options->gen_suppressions) {
        resolved.full_paths = true;
        // What is held is no leak, unless somebody asks for it.
        if (!options->kind && session->profiles[0]->leaks.known)
            resolved.kind = "lost,indirect,possible";
    }
    struct seep_error *error = seep_view_create(session, SIZE_MAX, symbols, &resolved, &view);
    if (!error && options->gen_suppressions)
        error = seep_report_suppressions(out, view);
    else if (!error)
        error = options->csv ? seep_report_csv(out, view) : seep_report_text(out, view, source);
    seep_view_destroy(view);
    return error;
}

struct seep_error *seep_report_write(FILE *out, const struct seep_session *session,
                                     struct seep_symbols *symbols, const struct seep_view_options *options,
                                     const char *source) {
    if (session->nr_profiles == 0)
        return seep_error_create(SEEP_E_NOT_FOUND, "%s: there is no process in it",
                                 source ? source : "the session");
    struct seep_error *error = options->json ? seep_report_json(out, session, symbols, options)
                                             : write_view(out, session, symbols, options, source);
    return error || out == stdout ? error : seep_stream_check(out, "the report");
}

void seep_report_reached(FILE *out, const char *name, uint64_t bytes, uint64_t limit_bytes,
                         const char *what) {
    fprintf(out, "seep: memory is at %s", seep_format_bytes(bytes).text);
    if (limit_bytes)
        fprintf(out, ", %s of %s", seep_format_share(bytes, limit_bytes).text,
                seep_format_bytes(limit_bytes).text);
    fputs(" (", out);
    seep_put_escaped(out, what);
    fputs("): a snapshot is in ", out);
    seep_put_escaped(out, name);
    fputc('\n', out);
    fflush(out);
}
