// SPDX-License-Identifier: BSD-2-Clause
// `seep html FILE [FILE2] -o OUT.html`: a trace, or what changed between two, as one page for a browser.
#include <stdlib.h>
#include <string.h>

#include "base/shown_text.h"
#include "command/command.h"
#include "command/html.h"
#include "command/report_options.h"
#include "command/result_file.h"
#include "page/page_file.h"
#include "session/recording_history.h"
#include "session/session_at_mark.h"
#include "session/source.h"

struct html_values {
    const char *output;
    uint64_t max_bytes;
    bool embed_sources;
    bool full_paths;
    bool no_demangle;
    const char *sysroot;
};

static const struct seep_option html_options[] = {
    {"output", 'o', SEEP_OPTION_STRING, offsetof(struct html_values, output), .value = "FILE",
     .help = "where the page goes; - is standard output"},
    {"max-size", 0, SEEP_OPTION_SIZE, offsetof(struct html_values, max_bytes),
     .help = "fold the smallest sites until the page is no larger (default 32M)"},
    {"embed-sources", 0, SEEP_OPTION_FLAG, offsetof(struct html_values, embed_sources),
     .help = "source files that can be read here go into the page too, with bytes per line"},
    {"full-paths", 0, SEEP_OPTION_FLAG, offsetof(struct html_values, full_paths),
     .help = "whole paths of files and modules"},
    {"no-demangle", 0, SEEP_OPTION_FLAG, offsetof(struct html_values, no_demangle),
     .help = "symbol names as they are in the file"},
    {"sysroot", 0, SEEP_OPTION_STRING, offsetof(struct html_values, sysroot), .value = "DIR",
     .help = "programs and libraries are those under DIR, if their build-ids are the same"},
    {NULL},
};

static const struct html_values html_defaults = {.max_bytes = SEEP_HTML_BYTES};

static const struct seep_option_group html_group = {.title = "Options",
                                                    .options = html_options,
                                                    .values_bytes = sizeof(struct html_values),
                                                    .defaults = &html_defaults};

struct seep_error *seep_html_write(const struct seep_page_source *source, const char *path) {
    if (strcmp(path, "-") == 0)
        return seep_page_write(stdout, source);
    struct seep_result result;
    struct seep_error *error = seep_result_begin(path, &result);
    return error ? error : seep_result_end(&result, seep_page_write(result.out, source));
}

// What the resident memory of a running process is for: without it the page lacks a table, no more.
static void take_account(const char *name, struct seep_session *session) {
    seep_error_destroy(seep_session_take_account(name, session));
}

static struct seep_error *run_html(const struct seep_arguments *arguments, int *ret_status) {
    const struct html_values *values = seep_arguments_values(arguments, &html_group);
    if (!values->output)
        return seep_shell_hint(seep_error_create(SEEP_E_USAGE, "html: no file for the page"), "seep html",
                               arguments->operands[0], " -o page.html");
    bool two = arguments->nr_operands == 2;
    struct seep_view_options options = seep_view_options_default;
    options.full_paths = values->full_paths;
    options.no_demangle = values->no_demangle;
    options.sysroot = values->sysroot;
    struct seep_page_source source = {.name = arguments->operands[two ? 1 : 0],
                                      .old_name = two ? arguments->operands[0] : NULL,
                                      .options = &options,
                                      .embed_sources = values->embed_sources,
                                      .max_bytes = values->max_bytes};
    struct seep_suppress suppress = SEEP_SUPPRESS_INIT;
    struct seep_session *session = NULL, *old = NULL;
    struct seep_history *histories = NULL;
    struct seep_error *error = seep_suppress_read(arguments, &suppress);
    if (!error)
        error = seep_at_mark_open(source.name, &session);
    if (!error && !two)
        take_account(source.name, session);
    if (!error && two)
        error = seep_at_mark_open(source.old_name, &old);
    if (!error)
        error = seep_report_symbols(&options, source.name, &source.symbols);
    if (!error)
        error = seep_suppress_apply(&suppress, session, source.symbols);
    if (!error)
        error = seep_history_snapshots(session, source.name, SEEP_HTML_MOMENTS, &histories);
    source.histories = histories;
    source.session = session;
    source.old = old;
    if (!error)
        error = seep_html_write(&source, values->output);
    seep_symbols_destroy(source.symbols);
    seep_suppress_deinit(&suppress);
    seep_histories_destroy(histories, session);
    seep_session_destroy(session);
    seep_session_destroy(old);
    return error;
}

const struct seep_command seep_command_html = {
    .name = "html",
    .summary = "a trace as one page for a browser: flame graph, tables, what leaks, what grows",
    .usage = "[options] FILE|PID [NEWER] -o OUT.html",
    .about = "FILE and NEWER are as those of 'seep diff': traces, traced processes, or either at a mark "
             "(app.seep@loaded).\n"
             "With two the page shows what changed. The page is one file, needs no network and has all of "
             "the data\n"
             "in it: names, paths and arguments of the program go where the file goes.\n",
    .groups = (const struct seep_option_group *const[]){&html_group, &seep_suppress_group, NULL},
    .examples =
        (const struct seep_example[]){
            {"seep html app.1234.seep -o app.html", "one page, to open or to send"},
            {"seep html monday.seep tuesday.seep -o week.html", "what changed, in red and blue"},
            {"seep html 1234 -o now.html", "a traced process as it is now"},
            {NULL},
        },
    .operand = "FILE|PID",
    .min_operands = 1,
    .max_operands = 2,
    .run = run_html,
};
