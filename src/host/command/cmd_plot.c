// SPDX-License-Identifier: BSD-2-Clause
// `seep plot FILE|PID --what WHAT [-o OUT.svg|OUT.png]`: a picture of a trace, in the terminal or as a file.
#include <stdlib.h>
#include <string.h>

#include "command/command.h"
#include "command/report_options.h"
#include "command/result_file.h"
#include "command/warn.h"
#include "plot/plot.h"
#include "session/recording_history.h"
#include "session/recording_rebuild.h"
#include "session/session_at_mark.h"

struct plot_values {
    int what; // enum seep_plot_what
    const char *output;
};

#define AT(field) offsetof(struct plot_values, field)

static const struct seep_option_group plot_group = {
    .title = "Options",
    .options =
        (const struct seep_option[]){
            {"what", 0, SEEP_OPTION_CHOICE, AT(what), .value = "WHAT", .choices = seep_plot_names,
             .help =
                 "what was live over time, sizes of blocks, their ages, a flame graph (default timeline)"},
            {"output", 'o', SEEP_OPTION_STRING, AT(output), .value = "FILE",
             .help = "write FILE.svg or FILE.png; - is SVG on standard output (default: in the terminal)"},
            {NULL},
        },
    .values_bytes = sizeof(struct plot_values),
};

// What says which rows there are in a text, and how they are printed, is not of a picture.
static const struct seep_option_meant plot_meant[] = {
    {"top", .refused = true},
    {"blocks", .refused = true},
    {"rss", .refused = true},
    {"full-stacks", .refused = true},
    {"format", .refused = true},
    {"json", .refused = true},
    {"csv", .refused = true},
    {"tree", .refused = true},
    {"gen-suppressions", .refused = true},
    {"limit", .refused = true},
    {"by", .help = "one layer of a timeline per function, file, line or module (default function)"},
    {"sort", .help = "what a flame graph is of: live, bytes, allocations, temporary, peak, leaked"},
    {NULL},
};

static struct seep_error *refuse(const struct seep_view_options *options, enum seep_plot_what what) {
    const struct {
        const char *name;
        bool given;
    } unfit[] = {{"--top", options->top != SEEP_TOP_DEFAULT},
                 {"--blocks", options->blocks},
                 {"--rss", options->rss},
                 {"--full-stacks", options->full_stacks},
                 {"--format", options->format != SEEP_FORMAT_DEFAULT},
                 {"--json", options->json != 0},
                 {"--csv", options->csv},
                 {"--tree", options->tree != 0},
                 {"--gen-suppressions", options->gen_suppressions != 0},
                 {"--limit", options->limit_bytes != 0},
                 {"--by", options->by != SEEP_BY_SITE && what != SEEP_PLOT_TIMELINE}};
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(unfit); i++)
        if (unfit[i].given)
            return seep_error_hint(seep_error_create(SEEP_E_USAGE, "plot: %s has no meaning for --what %s",
                                                     unfit[i].name, seep_plot_names[what]),
                                   "it is an option of 'seep report'");
    bool no_sites =
        options->by == SEEP_BY_THREAD || options->by == SEEP_BY_SIZE || options->by == SEEP_BY_PROCESS;
    if (no_sites)
        return seep_error_hint(seep_error_create(SEEP_E_USAGE,
                                                 "plot: what was live over time is not known "
                                                 "by %s",
                                                 seep_view_by_name(options->by)),
                               "by function, file, line or module");
    return NULL;
}

static struct seep_error *form_of(const char *path, enum seep_plot_what what, enum seep_plot_form *ret_form) {
    const char *suffix = path ? strrchr(path, '.') : NULL;
    if (path && (strcmp(path, "-") == 0 || (suffix && strcmp(suffix, ".svg") == 0)))
        *ret_form = SEEP_PLOT_SVG;
    else if (suffix && strcmp(suffix, ".png") == 0)
        *ret_form = SEEP_PLOT_PNG;
    else if (path)
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "plot: %s is neither .svg nor .png", path),
                               "-o %s.svg", path);
    else if (what == SEEP_PLOT_FLAME)
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "plot: a flame graph needs a file"),
                               "-o OUT.svg; in the terminal 'seep report --tree' has the call tree");
    else
        *ret_form = SEEP_PLOT_TEXT;
    return NULL;
}

static struct seep_error *write_to(const char *path, const struct seep_plot *plot) {
    if (!path || strcmp(path, "-") == 0)
        return seep_plot_write(stdout, plot);
    struct seep_result result;
    struct seep_error *error = seep_result_begin(path, &result);
    return error ? error : seep_result_end(&result, seep_plot_write(result.out, plot));
}

// Of a recording: what the picture shows of it.
enum { MOMENTS = 400 };

static struct seep_error *run_plot(const struct seep_arguments *arguments, int *ret_status) {
    const struct plot_values *values = seep_arguments_values(arguments, &plot_group);
    const struct seep_view_options *options = seep_arguments_values(arguments, &seep_report_group);
    struct seep_plot plot = {.options = options, .source = arguments->operands[0], .what = (int)values->what};
    struct seep_suppress suppress = SEEP_SUPPRESS_INIT;
    struct seep_session *session = NULL, some = {NULL};
    struct seep_error *error = refuse(options, plot.what);
    if (!error)
        error = form_of(values->output, plot.what, &plot.form);
    if (!error)
        error = seep_report_check(options);
    if (!error)
        error = seep_suppress_read(arguments, &suppress);
    if (!error)
        error = seep_at_mark_open_some(plot.source, options->pid, options->program, &session);
    if (!error)
        error = plot.what == SEEP_PLOT_AGES ? seep_rebuild_births(session, plot.source)
                                            : seep_report_births(session, options, plot.source);
    if (!error)
        error = seep_report_symbols(options, plot.source, &plot.symbols);
    if (!error)
        error = seep_suppress_apply(&suppress, session, plot.symbols);
    if (!error && plot.what == SEEP_PLOT_TIMELINE)
        error = seep_history_snapshots(session, plot.source, MOMENTS, NULL);
    plot.session = session;
    if (!error && (options->pid || options->program)) {
        error = seep_session_select(session, options->pid, options->program, &some);
        plot.session = &some;
    }
    if (!error)
        error = write_to(values->output, &plot);
    if (!error)
        seep_warn_incomplete(plot.session);
    free(some.profiles);
    seep_symbols_destroy(plot.symbols);
    seep_suppress_deinit(&suppress);
    seep_session_destroy(session);
    return error;
}

const struct seep_command seep_command_plot = {
    .name = "plot",
    .summary = "a picture of a trace: what was live over time, sizes, ages, a flame graph",
    .usage = "[--what WHAT] [options] FILE|PID [-o OUT.svg|OUT.png]",
    .about = "Without -o the picture is drawn in the terminal, by block characters. What was live over time "
             "is known\n"
             "of 'seep run --interval T' and of recordings; ages of 'seep run --age' and of\n"
             "recordings, also at a moment (FILE@peak).\n",
    .groups = (const struct seep_option_group *const[]){&plot_group, &seep_report_group, &seep_suppress_group,
                                                        NULL},
    .meant = plot_meant,
    .examples =
        (const struct seep_example[]){
            {"seep plot app.seep", "what was live over time, in the terminal"},
            {"seep plot app.seep --by module -o app.svg", "the same as a file, by module"},
            {"seep plot app.seep --what flame --sort allocations -o app.png", "a flame graph of allocations"},
            {"seep plot 4711 --what sizes", "the sizes of what a traced process holds"},
            {NULL},
        },
    .operand = "FILE|PID",
    .min_operands = 1,
    .max_operands = 1,
    .run = run_plot,
};
