// SPDX-License-Identifier: BSD-2-Clause
// `seep export FILE|PID --format NAME`: a trace in the format of another program.
#include <string.h>
#include <unistd.h>

#include "command/command.h"
#include "command/reporting.h"
#include "command/result_file.h"
#include "command/scanned.h"
#include "output/format.h"
#include "output/output.h"
#include "session/session_open.h"

struct export_values {
    const char *output;
};

static const struct seep_option_group export_group = {
    .title = "Options",
    .options =
        (const struct seep_option[]){
            {"output", 'o', SEEP_OPTION_STRING, offsetof(struct export_values, output), .value = "FILE",
             .help = "write to FILE; - is standard output (default -)"},
            {NULL},
        },
    .values_bytes = sizeof(struct export_values),
};

static struct seep_error *check(const struct seep_view_options *options, const char *path) {
    const struct seep_output *output = seep_output_of(options);
    if (output == &seep_output_text)
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

static struct seep_error *open_session(const char *source, const struct seep_view_options *options,
                                       struct seep_session **ret_session) {
    if (!(seep_output_of(options)->needs & SEEP_OUTPUT_POINTERS))
        return seep_session_open_some(source, options->pid, options->program, ret_session);
    return seep_scanned_open(source, NULL, &(struct seep_scan_options){.keep_pointers = true}, ret_session);
}

static struct seep_error *run_export(const struct seep_arguments *arguments, int *ret_status) {
    const struct export_values *values = seep_arguments_values(arguments, &export_group);
    const struct seep_view_options *options = seep_arguments_values(arguments, &seep_report_group);
    const char *source = arguments->operands[0], *path = values->output ? values->output : "-";
    struct seep_error *error = check(options, path);
    if (!error)
        error = seep_report_check(options);
    if (error)
        return error;
    struct seep_suppress suppress = SEEP_SUPPRESS_INIT;
    struct seep_session *session = NULL;
    error = seep_suppress_read(arguments, &suppress);
    if (!error)
        error = open_session(source, options, &session);
    if (!error)
        error = write_to(path, session, &suppress, options, source);
    seep_suppress_deinit(&suppress);
    seep_session_destroy(session);
    return error;
}

const struct seep_command seep_command_export = {
    .name = "export",
    .summary = "a trace in the format of another program",
    .usage = "--format NAME [options] FILE|PID",
    .about =
        "All rows are written unless --top says otherwise; filters are those of 'seep report'. What each\n"
        "format loses, and who opens it, is in docs/formats.md.\n",
    .groups = (const struct seep_option_group *const[]){&export_group, &seep_report_group,
                                                        &seep_suppress_group, NULL},
    .examples =
        (const struct seep_example[]){
            {"seep export app.1234.seep --format folded -o app.folded",
             "live bytes by stack, for a flame graph"},
            {"seep export app.1234.seep --format folded --sort allocations -o app.folded",
             "the same of the number of allocations"},
            {"seep export 4711 --format heapsnapshot -o app.heapsnapshot",
             "who holds what in a traced process, for the memory panel of Chrome"},
            {NULL},
        },
    .operand = "FILE|PID",
    .min_operands = 1,
    .max_operands = 1,
    .run = run_export,
};
