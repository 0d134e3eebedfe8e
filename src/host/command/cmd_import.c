// SPDX-License-Identifier: BSD-2-Clause
// `seep import FILE --format NAME -o OUT`: files of other tools as a recording.
#include <inttypes.h>
#include <stdio.h>

#include "base/numbers.h"
#include "base/shown_text.h"
#include "base/words.h"
#include "command/command.h"
#include "command/result_file.h"
#include "file/import.h"

struct import_values {
    const char *output;
    int format; // -1: not given
    const char *maps;
};

#define AT(field) offsetof(struct import_values, field)

static const struct import_values import_defaults = {.format = -1};

static const struct seep_option_group import_group = {
    .title = "Options",
    .options =
        (const struct seep_option[]){
            {"format", 0, SEEP_OPTION_CHOICE, AT(format), .value = "NAME", .choices = seep_import_formats,
             .help = "what the file is: of heaptrack, mmleak, mtrace (glibc), mprof, or a log of 'seep run "
                     "--mode log'"},
            {"output", 'o', SEEP_OPTION_STRING, AT(output), .value = "OUT", .help = "the trace to write"},
            {"maps", 0, SEEP_OPTION_STRING, AT(maps), .value = "MAPS",
             .help = "of mmleak: the copy of /proc/PID/maps beside the dump, for the names of callers"},
            {NULL},
        },
    .values_bytes = sizeof(struct import_values),
    .defaults = &import_defaults,
};

static struct seep_error *run_import(const struct seep_arguments *arguments, int *ret_status) {
    const struct import_values *values = seep_arguments_values(arguments, &import_group);
    if (values->format < 0)
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "import: --format is missing"),
                               "heaptrack, mmleak, mtrace, mprof or log");
    if (!values->output) {
        char after[64];
        snprintf(after, sizeof(after), " --format %s -o out.seep", seep_import_formats[values->format]);
        return seep_shell_hint(seep_error_create(SEEP_E_USAGE, "import: no file to write"), "seep import",
                               arguments->operands[0], after);
    }
    struct seep_import_options options = {.maps = values->maps};
    struct seep_imported imported;
    struct seep_error *error =
        seep_result_is_no_input(values->output, (const char *const *)arguments->operands, 1);
    if (!error && values->maps)
        error = seep_result_is_no_input(values->output, (const char *const[]){values->maps}, 1);
    if (!error)
        error = seep_import(arguments->operands[0], seep_import_formats[values->format], &options,
                            values->output, &imported);
    if (error)
        return error;
    fprintf(stderr, "seep: %s event%s", seep_format_count(imported.nr_events).text,
            seep_plural(imported.nr_events));
    if (imported.unknown_frees.nr)
        fprintf(stderr, "; %s free%s of blocks that the file does not allocate left out (%s)",
                seep_format_count(imported.unknown_frees.nr).text, seep_plural(imported.unknown_frees.nr),
                seep_imported_lines_text(&imported.unknown_frees).text);
    if (imported.handed_again.nr)
        fprintf(stderr,
                "; %s block%s handed out again without a free (%s): several processes wrote the file, or "
                "lines are missing",
                seep_format_count(imported.handed_again.nr).text, seep_plural(imported.handed_again.nr),
                seep_imported_lines_text(&imported.handed_again).text);
    if (imported.foreign.nr)
        fprintf(stderr, "; %s line%s not of the imported format left out (%s)",
                seep_format_count(imported.foreign.nr).text, seep_plural(imported.foreign.nr),
                seep_imported_lines_text(&imported.foreign).text);
    if (imported.nr_skipped)
        fprintf(stderr, "; %s line%s skipped", seep_format_count(imported.nr_skipped).text,
                seep_plural(imported.nr_skipped));
    if (imported.cut_line)
        fprintf(stderr, "; line %" PRIu64 ", the last one, left out: it has no end and may be cut",
                imported.cut_line);
    fputc('\n', stderr);
    return NULL;
}

const struct seep_command seep_command_import = {
    .name = "import",
    .summary = "a file of another tool as a trace with its events",
    .usage = "FILE --format NAME -o OUT.seep",
    .about = "FILE may be packed by gzip or zstd; - is standard input. Formats that have no time get a "
             "microsecond a\n"
             "line, those without addresses get some that no two blocks share.\n",
    .groups = (const struct seep_option_group *const[]){&import_group, NULL},
    .examples =
        (const struct seep_example[]){
            {"seep import heaptrack.app.1234.zst --format heaptrack -o app.seep", "what heaptrack recorded"},
            {"seep import mtrace.log --format mtrace -o app.seep",
             "what MALLOC_TRACE=mtrace.log made of a program"},
            {NULL},
        },
    .operand = "FILE",
    .min_operands = 1,
    .max_operands = 1,
    .run = run_import,
};
