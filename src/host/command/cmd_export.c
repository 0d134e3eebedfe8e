// SPDX-License-Identifier: BSD-2-Clause
// `seep export FILE|PID --format NAME`: a trace in the format of another program.
#include <string.h>
#include <unistd.h>

#include "command/command.h"
#include "command/events_of.h"
#include "command/report_options.h"
#include "command/result_file.h"
#include "command/warn.h"
#include "output/output.h"
#include "output/report_events.h"
#include "profile/anonymize.h"
#include "scan/scan.h"
#include "session/session_at_mark.h"
#include "session/source.h"

struct export_values {
    const char *output;
    int events; // as event_forms; -1: none
    bool anonymize;
};

enum { EVENTS_LOG, EVENTS_CSV, EVENTS_PARQUET };
static const char *const event_forms[] = {"log", "csv", "parquet", NULL};
static const struct export_values export_defaults = {.events = -1};

static const struct seep_option_group export_group = {
    .title = "Options",
    .options =
        (const struct seep_option[]){
            {"output", 'o', SEEP_OPTION_STRING, offsetof(struct export_values, output), .value = "FILE",
             .help = "write to FILE; - is standard output (default -)"},
            {"events", 0, SEEP_OPTION_CHOICE, offsetof(struct export_values, events), .value = "FORM",
             .choices = event_forms,
             .help =
                 "instead of a report, each event of a recording: log lines, or a table as CSV or Parquet"},
            {"anonymize", 0, SEEP_OPTION_FLAG, offsetof(struct export_values, anonymize),
             .help = "numbers in place of names, paths and arguments; addresses, sizes, times, pids and "
                     "offsets stay"},
            {NULL},
        },
    .values_bytes = sizeof(struct export_values),
    .defaults = &export_defaults,
};

static struct seep_error *check(const struct seep_view_options *options, const char *path) {
    const struct seep_output *output = seep_output_of(options);
    if (output == &seep_output_text && options->format == SEEP_FORMAT_DEFAULT)
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "export: --format is missing"),
                               "--format pprof, for example; docs/formats.md has the list");
    if (output->needs & SEEP_OUTPUT_BINARY && strcmp(path, "-") == 0 && isatty(STDOUT_FILENO))
        return seep_error_hint(
            seep_error_create(SEEP_E_USAGE, "export: %s is not for a terminal", output->name), "-o FILE%s",
            output->suffix);
    return NULL;
}

static struct seep_error *write_to(const char *path, struct seep_session *session,
                                   struct seep_suppress *suppress, const struct seep_view_options *options,
                                   const char *source) {
    if (strcmp(path, "-") == 0)
        return seep_report_session(stdout, session, suppress, options, source);
    struct seep_result result;
    struct seep_error *error = seep_result_begin(path, &result);
    if (error)
        return error;
    return seep_result_end(&result, seep_report_session(result.out, session, suppress, options, source));
}

static struct seep_error *put_events(FILE *out, struct seep_view *view, struct seep_event_file *file,
                                     int form) {
    struct seep_event_source source = seep_events_of(file);
    return form == EVENTS_LOG   ? seep_events_log(out, view, &source)
           : form == EVENTS_CSV ? seep_events_csv(out, view, &source)
                                : seep_events_parquet(out, view, &source);
}

static struct seep_error *write_events(const char *path, struct seep_session *session, int form,
                                       const struct seep_view_options *options, const char *source) {
    struct seep_event_file *file = NULL;
    struct seep_symbols *symbols = NULL;
    struct seep_view *view = NULL;
    struct seep_result result;
    bool is_file = strcmp(path, "-") != 0;
    struct seep_error *error = seep_event_file_open(source, &file);
    if (!error)
        error = seep_report_symbols(options, source, &symbols);
    if (!error)
        error = seep_view_create(session, SIZE_MAX, symbols, options, &view);
    if (!error && is_file && !(error = seep_result_begin(path, &result)))
        error = seep_result_end(&result, put_events(result.out, view, file, form));
    else if (!error)
        error = put_events(stdout, view, file, form);
    if (!error)
        error = seep_event_file_note(file, session->profiles[0]);
    if (!error)
        error = seep_events_note_dropped(file, session);
    seep_view_destroy(view);
    seep_symbols_destroy(symbols);
    seep_event_file_close(file);
    return error;
}

static struct seep_error *open_session(const char *source, const struct seep_view_options *options,
                                       struct seep_session **ret_session) {
    if (!(seep_output_of(options)->needs & SEEP_OUTPUT_POINTERS))
        return seep_at_mark_open_some(source, options->pid, options->program, ret_session);
    return seep_session_scan(source, NULL, &(struct seep_scan_options){.keep_pointers = true}, ret_session);
}

// --format parquet is --events parquet: it has nothing but events.
static struct seep_error *choose_events(const struct seep_view_options *options, const char *path,
                                        struct seep_view_options *ret_options, int *ret_form) {
    const struct seep_output *output = seep_output_of(options);
    *ret_options = *options;
    if (output->needs & SEEP_OUTPUT_EVENTS) {
        if (*ret_form >= 0)
            return seep_error_hint(
                seep_error_create(SEEP_E_USAGE, "--format %s and --events exclude one another", output->name),
                "take one of them");
        *ret_form = EVENTS_PARQUET;
        ret_options->format = SEEP_FORMAT_DEFAULT;
    }
    if (*ret_form == EVENTS_PARQUET && strcmp(path, "-") == 0 && isatty(STDOUT_FILENO))
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "export: parquet is not for a terminal"),
                               "-o FILE.parquet");
    return NULL;
}

static struct seep_error *run_export(const struct seep_arguments *arguments, int *ret_status) {
    const struct export_values *values = seep_arguments_values(arguments, &export_group);
    struct seep_view_options chosen, *options = &chosen;
    const char *source = arguments->operands[0], *path = values->output ? values->output : "-";
    int form = values->events;
    struct seep_error *error =
        choose_events(seep_arguments_values(arguments, &seep_report_group), path, options, &form);
    bool events = form >= 0;
    if (!error && !events)
        error = check(options, path);
    if (!error)
        error = seep_report_check(options);
    if (error)
        return error;
    struct seep_suppress suppress = SEEP_SUPPRESS_INIT;
    struct seep_session *session = NULL;
    error = seep_suppress_read(arguments, &suppress);
    if (!error)
        error = open_session(source, options, &session);
    if (!error && values->anonymize)
        error = seep_session_anonymize(session);
    if (!error)
        error = events ? write_events(path, session, form, options, source)
                       : write_to(path, session, &suppress, options, source);
    seep_suppress_deinit(&suppress);
    if (!error && (events || !(seep_output_of(options)->needs & SEEP_OUTPUT_HEALTH)))
        seep_warn_incomplete(session);
    seep_session_destroy(session);
    return error;
}

static const struct seep_option_meant meant[] = {{"format", .choices = seep_output_names}, {NULL}};

const struct seep_command seep_command_export = {
    .name = "export",
    .summary = "a trace in the format of another program",
    .usage = "--format NAME [options] FILE|PID",
    .about =
        "With @NAME as it was at a mark, a snapshot or the peak, as for 'seep diff': app.seep@peak.\n"
        "All rows are written unless --top says otherwise; filters are those of 'seep report'. What each\n"
        "format loses, and who opens it, is in docs/formats.md.\n",
    .groups = (const struct seep_option_group *const[]){&export_group, &seep_report_group,
                                                        &seep_suppress_group, NULL},
    .meant = meant,
    .examples =
        (const struct seep_example[]){
            {"seep export app.1234.seep --format folded -o app.folded",
             "live bytes by stack, for a flame graph"},
            {"seep export app.1234.seep --format folded --sort allocations -o app.folded",
             "the same of the number of allocations"},
            {"seep export 4711 --format heapsnapshot -o app.heapsnapshot",
             "who holds what in a traced process, for the memory panel of Chrome"},
            {"seep export app.seep --format parquet -o app.parquet", "each event of a recording, for DuckDB"},
            {NULL},
        },
    .operand = "FILE|PID",
    .min_operands = 1,
    .max_operands = 1,
    .run = run_export,
};
