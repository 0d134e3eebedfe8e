// SPDX-License-Identifier: BSD-2-Clause
// `seep check PROG ARGS`: a run held against budgets and a baseline, for CI. What is decided is
// analysis/check.h; here are the options, the files that are asked for, and the exit status.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text_copy.h"
#include "base/words.h"
#include "command/command.h"
#include "command/report_options.h"
#include "command/result_file.h"
#include "command/running.h"
#include "output/check_report.h"
#include "source/run/program.h"

struct check_values {
    uint64_t max_leaked;
    uint64_t max_peak;
    uint64_t max_allocations;
    uint64_t max_mismatches;
    const char *baseline;
    bool update_baseline;
    const char *junit;
    const char *sarif;
    bool github;
};

static const struct check_values defaults = {.max_peak = SEEP_NO_BUDGET, .max_allocations = SEEP_NO_BUDGET};

#define AT(field) offsetof(struct check_values, field)

static const struct seep_option check_options[] = {
    {"max-leaked", 0, SEEP_OPTION_SIZE, AT(max_leaked),
     .help = "how much may leak, in all processes together (default 0)"},
    {"max-peak", 0, SEEP_OPTION_SIZE, AT(max_peak), .help = "how much may be live at once in a process"},
    {"max-allocations", 0, SEEP_OPTION_NUMBER, AT(max_allocations),
     .help = "how often may be allocated, in all processes together"},
    {"max-mismatches", 0, SEEP_OPTION_NUMBER, AT(max_mismatches),
     .help = "how many frees may be wrong: by the wrong function, or of no live block (default 0)"},
    {"baseline", 0, SEEP_OPTION_STRING, AT(baseline), .value = "FILE",
     .help = "leaks that FILE lists are known, and accepted up to what it says"},
    {"update-baseline", 0, SEEP_OPTION_FLAG, AT(update_baseline),
     .help = "make the baseline the leaks of this run, and accept them; each program has its own"},
    {"junit", 0, SEEP_OPTION_STRING, AT(junit), .value = "FILE", .help = "write the result as JUnit XML"},
    {"sarif", 0, SEEP_OPTION_STRING, AT(sarif), .value = "FILE", .help = "write the result as SARIF 2.1.0"},
    {"github", 0, SEEP_OPTION_FLAG, AT(github), .help = "print annotations for GitHub Actions"},
    {NULL},
};

static const struct seep_option_group check_group = {.title = "Check",
                                                     .options = check_options,
                                                     .values_bytes = sizeof(struct check_values),
                                                     .defaults = &defaults};

// What is otherwise than in a run.
static const struct seep_option_meant meant[] = {
    {"output",
     .help = "save the trace in FILE (default: none is saved; %e program, %p pid; -: standard output)"},
    {"report", .help = "write the report to FILE (default: none is written; -: standard output)"},
    {"quiet", .help = "say nothing when it passes, and do not list what leaks"},
    {"error-exitcode", .help = "exit with N when a budget is broken (default 1)"},
    {"allocator", .help = "allocate with glibc, jemalloc, mimalloc, tcmalloc, scudo or a library"},
    {"rounds", .refused = true},
    {NULL},
};

struct checking {
    const struct check_values *values;
    const struct seep_view_options *view;
    struct seep_baseline baseline;
    bool judged; // the program ran
};

// What the files are about: a check, or a program that could not be run.
struct result {
    const struct seep_check *check; // NULL: it was not run
    struct seep_check_not_run not_run;
};

typedef struct seep_error *(*put_function)(FILE *out, const struct result *result);

static struct seep_error *put_junit(FILE *out, const struct result *result) {
    if (result->check)
        return seep_check_put_junit(out, result->check);
    seep_check_put_junit_not_run(out, &result->not_run);
    return NULL;
}

static struct seep_error *put_sarif(FILE *out, const struct result *result) {
    return result->check ? seep_check_put_sarif(out, result->check)
                         : seep_check_put_sarif_not_run(out, &result->not_run);
}

static struct seep_error *write_file(const char *path, const char *what, put_function put,
                                     const struct result *result) {
    if (!path)
        return NULL;
    if (strcmp(path, "-") == 0)
        return put(stdout, result);
    FILE *out = fopen(path, "we");
    if (!out)
        return seep_error_hint(seep_error_system(errno, "%s: cannot write %s", path, what),
                               "name another file, and run it again");
    struct seep_error *err = put(out, result);
    struct seep_error *second =
        seep_result_close(out, path, what, "make room, or name another file, and run it again");
    if (!err || (second && err->code == SEEP_E_IO)) { // the second one says more
        seep_error_destroy(err);
        return second;
    }
    seep_error_destroy(second);
    seep_result_drop(path);
    return err;
}

static struct seep_error *write_files(const struct checking *checking, const struct result *result) {
    const struct check_values *values = checking->values;
    struct seep_error *err = write_file(values->junit, "the JUnit file", put_junit, result);
    struct seep_error *second = write_file(values->sarif, "the SARIF file", put_sarif, result);
    if (err && second)
        seep_command_fail(second); // of two both are told
    else if (second)
        err = second;
    return err;
}

static struct seep_error *write_results(const struct checking *checking, const struct seep_check *check) {
    const struct result result = {.check = check};
    struct seep_error *err = write_files(checking, &result);
    if (!err && checking->values->github)
        err = seep_check_put_github(stderr, check);
    return err;
}

// The baseline of a run of which too little is known would accept too little, or too much.
static struct seep_error *update_baseline(const struct checking *checking, const struct seep_check *check) {
    const char *path = checking->values->baseline;
    if (check->unsure)
        return seep_error_hint(seep_error_create(SEEP_E_UNSUPPORTED, "%s: not updated", path),
                               "the run tells too little: see above");
    struct seep_error *err = seep_check_save_baseline(check, path);
    if (err)
        return err;
    size_t nr_kept = 0, nr_before = checking->baseline.nr_entries;
    for (size_t i = 0; i < check->nr_leaks; i++)
        nr_kept += seep_baseline_find(&checking->baseline, check->leaks[i].key) != NULL;
    fprintf(stderr, "seep: check: %s: %zu known leak%s", path, check->nr_leaks, seep_plural(check->nr_leaks));
    if (nr_before)
        fprintf(stderr, ": %zu added, %zu taken out", check->nr_leaks - nr_kept, nr_before - nr_kept);
    fputc('\n', stderr);
    return NULL;
}

// Everything that leaks is accepted, so that only the other budgets are left.
static void accept_all(struct seep_check *check) {
    check->options.max_leaked = SEEP_NO_BUDGET;
    check->broken[SEEP_BUDGET_LEAKED] = false;
    check->nr_gone = 0;
}

static void put_verdict(const struct checking *checking, const struct seep_check *check, bool quiet) {
    uint64_t top = checking->view->top;
    seep_check_put_verdict(stderr, check);
    seep_check_put_suppressions(stderr, check);
    if (!quiet)
        seep_check_put_findings(stderr, check, top == SEEP_TOP_DEFAULT ? 10 : top);
}

static struct seep_error *judge(void *data, const struct seep_session *session, struct seep_symbols *symbols,
                                bool quiet, int failure_status, int *status) {
    struct checking *checking = data;
    const struct check_values *values = checking->values;
    checking->judged = true;
    const struct seep_check_options options = {
        .ignore_last = checking->view->ignore_last,
        .max_leaked = values->max_leaked,
        .max_peak = values->max_peak,
        .max_allocations = values->max_allocations,
        .max_mismatches = values->max_mismatches,
        .kinds = checking->view->kinds ? checking->view->kinds : SEEP_KINDS_LEAKED,
        .function = checking->view->function,
        .file = checking->view->file,
        .module = checking->view->module,
        .baseline = values->baseline && !values->update_baseline ? &checking->baseline : NULL};
    struct seep_check *check = NULL;
    struct seep_error *err = seep_check_create(session, symbols, &options, &check);
    if (err)
        return err;
    if (values->update_baseline)
        accept_all(check);
    bool passed = seep_check_passed(check);
    if (!passed) {
        put_verdict(checking, check, quiet);
        *status = failure_status;
    }
    err = write_results(checking, check);
    if (!err && values->update_baseline)
        err = update_baseline(checking, check);
    if (!err && passed && !quiet) // last, because everything before it may fail
        put_verdict(checking, check, quiet);
    seep_check_destroy(check);
    return err;
}

// What is known to go wrong is said before the program starts.
static struct seep_error *check_file(const char *path, const char *what) {
    if (!path || strcmp(path, "-") == 0)
        return NULL;
    const char *slash = strrchr(path, '/');
    char *folder = slash ? seep_text_copy(path, (size_t)SEEP_MAX(slash - path, (ptrdiff_t)1)) : strdup(".");
    if (!folder)
        return seep_error_no_memory();
    struct stat status;
    bool there = stat(path, &status) == 0;
    int trouble = there && S_ISDIR(status.st_mode) ? EISDIR
                  : access(there ? path : folder, W_OK) != 0 ? errno
                                                             : 0;
    struct seep_error *err =
        trouble ? seep_error_hint(seep_error_system(trouble, "%s: cannot write %s", path, what),
                                  "the program was not started; name another file")
                : NULL;
    free(folder);
    return err;
}

static struct seep_error *check_values(const struct check_values *values) {
    if (values->update_baseline && !values->baseline)
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "--update-baseline: which one?"),
                               "name it with --baseline FILE");
    struct seep_error *err = check_file(values->junit, "the JUnit file");
    if (!err)
        err = check_file(values->sarif, "the SARIF file");
    if (!err && values->update_baseline)
        err = check_file(values->baseline, "the baseline");
    return err;
}

// What narrows the report and not the check would leave out nothing of what it judges.
static struct seep_error *check_filters(const struct seep_view_options *view, bool update_baseline) {
    const struct {
        bool given;
        const char *option;
    } unfit[] = {{view->program, "--program"},
                 {view->pid > 0, "--pid"},
                 {view->thread, "--thread"},
                 {view->min_size > 0, "--min-size"},
                 {view->max_size < UINT64_MAX, "--max-size"},
                 {view->older_ns >= 0, "--older"},
                 {view->since, "--since"},
                 {view->until, "--until"}};
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(unfit); i++)
        if (unfit[i].given)
            return seep_error_hint(
                seep_error_create(SEEP_E_USAGE, "%s does not narrow a check", unfit[i].option),
                "--function, --file, --module, --kind and --ignore-last do; for a report of less, save the "
                "trace "
                "with -o");
    if (update_baseline && (view->function || view->file || view->module))
        return seep_error_hint(
            seep_error_create(SEEP_E_USAGE, "--update-baseline writes the leaks of the whole run"),
            "leave out --function, --file and --module: what they leave out would be accepted no longer");
    return NULL;
}

static struct seep_error *read_baseline(const struct check_values *values, struct seep_baseline *baseline) {
    if (!values->baseline)
        return NULL;
    struct seep_error *err = seep_baseline_read(baseline, values->baseline);
    // A new baseline has no old one to compare with.
    if (err && values->update_baseline && !baseline->of_others) {
        seep_error_destroy(err);
        seep_baseline_deinit(baseline);
        return NULL;
    }
    if (err && err->code == SEEP_E_NOT_FOUND)
        err = seep_error_hint(err, "--update-baseline makes it");
    return err;
}

static struct seep_error *run_check(const struct seep_arguments *arguments, int *ret_status) {
    struct checking checking = {.values = seep_arguments_values(arguments, &check_group),
                                .view = seep_arguments_values(arguments, &seep_report_group),
                                .baseline = SEEP_BASELINE_INIT};
    struct seep_error *err = check_filters(checking.view, checking.values->update_baseline);
    if (!err)
        err = check_values(checking.values);
    if (!err)
        err = read_baseline(checking.values, &checking.baseline);
    if (err)
        return err;
    const struct seep_judge how = {&checking, judge};
    err = seep_run_judged(arguments, &how, ret_status);
    if (!checking.judged) {
        const char *why = err                                       ? err->message
                          : *ret_status == SEEP_EXIT_NOT_FOUND      ? "the program was not found"
                          : *ret_status == SEEP_EXIT_NOT_EXECUTABLE ? "the program cannot be executed"
                                                                    : "the program could not be traced";
        const struct result result = {.not_run = {arguments->operands[0], why}};
        struct seep_error *second = write_files(&checking, &result);
        if (second)
            seep_command_fail(second);
    }
    seep_baseline_deinit(&checking.baseline);
    return err;
}

const struct seep_command seep_command_check = {
    .name = "check",
    .summary = "for CI: run a program, fail when it leaks or breaks a budget",
    .usage = "[options] [--] PROG [ARG...]",
    .about =
        "Exits with 1 when a budget is broken, or when too little is known to say that none is; with the\n"
        "program's own status otherwise. What leaks is what is lost or indirectly lost: --kind takes\n"
        "others. The report is only written with --report, the trace only with -o.\n",
    .groups = (const struct seep_option_group *const[]){&check_group, &seep_suppress_group, &seep_run_group,
                                                        &seep_report_group, NULL},
    .meant = meant,
    .examples =
        (const struct seep_example[]){
            {"seep check ./test", "fail when anything leaks"},
            {"seep check --max-peak 64M --max-allocations 100000 ./test", "and when it takes too much"},
            {"seep check --baseline leaks.txt --update-baseline ./test", "accept what leaks today"},
            {"seep check --baseline leaks.txt ./test", "fail when more leaks than that"},
            {"seep check --junit seep.xml --sarif seep.sarif ./test", "for the CI server, for code scanning"},
            {NULL},
        },
    .operand = "PROG",
    .min_operands = 1,
    .max_operands = SEEP_OPERANDS_ANY,
    .stop_at_operand = true,
    .run = run_check,
};
