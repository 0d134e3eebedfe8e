// SPDX-License-Identifier: BSD-2-Clause
// What all reporting commands share, see report_options.h.
#include <stdlib.h>
#include <string.h>

#include "process/own_root.h"
#include "command/report_options.h"
#include "command/warn.h"
#include "output/output.h"
#include "output/report.h"
#include "session/recording_rebuild.h"

#define AT(field) offsetof(struct seep_view_options, field)

static const char *const gen_names[] = {"valgrind", "lsan", NULL}; // as enum seep_gen, from 1 on

static const char *const json_schemas[] = {"2", "1", NULL}; // as struct seep_view_options has it

static const char *const tree_names[] = {"callees", "callers", NULL}; // as enum seep_tree, from 1 on

static const struct seep_option report_options[] = {
    {"top", 'T', SEEP_OPTION_NUMBER, AT(top), .max = UINT32_MAX,
     .help = "show the N biggest; 0: all (default 10; all with formats for programs)"},
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
    {"ignore-last", 0, SEEP_OPTION_PERCENT, AT(ignore_last), .value = "N%",
     .help = "without blocks born in the last N per cent of the run"},
    {"min-size", 'z', SEEP_OPTION_SIZE, AT(min_size), .help = "only live blocks of at least this size"},
    {"max-size", 'Z', SEEP_OPTION_SIZE, AT(max_size), .help = "only live blocks of at most this size"},
    {"function", 0, SEEP_OPTION_REGEX, AT(function), .help = "only stacks with a function that matches"},
    {"file", 0, SEEP_OPTION_REGEX, AT(file), .help = "only stacks with a source file that matches"},
    {"module", 0, SEEP_OPTION_REGEX, AT(module),
     .help = "only stacks through a module (program, library) that matches"},
    {"thread", 0, SEEP_OPTION_REGEX, AT(thread), .help = "only what threads did whose name or tid matches"},
    {"kind", 0, SEEP_OPTION_SET, AT(kinds), .value = "KINDS", .min = SEEP_KIND_LOST,
     .choices = seep_kind_names + SEEP_KIND_LOST,
     .help = "only blocks that a scan found lost, indirect, possible, reachable (comma list)"},
    {"limit", 0, SEEP_OPTION_SIZE, AT(limit_bytes),
     .help = "when does what grows come to SIZE? (default: its limit)"},
    {"pid", 0, SEEP_OPTION_NUMBER, AT(pid), .min = 1, .max = INT32_MAX, .help = "only the process N"},
    {"program", 0, SEEP_OPTION_REGEX, AT(program), .help = "only processes whose program matches"},
    {"rss", 0, SEEP_OPTION_FLAG, AT(rss), .help = "the account of resident memory: what it is for"},
    {"full-paths", 0, SEEP_OPTION_FLAG, AT(full_paths), .help = "whole paths of files and modules"},
    {"full-names", 0, SEEP_OPTION_FLAG, AT(full_names),
     .help = "whole names of functions: template arguments, ABI tags, clones"},
    {"full-stacks", 0, SEEP_OPTION_FLAG, AT(full_stacks),
     .help = "each frame of the C++ library, not only the one that was called"},
    {"no-demangle", 0, SEEP_OPTION_FLAG, AT(no_demangle), .help = "symbol names as they are in the file"},
    {"sysroot", 0, SEEP_OPTION_STRING, AT(sysroot), .value = "DIR",
     .help = "programs and libraries are those under DIR, if their build-ids are the same"},
    {"format", 0, SEEP_OPTION_CHOICE, AT(format), .value = "NAME", .choices = seep_output_names,
     .shown = seep_output_report_names, .help = "the report in another form (docs/formats.md)"},
    {"json", 0, SEEP_OPTION_OPTIONAL, AT(json), .value = "SCHEMA", .choices = json_schemas,
     .help = "--format json; of schema 2, or the older one"},
    {"tree", 0, SEEP_OPTION_OPTIONAL, AT(tree), .choices = tree_names,
     .help = "the call tree, of what --sort sorts by; top-down, or from callees to callers"},
    {"csv", 0, SEEP_OPTION_FLAG, AT(csv), .help = "--format csv"},
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

// One form at most, and one that says what the other options ask for.
static struct seep_error *check_output(const struct seep_view_options *options) {
    const char *first = NULL, *second = NULL;
    const char *const asked[] = {options->format != SEEP_FORMAT_DEFAULT ? "--format" : NULL,
                                 options->json ? "--json" : NULL, options->csv ? "--csv" : NULL,
                                 options->tree ? "--tree" : NULL,
                                 options->gen_suppressions ? "--gen-suppressions" : NULL};
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(asked); i++) {
        second = first && !second ? asked[i] : second;
        first = first ? first : asked[i];
    }
    if (second)
        return seep_error_hint(
            seep_error_create(SEEP_E_USAGE, "%s and %s exclude one another", first, second),
            "take one of them");
    const struct seep_output *output = seep_output_of(options);
    if (output->lacks)
        return seep_error_hint(seep_error_create(SEEP_E_UNSUPPORTED, "--format %s: seep was built without %s",
                                                 output->name, output->lacks),
                               "install it and build again; 'seep info' lists what is there");
    if (output->needs & SEEP_OUTPUT_EVENTS)
        return seep_error_hint(seep_error_create(SEEP_E_USAGE,
                                                 "--format %s has the events of a recording, and no report",
                                                 output->name),
                               "seep export --format %s FILE", output->name);
    if (output->needs & SEEP_OUTPUT_SITES && options->by != SEEP_BY_SITE)
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "%s needs the stacks of sites, not by %s",
                                                 options->gen_suppressions ? "--gen-suppressions"
                                                 : options->tree           ? "--tree"
                                                                           : "--format",
                                                 seep_view_by_name(options->by)),
                               "leave --by out");
    return NULL;
}

struct seep_error *seep_report_check(const struct seep_view_options *options) {
    struct seep_error *error = check_output(options);
    if (error)
        return error;
    if (options->min_size > options->max_size)
        return seep_error_create(SEEP_E_USAGE, "--min-size %llu is more than --max-size %llu",
                                 (unsigned long long)options->min_size,
                                 (unsigned long long)options->max_size);
    if (options->blocks && options->by != SEEP_BY_SITE)
        return seep_error_hint(seep_error_create(SEEP_E_USAGE,
                                                 "--blocks lists the blocks of sites, not by %s",
                                                 seep_view_by_name(options->by)),
                               "leave --by out");
    return NULL;
}

// Of "1234" and "1234@mark".
static pid_t pid_of(const char *source) {
    size_t nr = source ? strspn(source, "0123456789") : 0;
    return nr && nr < 11 && (!source[nr] || source[nr] == '@') ? (pid_t)strtol(source, NULL, 10) : 0;
}

// Whether lines of the C and C++ runtime, and functions that are inlined there, are of use.
static bool needs_runtime_lines(const struct seep_view_options *options) {
    bool asked = options->full_stacks || options->full_paths || options->file ||
                 options->by == SEEP_BY_FILE || options->by == SEEP_BY_LINE;
    for (size_t i = 0; i < options->nr_given; i++)
        asked |= strcmp(options->given[i].name, "suppressions") == 0;
    return asked || seep_output_of(options) != &seep_output_text;
}

static struct seep_error *make_symbols(const struct seep_view_options *options, const char *source,
                                       bool for_people, struct seep_symbols **ret_symbols) {
    char root[SEEP_OWN_ROOT_ROOM];
    struct seep_symbols_options how = {.no_demangle = options->no_demangle,
                                       .plain_runtime = for_people && !needs_runtime_lines(options),
                                       .sysroot = options->sysroot};
    if (options->sysroot)
        return seep_symbols_create(&how, ret_symbols);
    if (seep_process_own_root(pid_of(source), root))
        how.sysroot = root;
    else
        seep_warn_debug_dir();
    struct seep_error *error = seep_symbols_create(&how, ret_symbols);
    if (!error || !how.sysroot)
        return error;
    seep_error_destroy(error); // it has ended meanwhile, or its root is not for us: ours, checked by build-id
    how.sysroot = NULL;
    return seep_symbols_create(&how, ret_symbols);
}

struct seep_error *seep_report_symbols(const struct seep_view_options *options, const char *source,
                                       struct seep_symbols **ret_symbols) {
    return make_symbols(options, source, false, ret_symbols);
}

struct seep_error *seep_report_symbols_of_text(const struct seep_view_options *options, const char *source,
                                               struct seep_symbols **ret_symbols) {
    return make_symbols(options, source, true, ret_symbols);
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

// When blocks were allocated, or by which thread.
static bool asks_for_births(const struct seep_view_options *options) {
    bool of_blocks = options->min_size || options->max_size < UINT64_MAX || options->kinds || options->blocks;
    bool of_threads = options->thread || options->by == SEEP_BY_THREAD;
    return options->older_ns >= 0 || options->ignore_last || options->since || options->until ||
           options->sort == SEEP_SORT_AGE || (of_threads && of_blocks);
}

struct seep_error *seep_report_births(struct seep_session *session, const struct seep_view_options *options,
                                      const char *source) {
    return source && asks_for_births(options) ? seep_rebuild_births(session, source) : NULL;
}

struct seep_error *seep_report_session(FILE *out, struct seep_session *session,
                                       struct seep_suppress *suppress,
                                       const struct seep_view_options *options, const char *source) {
    struct seep_symbols *symbols = NULL;
    struct seep_error *error = seep_report_births(session, options, source);
    if (!error)
        error = seep_report_symbols_of_text(options, source, &symbols);
    if (!error)
        error = seep_suppress_apply(suppress, session, symbols);
    if (!error)
        error = seep_report_selected(out, session, symbols, options, source);
    seep_symbols_destroy(symbols);
    return error;
}
