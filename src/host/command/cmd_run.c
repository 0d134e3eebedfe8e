// SPDX-License-Identifier: BSD-2-Clause
// `seep run PROG ARGS`: traces a program from its start, saves the trace and reports when it ends.
// Whatever goes wrong with trace or report, the exit status stays the program's.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/allocator.h"
#include "command/command.h"
#include "command/reporting.h"
#include "command/running.h"
#include "command/trace_name.h"
#include "model/run_session.h"
#include "model/session_file.h"
#include "scan/scan.h"
#include "ui/report.h"

struct run_values {
    const char *output;
    const char *report;
    bool quiet;
    uint64_t error_exitcode;
    uint64_t depth;
    uint64_t sample_bytes;
    bool age;
    int children;
    const char *allocator;
    int scan;
};

static const char *const scan_choices[] = {"yes", "no", NULL};
static const char *const children_choices[] = {"follow", "ignore", NULL};

#define AT(field) offsetof(struct run_values, field)

static const struct seep_option run_options[] = {
    {"output", 'o', SEEP_OPTION_STRING, AT(output), .value = "FILE",
     .help = "save the trace in FILE (default seep.%e.%p.seep: %e program, %p pid; -: standard output)"},
    {"report", 0, SEEP_OPTION_STRING, AT(report), .value = "FILE",
     .help = "write the report to FILE (default: standard error; -: standard output)"},
    {"quiet", 'q', SEEP_OPTION_FLAG, AT(quiet), .help = "no report"},
    {"error-exitcode", 0, SEEP_OPTION_NUMBER, AT(error_exitcode), .min = 1, .max = 255,
     .help = "exit with N when blocks are lost or possibly lost (with --scan no: when any remain)"},
    {"scan", 0, SEEP_OPTION_CHOICE, AT(scan), .choices = scan_choices,
     .help =
         "when a process leaves, look which of its blocks are lost, and who holds the others (default yes)"},
    {"depth", 0, SEEP_OPTION_NUMBER, AT(depth), .min = 1, .max = 16384,
     .help = "keep the N innermost frames of a stack (default: all, up to 16384)"},
    {"age", 0, SEEP_OPTION_FLAG, AT(age), .help = "keep when, and by which thread, each live block was allocated"},
    {"sample", 0, SEEP_OPTION_SIZE, AT(sample_bytes),
     .help = "record about one allocation in SIZE bytes (unbiased); 0, the default: all"},
    {"children", 0, SEEP_OPTION_CHOICE, AT(children), .value = "WHAT", .choices = children_choices,
     .help = "follow or ignore the processes that the program starts (default follow)"},
    {"allocator", 0, SEEP_OPTION_STRING, AT(allocator), .value = "NAME",
     .help = "allocate with glibc, jemalloc, mimalloc, tcmalloc or a library (default next: what the program "
             "has)"},
    {NULL},
};

const struct seep_option_group seep_run_group = {
    .title = "Options", .options = run_options, .values_bytes = sizeof(struct run_values)};

// A run can take hours: that its trace has no place is said before it. What is only known when the
// program runs (%e, %p in the folder) is left to save().
static struct seep_error *check_output(const struct run_values *values) {
    const char *output = values->output ? values->output : ".";
    const char *slash = strrchr(output, '/');
    if (values->output && strcmp(output, "-") == 0)
        return NULL;
    char *folder = slash ? strndup(output, (size_t)SEEP_MAX(slash - output, (ptrdiff_t)1)) : strdup(".");
    if (!folder)
        return seep_error_no_memory();
    struct seep_error *err = NULL;
    if (!strchr(folder, '%') && access(folder, F_OK))
        err = seep_error_system(errno, "%s: cannot save the trace there", folder);
    else if (!strchr(folder, '%') && access(folder, W_OK | X_OK) && (!slash || access(output, W_OK)))
        err = seep_error_system(errno, "%s: cannot save the trace there", folder);
    free(folder);
    return err ? seep_error_hint(err, "the program was not started; name another place with -o") : NULL;
}

static struct seep_error *check_quiet(const struct run_values *values, const struct seep_view_options *view) {
    const char *other = values->report           ? "--report"
                        : view->json             ? "--json"
                        : view->csv              ? "--csv"
                        : view->gen_suppressions ? "--gen-suppressions"
                                                 : NULL;
    if (!values->quiet || !other)
        return NULL;
    return seep_error_hint(seep_error_create(SEEP_E_USAGE, "-q means no report, and %s asks for one", other),
                           "take one of them; 'seep report' makes a report of the trace later");
}

static struct seep_error *open_report(const struct run_values *values, FILE **ret_out) {
    *ret_out = stderr;
    if (!values->report || values->quiet)
        return NULL;
    if (strcmp(values->report, "-") == 0) {
        *ret_out = stdout;
        return NULL;
    }
    FILE *out = fopen(values->report, "we");
    if (!out)
        return seep_error_hint(seep_error_system(errno, "%s: cannot write the report", values->report),
                               "the program was not started; name another file with --report");
    *ret_out = out;
    return NULL;
}

// stdout is checked by main, and what stderr does not take nobody can be told.
static struct seep_error *close_report(FILE *out, const char *name) {
    if (out == stdout || out == stderr)
        return NULL;
    bool failed = ferror(out) != 0;
    errno = 0;
    failed |= fclose(out) != 0;
    return failed ? seep_error_system(errno ? errno : EIO, "%s: cannot write the report", name) : NULL;
}

// *ret_name: the file it was saved in, malloc'ed; NULL for standard output.
static struct seep_error *save(const struct seep_session *session, const char *pattern, const char *program,
                               char **ret_name) {
    char *name = NULL;
    if (pattern && strcmp(pattern, "-") == 0)
        return seep_session_save(session, "-");
    struct seep_error *err = seep_trace_name(pattern ? pattern : SEEP_TRACE_NAME_DEFAULT, program,
                                             session->profiles[0]->process.pid, &name);
    if (!err)
        err = seep_session_save(session, name);
    if (err) {
        free(name);
        return err;
    }
    *ret_name = name;
    return NULL;
}

// ---- leaks ----

// What --error-exitcode counts where a scan told the classes: as Valgrind's --errors-for-leak-kinds.
#define KINDS_THAT_FAIL (1u << SEEP_KIND_LOST | 1u << SEEP_KIND_POSSIBLE)

// Without a scan, all that remains. Processes that went on with exec or were killed had no chance to
// free anything.
static uint64_t nr_leaks(const struct seep_profile *profile, uint32_t kinds) {
    uint64_t nr = 0;
    if (!profile->leaks.known)
        return profile->process.exit_kind == SEEP_EXIT_CODE ? seep_profile_leaked(profile).blocks : 0;
    for (uint32_t kind = SEEP_KIND_LOST; kind < SEEP_KIND_NR; kind++)
        nr += kinds >> kind & 1 ? profile->leaks.blocks[kind] : 0;
    return nr;
}

// A check must not pass because nobody looked.
static bool fails_unseen(const struct seep_profile *profile) {
    size_t note;
    if (profile->process.exit_kind != SEEP_EXIT_CODE ||
        seep_profile_verdict(profile, &note) != SEEP_VERDICT_NOT_TRACED)
        return false;
    seep_command_fail(seep_error_hint(
        seep_error_create(SEEP_E_UNSUPPORTED,
                          "--error-exitcode: the program was not traced, its leaks are not known"),
        "the report says why"));
    return true;
}

static bool has_leaks(const struct seep_session *session, const struct seep_view_options *view) {
    uint32_t kinds = KINDS_THAT_FAIL;
    if (view->kind && !seep_kinds_parse(view->kind, &kinds))
        kinds = KINDS_THAT_FAIL; // checked before
    for (size_t i = 0; i < session->nr_profiles; i++)
        if (nr_leaks(session->profiles[i], kinds))
            return true;
    return fails_unseen(session->profiles[0]);
}

// A process is leaving: it is let go as soon as its memory has been read.
static struct seep_error *look(void *data, struct seep_run_parked *parked,
                               struct seep_profile **ret_profile) {
    struct seep_scan_target target = {
        .pid = parked->image->pid, .image_fd = parked->image->fd, .parked_sp_rt = parked->sp_rt};
    struct seep_scan_options options = {.roots = SEEP_ROOTS_ALL};
    struct seep_scan *scan = NULL;
    struct seep_error *err = seep_scan_look(&target, &options, &scan);
    seep_run_release(parked);
    if (!err)
        err = seep_scan_finish(scan, data, ret_profile);
    seep_scan_destroy(scan);
    return err;
}

// What a run comes to when the program has ended.
struct ending {
    const struct run_values *values;
    const struct seep_view_options *view;
    struct seep_suppress *suppress;
    const struct seep_judge *judge; // NULL: none
    struct seep_symbols *symbols;
    FILE *out;
    int *status;
};

static struct seep_error *judge(const struct ending *ending, struct seep_session *session,
                                struct seep_symbols *symbols) {
    const struct seep_judge *judge = ending->judge;
    const struct run_values *values = ending->values;
    int failure_status = values->error_exitcode ? (int)values->error_exitcode : 1;
    return judge ? judge->judge(judge->data, session, symbols, values->quiet, failure_status, ending->status)
                 : NULL;
}

static struct seep_error *report(const struct ending *ending, struct seep_session *session,
                                 struct seep_symbols *symbols, const char *source) {
    if (ending->values->quiet || (ending->judge && !ending->values->report))
        return NULL;
    struct seep_error *err = seep_report_write(ending->out, session, symbols, ending->view, source);
    return err && ending->values->report ? seep_error_prefix(err, "%s", ending->values->report) : err;
}

// false: something of it failed, which has been said.
static bool finish(const struct ending *ending, struct seep_session *session, const char *program) {
    const struct run_values *values = ending->values;
    char *saved = NULL;
    struct seep_error *err =
        ending->judge && !values->output ? NULL : save(session, values->output, program, &saved);
    if (err)
        seep_command_fail(err);
    struct seep_symbols *symbols = ending->symbols;
    err = NULL;
    if (!values->quiet || values->error_exitcode || ending->judge)
        err = seep_suppress_apply(ending->suppress, session, symbols);
    if (!err)
        err = report(ending, session, symbols, saved);
    bool done = !err;
    if (err) {
        seep_command_fail(err);
        *ending->status = ending->judge ? 1 : *ending->status;
    }
    free(saved);
    err = judge(ending, session, symbols);
    if (err) {
        seep_command_fail(err);
        *ending->status = 1;
    }
    return done;
}

struct seep_error *seep_run_judged(const struct seep_arguments *arguments, const struct seep_judge *judge,
                                   int *ret_status) {
    const struct run_values *values = seep_arguments_values(arguments, &seep_run_group);
    const struct seep_view_options *view = seep_arguments_values(arguments, &seep_report_group);
    struct seep_run_options options = {.argv = arguments->operands,
                                       .depth = values->depth,
                                       .sample_bytes = values->sample_bytes,
                                       .age = values->age,
                                       .ignore_children = values->children == 1,
                                       .scan = values->scan == 0 && !values->sample_bytes};
    struct seep_symbols *symbols = NULL;
    FILE *out;
    char *allocator = NULL;
    struct seep_suppress suppress = SEEP_SUPPRESS_INIT;
    struct seep_error *err = seep_report_check(view);
    if (!err)
        err = check_quiet(values, view);
    if (!err)
        err = check_output(values);
    if (!err)
        err = seep_suppress_read(arguments, &suppress);
    if (!err && values->allocator)
        err = seep_allocator_find(values->allocator, &allocator);
    if (!err)
        err = open_report(values, &out);
    options.allocator = allocator;
    if (!err)
        err = seep_report_symbols(view, &symbols);
    if (err) {
        free(allocator);
        seep_suppress_deinit(&suppress);
        return err;
    }
    struct seep_exit_look at_exit = {.look = look, .data = symbols};
    struct seep_session *session = NULL;
    int status = 1;
    bool reported = true;
    err = seep_session_run(&options, &at_exit, &session, &status);
    if (err) {
        seep_command_fail(err);
    } else {
        struct ending ending = {values, view, &suppress, judge, symbols, out, &status};
        reported = finish(&ending, session, arguments->operands[0]);
        bool killed = session->profiles[0]->process.exit_kind == SEEP_EXIT_SIGNAL;
        if (!judge && values->error_exitcode && !killed && has_leaks(session, view))
            status = (int)values->error_exitcode;
    }
    seep_session_destroy(session);
    free(allocator);
    seep_suppress_deinit(&suppress);
    seep_symbols_destroy(symbols);
    err = close_report(out, values->report);
    if (err && reported)
        seep_command_fail(err);
    else
        seep_error_destroy(err);
    *ret_status = status;
    return NULL;
}

static struct seep_error *run_run(const struct seep_arguments *arguments, int *ret_status) {
    return seep_run_judged(arguments, NULL, ret_status);
}

const struct seep_command seep_command_run = {
    .name = "run",
    .summary = "trace a program from its start, report when it ends",
    .usage = "[options] [--] PROG [ARG...]",
    .about =
        "The program's input, output and exit status are its own; the report goes to standard error when it\n"
        "has ended, the trace to a file. Exits with 126 or 127 when the program cannot be run.\n",
    .groups = (const struct seep_option_group *const[]){&seep_run_group, &seep_report_group,
                                                        &seep_suppress_group, NULL},
    .examples =
        (const struct seep_example[]){
            {"seep run ./app input.txt", "what app allocated, and what it did not give back"},
            {"seep run -q -o app.seep -- ./app --its-own-option",
             "only save the trace, for 'seep report app.seep'"},
            {"seep run --report report.json --json ./app", "the report as JSON, into a file"},
            {"seep run --error-exitcode 9 ./test", "in a script: fail when blocks are lost"},
            {NULL},
        },
    .operand = "PROG",
    .min_operands = 1,
    .max_operands = SEEP_OPERANDS_ANY,
    .stop_at_operand = true,
    .run = run_run,
};
