// SPDX-License-Identifier: BSD-2-Clause
// What all reporting commands share, see reporting.h.
#include <stdlib.h>

#include "command/reporting.h"
#include "ui/report.h"

#define AT(field) offsetof(struct seep_view_options, field)

static const char *const gen_names[] = {"valgrind", "lsan", NULL}; // as enum seep_gen, from 1 on

static const struct seep_option report_options[] = {
    {"top", 'T', SEEP_OPTION_NUMBER, AT(top), .max = UINT32_MAX,
     .help = "show the N biggest; 0: all (default 10; all with --json and --csv)"},
    {"sort", 's', SEEP_OPTION_CHOICE, AT(sort), .value = "KEY", .choices = seep_view_sort_names,
     .help = "what is biggest (default live, or allocations when nothing is live)"},
    {"by", 'b', SEEP_OPTION_CHOICE, AT(by), .value = "WHAT", .choices = seep_view_by_names,
     .help = "one row per WHAT (default site)"},
    {"blocks", 'a', SEEP_OPTION_FLAG, AT(blocks), .help = "list each live block with address, size and age"},
    {"older", 0, SEEP_OPTION_DURATION, AT(older_ns), .help = "only live blocks at least this old"},
    {"since", 0, SEEP_OPTION_STRING, AT(since), .value = "MARK",
     .help = "only live blocks born since that mark"},
    {"until", 0, SEEP_OPTION_STRING, AT(until), .value = "MARK",
     .help = "only live blocks born before that mark"},
    {"ignore-last", 0, SEEP_OPTION_STRING, AT(ignore_last), .value = "N%",
     .help = "without blocks born in the last N per cent of the run"},
    {"min-size", 'z', SEEP_OPTION_SIZE, AT(min_size), .help = "only live blocks of at least this size"},
    {"max-size", 'Z', SEEP_OPTION_SIZE, AT(max_size), .help = "only live blocks of at most this size"},
    {"function", 0, SEEP_OPTION_REGEX, AT(function), .help = "only stacks with a function that matches"},
    {"file", 0, SEEP_OPTION_REGEX, AT(file), .help = "only stacks with a source file that matches"},
    {"module", 0, SEEP_OPTION_REGEX, AT(module),
     .help = "only stacks through a module (program, library) that matches"},
    {"thread", 0, SEEP_OPTION_REGEX, AT(thread), .help = "only what threads did whose name or tid matches"},
    {"kind", 0, SEEP_OPTION_STRING, AT(kind), .value = "KINDS",
     .help = "only blocks that a scan found lost, indirect, possible, reachable (comma list)"},
    {"limit", 0, SEEP_OPTION_SIZE, AT(limit_bytes),
     .help = "when does what grows come to SIZE? (default: its limit)"},
    {"pid", 0, SEEP_OPTION_NUMBER, AT(pid), .min = 1, .max = INT32_MAX, .help = "only the process N"},
    {"program", 0, SEEP_OPTION_REGEX, AT(program), .help = "only processes whose program matches"},
    {"rss", 0, SEEP_OPTION_FLAG, AT(rss), .help = "the account of resident memory: what it is for"},
    {"full-paths", 0, SEEP_OPTION_FLAG, AT(full_paths), .help = "whole paths of files and modules"},
    {"no-demangle", 0, SEEP_OPTION_FLAG, AT(no_demangle), .help = "symbol names as they are in the file"},
    {"json", 0, SEEP_OPTION_FLAG, AT(json), .help = "the report as JSON"},
    {"csv", 0, SEEP_OPTION_FLAG, AT(csv), .help = "the rows as CSV"},
    {"gen-suppressions", 0, SEEP_OPTION_OPTIONAL, AT(gen_suppressions), .choices = gen_names,
     .help = "instead of a report, what it would show as suppressions"},
    {NULL},
};

const struct seep_option_group seep_report_group = {
    .title = "Report options",
    .options = report_options,
    .values_bytes = sizeof(struct seep_view_options),
    .defaults = &seep_view_options_default,
};

struct seep_error *seep_report_check(const struct seep_view_options *options) {
    if (options->json && options->csv)
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "--json and --csv exclude one another"),
                               "take one of them");
    if (options->gen_suppressions && (options->json || options->csv))
        return seep_error_hint(seep_error_create(SEEP_E_USAGE,
                                                 "--gen-suppressions and %s exclude one another",
                                                 options->json ? "--json" : "--csv"),
                               "take one of them");
    if (options->gen_suppressions && options->by != SEEP_BY_SITE)
        return seep_error_hint(seep_error_create(SEEP_E_USAGE,
                                                 "--gen-suppressions needs the stacks of sites, not by %s",
                                                 seep_view_by_name(options->by)),
                               "leave --by out");
    if (options->min_size > options->max_size)
        return seep_error_create(SEEP_E_USAGE, "--min-size %llu is more than --max-size %llu",
                                 (unsigned long long)options->min_size,
                                 (unsigned long long)options->max_size);
    unsigned percent;
    if (options->ignore_last && !seep_percent_parse(options->ignore_last, &percent))
        return seep_error_hint(
            seep_error_create(SEEP_E_USAGE, "--ignore-last: bad value '%s'", options->ignore_last),
            "a share of the time of the run, from 0%% to 99%%");
    uint32_t kinds;
    if (options->kind && !seep_kinds_parse(options->kind, &kinds))
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "--kind: bad value '%s'", options->kind),
                               "a list of lost, indirect, possible, reachable");
    if (options->blocks && options->by != SEEP_BY_SITE)
        return seep_error_hint(seep_error_create(SEEP_E_USAGE,
                                                 "--blocks lists the blocks of sites, not by %s",
                                                 seep_view_by_name(options->by)),
                               "leave --by out");
    return NULL;
}

struct seep_error *seep_report_symbols(const struct seep_view_options *options,
                                       struct seep_symbols **ret_symbols) {
    struct seep_symbols_options how = {.no_demangle = options->no_demangle};
    return seep_symbols_create(&how, ret_symbols);
}

struct seep_error *seep_report_selected(FILE *out, const struct seep_session *session,
                                        struct seep_symbols *symbols, const struct seep_view_options *options,
                                        const char *source) {
    if (!options->pid && !options->program)
        return seep_report_write(out, session, symbols, options, source);
    struct seep_session some;
    struct seep_error *error = seep_session_select(session, options->pid, options->program, &some);
    if (error)
        return error;
    error = seep_report_write(out, &some, symbols, options, source);
    free(some.profiles);
    return error;
}

struct seep_error *seep_report_session(FILE *out, struct seep_session *session,
                                       struct seep_suppress *suppress,
                                       const struct seep_view_options *options, const char *source) {
    struct seep_symbols *symbols = NULL;
    struct seep_error *error = seep_report_symbols(options, &symbols);
    if (!error)
        error = seep_suppress_apply(suppress, session, symbols);
    if (!error)
        error = seep_report_selected(out, session, symbols, options, source);
    seep_symbols_destroy(symbols);
    return error;
}
