// SPDX-License-Identifier: BSD-2-Clause
// See run_options.h.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file_name.h"
#include "command/run_options.h"
#include "command/running.h"
#include "command/trace_name.h"
#include "source/run/run.h"

#define INTERVAL_LEAST_NS INT64_C(10000000)

static const char *const mode_choices[] = {"live", "count", "log", "record", NULL};
static const char *const scan_choices[] = {"yes", "no", NULL};
static const char *const wipe_choices[] = {"no", "yes", NULL};
static const char *const children_choices[] = {"follow", "ignore", NULL};

#define AT(field) offsetof(struct seep_run_values, field)

static const struct seep_option run_options[] = {
    {"output", 'o', SEEP_OPTION_STRING, AT(output), .value = "FILE",
     .help = "save the trace in FILE (default seep.%e.%p.seep: %e program, %p pid; -: standard output)"},
    {"report", 0, SEEP_OPTION_STRING, AT(report), .value = "FILE",
     .help = "write the report to FILE (default: standard error; -: standard output)"},
    {"html", 0, SEEP_OPTION_STRING, AT(html), .value = "FILE",
     .help = "write a page for a browser to FILE, as seep html does"},
    {"quiet", 'q', SEEP_OPTION_FLAG, AT(quiet), .help = "no report"},
    {"error-exitcode", 0, SEEP_OPTION_NUMBER, AT(error_exitcode), .min = 1, .max = 255,
     .help = "exit with N when blocks are lost, indirectly too (with --scan no: when any remain)"},
    {"scan", 0, SEEP_OPTION_CHOICE, AT(scan), .choices = scan_choices,
     .help =
         "when a process leaves, look which of its blocks are lost, and who holds the others (default yes)"},
    {"mode", 0, SEEP_OPTION_CHOICE, AT(mode), .choices = mode_choices,
     .help =
         "live: stacks and live blocks (default); count: calls by function, thread and size, and no more; "
         "log: the same, and a line of text for each call; record: as live, and every event into the trace"},
    {"drop", 0, SEEP_OPTION_FLAG, AT(drop),
     .help = "with --mode record, never let the program wait: events that find no room are counted as lost"},
    {"keep-last", 0, SEEP_OPTION_SIZE, AT(keep_bytes),
     .help = "with --mode record, keep only the last SIZE of events (a flight recorder)"},
    {"log", 0, SEEP_OPTION_STRING, AT(log), .value = "FILE",
     .help = "with --mode log, append the lines to FILE (%e program, %p pid: one for each process)"},
    {"log-fd", 0, SEEP_OPTION_NUMBER, AT(log_fd), .max = INT32_MAX,
     .help = "with --mode log, write the lines to this descriptor (default 2)"},
    {"log-columns", 0, SEEP_OPTION_STRING, AT(log_columns), .value = "LIST",
     .help = "with --mode log, more columns: time, thread, caller (comma list)"},
    {"depth", 0, SEEP_OPTION_NUMBER, AT(depth), .min = 1, .max = 16384,
     .help = "keep the N innermost frames of a stack (default: all, up to 16384)"},
    {"age", 0, SEEP_OPTION_FLAG, AT(age),
     .help = "keep when, and by which thread, each live block was allocated"},
    {"free-stacks", 0, SEEP_OPTION_FLAG, AT(free_stacks),
     .help = "keep where each block was freed: a double free is shown with the first one"},
    {"wipe-freed", 0, SEEP_OPTION_CHOICE, AT(wipe_freed), .choices = wipe_choices,
     .help =
         "zero memory that is handed out again: old pointers in it hold nothing (default: yes for check)"},
    {"sample", 0, SEEP_OPTION_SIZE, AT(sample_bytes), .max = SEEP_SAMPLE_BYTES_MAX,
     .help = "record about one allocation in SIZE bytes (unbiased); 0, the default: all"},
    {"children", 0, SEEP_OPTION_CHOICE, AT(children), .value = "WHAT", .choices = children_choices,
     .help = "follow or ignore the processes that the program starts (default follow)"},
    {"no-args", 0, SEEP_OPTION_FLAG, AT(no_args),
     .help = "without the arguments of programs, but their names: passwords may be among them"},
    {"no-wait", 0, SEEP_OPTION_FLAG, AT(no_wait),
     .help =
         "report when the program has ended, whatever it started and still runs (default: wait for them)"},
    {"allocator", 0, SEEP_OPTION_STRING, AT(allocator), .value = "NAME",
     .help = "allocate with glibc, jemalloc, mimalloc, tcmalloc, scudo or a library (default next: what the "
             "program has); with a comma list, run the program with each in turn, untraced, and compare"},
    {"rounds", 0, SEEP_OPTION_NUMBER, AT(rounds), .min = 3, .max = 1000,
     .help = "with a list of allocators, rounds that count (default 10)"},
    {"interval", 0, SEEP_OPTION_DURATION, AT(interval_ns),
     .help = "look every T: report what is outstanding, and in the end what grows"},
    {"count", 0, SEEP_OPTION_NUMBER, AT(count), .min = 1,
     .help = "with --interval, N times (default: to the end)"},
    {"snap-at", 0, SEEP_OPTION_STRING, AT(snap_at), .value = "80%|SIZE",
     .help = "save a snapshot, once, when memory comes to that: of its limit, or SIZE"},
    {NULL},
};

static const struct seep_run_values run_defaults = {.interval_ns = -1, .wipe_freed = -1, .log_fd = 2};

const struct seep_option_group seep_run_group = {.title = "Options",
                                                 .options = run_options,
                                                 .values_bytes = sizeof(struct seep_run_values),
                                                 .defaults = &run_defaults};

// Whether two paths are one regular file, or would be when they are made.
static bool is_one_file(const char *a, const char *b) {
    struct stat of_a, of_b;
    bool has_a = stat(a, &of_a) == 0, has_b = stat(b, &of_b) == 0;
    if (has_a || has_b)
        return has_a && has_b && S_ISREG(of_a.st_mode) && of_a.st_dev == of_b.st_dev &&
               of_a.st_ino == of_b.st_ino;
    char *folder_a = seep_folder_of(a), *folder_b = seep_folder_of(b);
    bool is = strcmp(seep_file_name(a), seep_file_name(b)) == 0 && folder_a && folder_b &&
              stat(folder_a, &of_a) == 0 && stat(folder_b, &of_b) == 0 && of_a.st_dev == of_b.st_dev &&
              of_a.st_ino == of_b.st_ino;
    free(folder_a);
    free(folder_b);
    return is;
}

// A run can take hours: that its trace has no place is said before it. `always`: it is saved without -o.
static struct seep_error *check_output(const struct seep_run_values *values, bool always) {
    const char *output = values->output;
    if (!output && !always)
        return NULL;
    struct seep_error *err = seep_trace_place_check(output ? output : SEEP_TRACE_NAME_DEFAULT);
    if (!err && output && strcmp(output, "-") != 0 && values->report && is_one_file(output, values->report))
        err = seep_error_create(SEEP_E_USAGE, "%s: both the trace (-o) and the report (--report)", output);
    return err ? seep_error_hint(err, "the program was not started; name another place with -o") : NULL;
}

static struct seep_error *parse_threshold(const char *text, struct seep_run_threshold *ret_threshold) {
    size_t length = strlen(text);
    struct seep_run_threshold threshold = {0};
    struct seep_error *err = NULL;
    if (length > 1 && text[length - 1] == '%') {
        char digits[32];
        uint64_t percent = 0;
        snprintf(digits, sizeof(digits), "%.*s", (int)SEEP_MIN(length - 1, sizeof(digits) - 1), text);
        err = seep_parse_number("--snap-at", digits, 1, 100, &percent);
        threshold.percent = (unsigned)percent;
    } else {
        err = seep_parse_size("--snap-at", text, &threshold.bytes);
        if (!err && !threshold.bytes)
            err = seep_error_hint(seep_error_create(SEEP_E_USAGE, "--snap-at: '%s' is too small", text),
                                  "as in 80%% or 512M");
    }
    *ret_threshold = threshold;
    return err;
}

static struct seep_error *check_interval(const struct seep_run_values *values) {
    if (values->count && values->interval_ns < 0)
        return seep_error_hint(seep_error_create(SEEP_E_USAGE,
                                                 "--count says how often --interval looks, and there is "
                                                 "no --interval"),
                               "as in --interval 10s --count 20");
    if (values->interval_ns < 0 || values->interval_ns >= INTERVAL_LEAST_NS)
        return NULL;
    return seep_error_hint(seep_error_create(SEEP_E_USAGE, "--interval: less than 10ms"),
                           "each look reads the image of the process");
}

static struct seep_error *check_quiet(const struct seep_run_values *values,
                                      const struct seep_view_options *view) {
    const char *other = values->report                        ? "--report"
                        : view->format != SEEP_FORMAT_DEFAULT ? "--format"
                        : view->json                          ? "--json"
                        : view->csv                           ? "--csv"
                        : view->tree                          ? "--tree"
                        : view->gen_suppressions              ? "--gen-suppressions"
                                                              : NULL;
    if (!values->quiet || !other)
        return NULL;
    return seep_error_hint(seep_error_create(SEEP_E_USAGE, "-q means no report, and %s asks for one", other),
                           "take one of them; 'seep report' makes a report of the trace later");
}

// What no run with these options could show. A report is written when it has ended: too late to say so.
static struct seep_error *check_shown(const struct seep_run_values *values,
                                      const struct seep_view_options *view) {
    const char *unseen = values->scan ? "--scan no" : "--sample";
    if (view->kinds && (values->scan || values->sample_bytes))
        return seep_error_hint(
            seep_error_create(SEEP_E_USAGE, "--kind needs a scan, and with %s none is made", unseen),
            "the program was not started; take one of them");
    if (view->sort == SEEP_SORT_GROWTH && values->interval_ns < 0)
        return seep_error_hint(seep_error_create(SEEP_E_USAGE,
                                                 "--sort growth needs snapshots, and there are none "
                                                 "without --interval"),
                               "the program was not started; as in --interval 10s --sort growth");
    return NULL;
}

static bool are_columns(const char *list) {
    static const char *const names[] = {"time", "thread", "caller"};
    for (const char *at = list;; at++) {
        size_t length = strcspn(at, ",");
        bool known = false;
        for (size_t i = 0; i < SEEP_ARRAY_SIZE(names); i++)
            known |= strlen(names[i]) == length && memcmp(at, names[i], length) == 0;
        if (!known || !at[length])
            return known;
        at += length;
    }
}

// Where calls are counted and nothing else there are no blocks to look at, and no stacks; where events are
// recorded, they have it.
static struct seep_error *check_mode(const struct seep_run_values *values) {
    const char *other = values->sample_bytes  ? "--sample"
                        : values->age         ? "--age"
                        : values->free_stacks ? "--free-stacks"
                                              : NULL;
    if (!other && values->mode != SEEP_MODE_RECORD)
        other = values->error_exitcode     ? "--error-exitcode"
                : values->interval_ns >= 0 ? "--interval"
                : values->snap_at          ? "--snap-at"
                                           : NULL;
    if (values->mode != SEEP_MODE_LIVE && other)
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "%s needs --mode live", other),
                               values->mode == SEEP_MODE_RECORD
                                   ? "a recording has every event with its time"
                                   : "that mode counts calls, and knows no blocks");
    if (values->mode != SEEP_MODE_RECORD && values->drop)
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "--drop needs --mode record"),
                               "nothing else lets a program wait");
    if (values->mode != SEEP_MODE_RECORD && values->keep_bytes)
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "--keep-last needs --mode record"),
                               "nothing else grows with the time");
    const char *of_log = values->log           ? "--log"
                         : values->log_columns ? "--log-columns"
                         : values->log_fd != 2 ? "--log-fd"
                                               : NULL;
    if (values->mode != SEEP_MODE_LOG && of_log)
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "%s needs --mode log", of_log),
                               "as in --mode log %s", of_log);
    if (values->log_columns && !are_columns(values->log_columns))
        return seep_error_hint(
            seep_error_create(SEEP_E_USAGE, "--log-columns: bad value '%s'", values->log_columns),
            "a list of time, thread and caller");
    if (values->log && values->log_fd != 2)
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "--log and --log-fd exclude one another"),
                               "take one of them");
    return NULL;
}

struct seep_error *seep_run_check(const struct seep_run_values *values, const struct seep_view_options *view,
                                  bool judged, struct seep_run_threshold *ret_threshold) {
    struct seep_error *err = seep_report_check(view);
    if (!err && values->rounds)
        err = seep_error_hint(seep_error_create(SEEP_E_USAGE, "--rounds needs a list of allocators"),
                              "as in seep run --allocator glibc,jemalloc");
    if (!err)
        err = check_quiet(values, view);
    if (!err && !values->quiet && (!judged || values->report))
        err = check_shown(values, view);
    if (!err)
        err = check_interval(values);
    if (!err)
        err = check_mode(values);
    if (!err && values->snap_at)
        err = parse_threshold(values->snap_at, ret_threshold);
    if (!err)
        err = check_output(values, !judged);
    if (!err && values->html && strcmp(values->html, "-") != 0)
        err = seep_trace_place_check(values->html);
    return err;
}

const char *seep_run_mode_name(const struct seep_run_values *values) {
    return values->mode != SEEP_MODE_LIVE ? mode_choices[values->mode] : NULL;
}

bool seep_run_asks_to_trace(const struct seep_run_values *values) {
    struct seep_run_values plain;
    memcpy(&plain, &run_defaults, sizeof(plain)); // with the bytes between members
    plain.allocator = values->allocator;
    plain.rounds = values->rounds;
    plain.report = values->report;
    return values->quiet || memcmp(&plain, values, sizeof(plain)) != 0;
}
