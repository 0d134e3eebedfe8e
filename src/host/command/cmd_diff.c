// SPDX-License-Identifier: BSD-2-Clause
// `seep diff OLD NEW`: what changed between two snapshots, marks, runs or versions of a program.
#include <stdio.h>
#include <stdlib.h>

#include "base/numbers.h"
#include "base/words.h"
#include "command/command.h"
#include "command/report_options.h"
#include "command/suppress_options.h"
#include "session/session_at_mark.h"
#include "output/output.h"
#include "output/report_diff.h"

struct diff_values {
    uint64_t error_exitcode;
};

static const struct seep_option diff_options[] = {
    {"error-exitcode", 0, SEEP_OPTION_NUMBER, offsetof(struct diff_values, error_exitcode), .min = 1,
     .max = 255, .help = "exit with N when more bytes are live than before, or more of any row is lost"},
    {NULL},
};

static const struct seep_option_group diff_group = {
    .title = "Options", .options = diff_options, .values_bytes = sizeof(struct diff_values)};

// As check() below has it.
static const char *const sorts[] = {"live", "allocations", "bytes", "temporary", NULL};
static const char *const formats[] = {"text", "json", "csv", NULL};
static const struct seep_option_meant meant[] = {
    {"blocks", .refused = true},
    {"rss", .refused = true},
    {"gen-suppressions", .refused = true},
    {"tree", .refused = true},
    {"pid", .refused = true},
    {"limit", .refused = true},
    {"format", .choices = formats},
    {"json", .help = "--format json"},
    {"sort", .help = "what has changed most (default live)", .choices = sorts},
    {NULL},
};

// Options of reports that say nothing about two of them.
static struct seep_error *check(const struct seep_view_options *options) {
    struct seep_error *error = seep_report_check(options);
    if (error)
        return error;
    const char *senseless = options->blocks             ? "--blocks"
                            : options->rss              ? "--rss"
                            : options->gen_suppressions ? "--gen-suppressions"
                            : options->pid              ? "--pid"
                            : options->tree             ? "--tree"
                            : options->limit_bytes      ? "--limit"
                                                        : NULL;
    if (senseless)
        return seep_error_hint(
            seep_error_create(SEEP_E_USAGE, "diff: %s is for one trace, not for two", senseless),
            "use it with 'seep report'");
    bool known = options->sort == SEEP_SORT_AUTO || options->sort == SEEP_SORT_LIVE ||
                 options->sort == SEEP_SORT_ALLOCATIONS || options->sort == SEEP_SORT_BYTES ||
                 options->sort == SEEP_SORT_TEMPORARY;
    if (!known)
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "diff: --sort %s has no change to sort by",
                                                 seep_view_sort_name(options->sort)),
                               "one of live, allocations, bytes, temporary");
    return NULL;
}

// Of the outputs only those that know how to show a change.
static struct seep_error *resolve(struct seep_view_options *options) {
    const struct seep_output *output = seep_output_of(options);
    options->json = output == &seep_output_json;
    options->csv = output == &seep_output_csv;
    if (options->top == SEEP_TOP_DEFAULT)
        options->top = options->json || options->csv ? 0 : 10;
    if (output == &seep_output_text || options->json || options->csv)
        return NULL;
    return seep_error_hint(
        seep_error_create(SEEP_E_USAGE, "diff: --format %s is for one trace, not for two", output->name),
        "one of text, json, csv");
}

// What is left of it by --program, or all; `some` is for that.
static struct seep_error *select_of(const struct seep_session *session,
                                    const struct seep_view_options *options, struct seep_session *some,
                                    const struct seep_session **ret_session) {
    *ret_session = session;
    if (!options->program)
        return NULL;
    *ret_session = some;
    return seep_session_select(session, 0, options->program, some);
}

// And says why.
static bool fails(const struct seep_diff *diff) {
    bool live = diff->all.live_bytes > 0, lost = diff->nr_newly_lost;
    if (!live && !lost)
        return false;
    fputs("seep: diff: ", stderr);
    if (live)
        fprintf(stderr, "%s more bytes are live", seep_format_count((uint64_t)diff->all.live_bytes).text);
    if (lost)
        fprintf(stderr, "%smore is lost in %zu row%s", live ? ", " : "", diff->nr_newly_lost,
                seep_plural(diff->nr_newly_lost));
    fputs(" (--error-exitcode)\n", stderr);
    return true;
}

// Suppresses what a report of this session alone suppresses. The programs of the two sessions may have
// different rules.
static struct seep_error *suppress_in(struct seep_session *session, const struct seep_arguments *arguments,
                                      struct seep_symbols *symbols) {
    struct seep_suppress suppress = SEEP_SUPPRESS_INIT;
    struct seep_error *error = seep_suppress_read(arguments, &suppress);
    if (!error)
        error = seep_suppress_apply(&suppress, session, symbols);
    seep_suppress_deinit(&suppress);
    return error;
}

static struct seep_error *run_diff(const struct seep_arguments *arguments, int *ret_status) {
    const struct diff_values *values = seep_arguments_values(arguments, &diff_group);
    struct seep_view_options *options = seep_arguments_values(arguments, &seep_report_group);
    struct seep_diff_names names = {arguments->operands[0], arguments->operands[1]};
    struct seep_session *before = NULL, *after = NULL;
    struct seep_session some_before = {NULL}, some_after = {NULL};
    const struct seep_session *old = NULL, *new = NULL;
    struct seep_symbols *symbols = NULL;
    struct seep_diff *diff = NULL;
    struct seep_error *error = check(options);
    if (!error)
        error = resolve(options);
    if (!error)
        error = seep_at_mark_open(names.before, &before);
    if (!error)
        error = seep_at_mark_open(names.after, &after);
    if (!error)
        error = seep_report_symbols_of_text(options, names.after, &symbols);
    if (!error)
        error = suppress_in(before, arguments, symbols);
    if (!error)
        error = suppress_in(after, arguments, symbols);
    if (!error)
        error = select_of(before, options, &some_before, &old);
    if (!error)
        error = select_of(after, options, &some_after, &new);
    if (!error)
        error = seep_diff_create(old, new, symbols, options, &diff);
    if (!error)
        error = seep_diff_write(stdout, diff, &names, options);
    if (!error && values->error_exitcode && fails(diff))
        *ret_status = (int)values->error_exitcode;
    seep_diff_destroy(diff);
    seep_symbols_destroy(symbols);
    free(some_before.profiles);
    free(some_after.profiles);
    seep_session_destroy(before);
    seep_session_destroy(after);
    return error;
}

const struct seep_command seep_command_diff = {
    .name = "diff",
    .summary = "what changed between two snapshots, marks, runs or versions of a program",
    .usage = "[options] OLD NEW",
    .about =
        "OLD and NEW are each a trace, a process that is being traced (its pid), or with @NAME what it was "
        "at\n"
        "a mark: app.seep@loaded. Of several marks of one name @NAME is the last, @NAME#2 the second.\n"
        "Stacks are matched by module, function and line; where code has moved, by module and function.\n",
    .groups = (const struct seep_option_group *const[]){&diff_group, &seep_report_group, &seep_suppress_group,
                                                        NULL},
    .meant = meant,
    .examples =
        (const struct seep_example[]){
            {"seep diff monday.seep tuesday.seep", "the ten sites that grew most between two snapshots"},
            {"seep diff app.seep@loaded app.seep", "what has come since the mark 'loaded'"},
            {"seep diff old.seep new.seep --by function --sort allocations",
             "two versions of a program, by function"},
            {"seep diff base.seep 1234 --json", "a snapshot against the process as it is now"},
            {NULL},
        },
    .prints = true,
    .operand = "OLD NEW",
    .min_operands = 2,
    .max_operands = 2,
    .run = run_diff,
};
