// SPDX-License-Identifier: BSD-2-Clause
// `seep report FILE|PID`: what is in a saved trace, or in a traced process while it runs. Its options are
// those of all reporting commands, in report_options.c.
#include <stdlib.h>
#include <string.h>

#include "command/command.h"
#include "command/report_options.h"
#include "session/session_at_mark.h"
#include "output/output.h"
#include "session/source.h"

struct report_values {
    const char *at;
};

static const struct seep_option moment_options[] = {
    {"at", 0, SEEP_OPTION_STRING, offsetof(struct report_values, at), .value = "TIME|peak|MARK",
     .help = "of a recording (seep run --mode record), as it was then: 12.5s after the start, at the peak, "
             "at a mark"},
    {NULL},
};

static const struct report_values report_defaults = {.at = NULL};

static const struct seep_option_group moment_group = {.title = "Moment",
                                                      .options = moment_options,
                                                      .values_bytes = sizeof(struct report_values),
                                                      .defaults = &report_defaults};

// What the counts of sites do not tell.
static bool asks_for_blocks(const struct seep_view_options *options) {
    bool of_some = options->min_size || options->max_size < UINT64_MAX || options->older_ns >= 0 ||
                   options->since || options->until || options->ignore_last || options->thread;
    return options->blocks || of_some || options->by == SEEP_BY_THREAD || options->by == SEEP_BY_SIZE ||
           seep_output_of(options)->needs & (SEEP_OUTPUT_BLOCKS | SEEP_OUTPUT_LEAKS);
}

// Of the options that were given, those that say what the figures are of, and not how much of them is shown
// in which form. The caller frees it. NULL: out of memory.
static struct seep_view_given *find_given(const struct seep_arguments *arguments, size_t *ret_nr) {
    static const char *const of_form[] = {"top",  "sort", "by",   "blocks",          "rss", "limit", "format",
                                          "json", "csv",  "tree", "gen-suppressions"};
    struct seep_view_given *given = calloc(arguments->nr_given + 1, sizeof(*given));
    *ret_nr = 0;
    for (size_t i = 0; given && i < arguments->nr_given; i++) {
        bool form = false;
        for (size_t j = 0; j < SEEP_ARRAY_SIZE(of_form); j++)
            form |= strcmp(arguments->given[i].name, of_form[j]) == 0;
        if (!form)
            given[(*ret_nr)++] =
                (struct seep_view_given){arguments->given[i].name, arguments->given[i].value};
    }
    return given;
}

static struct seep_error *run_report(const struct seep_arguments *arguments, int *ret_status) {
    struct seep_view_options *options = seep_arguments_values(arguments, &seep_report_group);
    const char *source = arguments->operands[0];
    struct seep_error *error = seep_report_check(options);
    if (error)
        return error;
    struct seep_suppress suppress = SEEP_SUPPRESS_INIT;
    struct seep_session *session = NULL;
    struct seep_view_given *given = find_given(arguments, &options->nr_given);
    options->given = given;
    error = given ? seep_suppress_read(arguments, &suppress) : seep_error_no_memory();
    if (!error)
        error = seep_at_mark_open_some(source, options->pid, options->program, &session);
    const struct report_values *values = seep_arguments_values(arguments, &moment_group);
    if (!error && values->at)
        error = seep_at_mark_go_in(session, source, values->at, !asks_for_blocks(options));
    if (!error && options->rss)
        error = seep_session_take_account(source, session);
    if (!error)
        error = seep_report_session(stdout, session, &suppress, options, source);
    seep_suppress_deinit(&suppress);
    seep_session_destroy(session);
    free(given);
    return error;
}

const struct seep_command seep_command_report = {
    .name = "report",
    .summary = "what is in a trace or a traced process, as text, JSON or CSV",
    .usage = "[options] FILE|PID|CORE",
    .about =
        "FILE is a trace that 'seep run' or 'seep snap' made; PID is a process that is being traced: it is\n"
        "not stopped. A name of digits only is a PID; write ./123 for a file. CORE is a core file of a "
        "traced\n"
        "process whose trace lies beside it. FILE@NAME is what it was at the mark NAME; FILE@peak, when the "
        "most\n"
        "memory was live.\n",
    .groups = (const struct seep_option_group *const[]){&moment_group, &seep_report_group,
                                                        &seep_suppress_group, NULL},
    .examples =
        (const struct seep_example[]){
            {"seep report app.1234.seep", "the ten sites that hold most memory"},
            {"seep report 1234 --sort temporary --top 5",
             "what a running process allocates only to free at once"},
            {"seep report app.1234.seep --by function --module libparse",
             "functions that allocate, within one library"},
            {"seep report app.1234.seep --blocks --min-size 1M", "the live blocks of a mebibyte and more"},
            {"seep report app.1234.seep@peak --by file", "what was live when the most memory was"},
            {"seep report app.1234.seep --at peak", "of a recording: what was live when most was"},
            {"seep report app.1234.seep --json", "for programs: all sites, with complete stacks"},
            {NULL},
        },
    .prints = true,
    .operand = "FILE|PID|CORE",
    .min_operands = 1,
    .max_operands = 1,
    .run = run_report,
};
