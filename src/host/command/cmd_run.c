// SPDX-License-Identifier: BSD-2-Clause
// `seep run PROG ARGS`: traces a program from its start, saves the trace and reports when it ends.
// Whatever goes wrong with trace or report, the exit status stays the program's; only that a report which was
// asked for could not be made is no success.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/words.h"
#include "source/run/allocator.h"
#include "source/run/program.h"
#include "command/command.h"
#include "command/comparing.h"
#include "command/html.h"
#include "command/recording.h"
#include "command/reporting.h"
#include "command/result_file.h"
#include "command/run_leaks.h"
#include "command/run_options.h"
#include "command/run_trace.h"
#include "command/running.h"
#include "command/trace_name.h"
#include "session/run_session.h"
#include "scan/holders.h"
#include "scan/scan.h"
#include "output/format.h"
#include "output/output.h"
#include "output/report.h"
#include "output/report_outstanding.h"

// The program and its children may change their directory. What was in the file is gone, as of any result.
static struct seep_error *prepare_log(const char *file, char **ret_path) {
    char folder[PATH_MAX] = "";
    if (file[0] != '/' && !getcwd(folder, sizeof(folder)))
        return seep_error_system(errno, "cannot tell the current directory");
    if (asprintf(ret_path, "%s%s%s", folder, file[0] == '/' ? "" : "/", file) < 0) {
        *ret_path = NULL;
        return seep_error_no_memory();
    }
    if (strchr(file, '%'))
        return NULL;
    int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return seep_error_hint(seep_error_system(errno, "%s: cannot write the log", file),
                               "the program was not started; name another file with --log");
    close(fd);
    return NULL;
}

static struct seep_error *open_report(const struct seep_run_values *values, FILE **ret_out) {
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

// What to do where a report could not be written.
static const char *again(bool saved) {
    return saved ? "make room, and 'seep report' of the trace makes it again"
                 : "make room, or name another file with --report, and run it again";
}

// stdout is checked by main, and what stderr does not take cannot be told. `made`: there is a report in
// it.
static struct seep_error *close_report(FILE *out, const struct seep_run_values *values, bool made,
                                       bool saved) {
    if (out == stdout || out == stderr)
        return NULL;
    struct seep_error *err = seep_result_close(out, values->report, "the report", again(saved));
    if (!err && !made)
        seep_result_drop(values->report);
    return err;
}

// A process is leaving: it is let go as soon as its memory has been read.
static struct seep_error *look(void *data, struct seep_run_parked *parked,
                               struct seep_profile **ret_profile) {
    struct seep_scan_target target = {
        .pid = parked->image->pid, .image_fd = parked->image->fd, .parked_sp_rt = parked->sp_rt};
    struct seep_scan_options options = {.roots = SEEP_ROOTS_ALL, .variables = data};
    struct seep_scan *scan = NULL;
    struct seep_error *err = seep_scan_look(&target, &options, &scan);
    seep_run_release(parked);
    if (!err)
        err = seep_scan_finish(scan, ret_profile);
    seep_scan_destroy(scan);
    return err;
}

// ---- while it runs ----

struct watcher {
    const struct seep_run_values *values;
    const struct seep_view_options *view;
    struct seep_symbols *symbols;
    FILE *out; // NULL: no reports
    struct seep_run_trace *trace;
};

static void looked(void *data, const struct seep_session *session) {
    struct watcher *watcher = data;
    struct seep_view_options view = *watcher->view;
    view.by = SEEP_BY_SITE;
    view.sort = view.sort == SEEP_SORT_AUTO || view.sort == SEEP_SORT_GROWTH ? SEEP_SORT_LIVE : view.sort;
    view.kinds = 0;
    if (!watcher->out)
        return;
    struct seep_error *err = seep_report_outstanding(watcher->out, session, watcher->symbols, &view);
    fflush(watcher->out);
    if (err)
        seep_command_fail(err);
    if (ferror(watcher->out))
        watcher->out = NULL; // they are not read; the trace goes on
}

// Whether the trace could be saved is said in the end.
static void keep(void *data, const struct seep_session *session) {
    const struct watcher *watcher = data;
    seep_error_destroy(seep_run_trace_keep(watcher->trace, session));
}

// Said at once: whatever comes next may come to us, too.
static void reached(void *data, const struct seep_session *session, const struct seep_run_reached *reached) {
    const struct watcher *watcher = data;
    char *saved = NULL;
    struct seep_error *err = seep_run_trace_snap(watcher->trace, session, &saved);
    if (err)
        seep_command_fail(seep_error_prefix(err, "--snap-at"));
    else if (!watcher->values->quiet)
        seep_report_reached(stderr, saved, reached->bytes, reached->limit_bytes, reached->what);
    free(saved);
}

// One line, whatever --quiet says: without it seep would seem to hang.
static void waiting(void *data, const struct seep_run_idle *left, size_t nr_left) {
    enum { LISTED_MAX = 5 };
    const struct watcher *watcher = data;
    fputs("seep: ", stderr);
    seep_put_escaped(stderr, watcher->trace->program);
    fprintf(stderr, " has ended, and %zu process%s that it started run%s on: ", nr_left,
            seep_plural_es(nr_left), nr_left == 1 ? "s" : "");
    for (size_t i = 0; i < nr_left && i < LISTED_MAX; i++) {
        fputs(i ? ", " : "", stderr);
        seep_put_escaped(stderr, left[i].name);
        fprintf(stderr, " (%d)", (int)left[i].pid);
    }
    fprintf(stderr, "%s; Ctrl-C reports now, --no-wait never waits\n", nr_left > LISTED_MAX ? ", ..." : "");
}

// What a run comes to when the program has ended.
struct ending {
    const struct seep_run_values *values;
    const struct seep_view_options *view;
    struct seep_suppress *suppress;
    const struct seep_judge *judge; // NULL: none
    struct seep_symbols *symbols;
    FILE *out;
    struct seep_run_trace *trace;
    int *status;
};

static struct seep_error *judge(const struct ending *ending, struct seep_session *session,
                                struct seep_symbols *symbols) {
    const struct seep_judge *judge = ending->judge;
    const struct seep_run_values *values = ending->values;
    int failure_status = values->error_exitcode ? (int)values->error_exitcode : 1;
    return judge ? judge->judge(judge->data, session, symbols, values->quiet, failure_status, ending->status)
                 : NULL;
}

static struct seep_error *report(const struct ending *ending, struct seep_session *session,
                                 struct seep_symbols *symbols, const char *source) {
    if (ending->values->quiet || (ending->judge && !ending->values->report))
        return NULL;
    struct seep_error *err = seep_report_selected(ending->out, session, symbols, ending->view, source);
    if (!err || !ending->values->report)
        return err;
    err = seep_error_prefix(err, "%s", ending->values->report);
    return err->code == SEEP_E_IO ? seep_error_hint(err, "%s", again(source != NULL)) : err;
}

// false: something of it failed, which has been said.
static bool finish(const struct ending *ending, struct seep_session *session) {
    const struct seep_run_values *values = ending->values;
    bool saves = !ending->judge || values->output;
    struct seep_error *err = saves ? seep_run_trace_save(ending->trace, session) : NULL;
    const char *saved = ending->trace->name;
    if (err) {
        seep_command_fail(err);
        *ending->status = *ending->status ? *ending->status : 1;
    }
    struct seep_symbols *symbols = ending->symbols;
    err = NULL;
    bool looks = !values->quiet || values->html || values->error_exitcode || ending->judge;
    err = looks ? seep_store_complete(session) : NULL;
    if (err) {
        seep_command_fail(err);
        *ending->status = ending->judge || values->error_exitcode ? 1 : *ending->status;
        return false;
    }
    if (looks)
        err = seep_suppress_apply(ending->suppress, session, symbols);
    if (!err)
        err = report(ending, session, symbols, saved);
    if (!err && values->html) {
        struct seep_page_source page = {.session = session,
                                        .name = saved ? saved : ending->trace->program,
                                        .symbols = symbols,
                                        .options = ending->view,
                                        .max_bytes = SEEP_HTML_BYTES};
        err = seep_html_write(&page, values->html);
    }
    bool done = !err;
    if (err) {
        seep_command_fail(err);
        *ending->status = ending->judge || !*ending->status ? 1 : *ending->status;
    }
    err = judge(ending, session, symbols);
    if (err) {
        seep_command_fail(err);
        *ending->status = 1;
    }
    return done;
}

// Who asks for ages wants them kept.
static bool needs_ages(const struct seep_view_options *view) {
    return view->older_ns >= 0 || view->ignore_last || view->since || view->until ||
           view->sort == SEEP_SORT_AGE || view->sort == SEEP_SORT_EXIT;
}

struct seep_error *seep_run_judged(const struct seep_arguments *arguments, const struct seep_judge *judge,
                                   int *ret_status) {
    const struct seep_run_values *values = seep_arguments_values(arguments, &seep_run_group);
    const struct seep_view_options *view = seep_arguments_values(arguments, &seep_report_group);
    if (values->no_args)
        seep_process_drop_args();
    struct seep_run_options options = {
        .argv = arguments->operands,
        .depth = values->depth,
        .sample_bytes = values->sample_bytes,
        .age = values->age || needs_ages(view),
        .free_stacks = values->free_stacks,
        .wipe_freed = values->wipe_freed < 0 ? judge != NULL : values->wipe_freed,
        .ignore_children = values->children == 1,
        .wait = !values->no_wait,
        .mode = seep_run_mode_name(values),
        .drop = values->drop,
        .log_fd = values->log_fd,
        .log_columns = values->log_columns,
        .scan = values->scan == 0 && !values->sample_bytes && values->mode != SEEP_MODE_COUNT &&
                values->mode != SEEP_MODE_LOG};
    struct seep_symbols *symbols = NULL;
    FILE *out;
    char *allocator = NULL, *log = NULL;
    struct seep_suppress suppress = SEEP_SUPPRESS_INIT;
    struct seep_run_threshold threshold = {0};
    struct seep_error *err = seep_run_check(values, view, judge != NULL, &threshold);
    if (!err)
        err = seep_suppress_read(arguments, &suppress);
    if (!err && values->allocator)
        err = seep_allocator_find(values->allocator, &allocator);
    if (!err)
        err = open_report(values, &out);
    if (!err && values->log)
        err = prepare_log(values->log, &log);
    if (!err && values->mode == SEEP_MODE_RECORD)
        log = seep_recording_rest(values->output ? values->output : SEEP_TRACE_NAME_DEFAULT);
    options.allocator = allocator;
    options.log = log;
    if (!err)
        err = seep_report_symbols(view, NULL, &symbols);
    if (err) {
        free(allocator);
        free(log);
        seep_suppress_deinit(&suppress);
        return err;
    }
    struct seep_symbols *variables = NULL; // of all processes that are looked at
    struct seep_exit_look at_exit = {.look = look};
    struct seep_session *session = NULL;
    struct seep_store *store = NULL;
    int status = 1;
    bool reported = true;
    struct seep_recording recording = {.pattern = values->output ? values->output : SEEP_TRACE_NAME_DEFAULT,
                                       .program = arguments->operands[0],
                                       .rest = log,
                                       .keep_bytes = values->keep_bytes,
                                       .keeps_others = !values->output};
    struct seep_run_trace trace = {
        .pattern = values->output, .program = arguments->operands[0], .recording = &recording};
    struct watcher watcher = {.values = values, .view = view, .symbols = symbols, .trace = &trace};
    bool silent = values->quiet || (judge && !values->report) || seep_output_of(view) != &seep_output_text;
    watcher.out = silent ? NULL : out;
    struct seep_run_watch watch = {.interval_ns = SEEP_MAX(values->interval_ns, INT64_C(0)),
                                   .count = values->count,
                                   .looked = looked,
                                   .snap_bytes = threshold.bytes,
                                   .snap_percent = threshold.percent,
                                   .reached = reached,
                                   .waiting = waiting,
                                   .data = &watcher};
    err = seep_store_create(&store);
    if (!err)
        err = seep_holders_variables(0, &variables);
    at_exit.data = variables;
    if (!err && values->mode == SEEP_MODE_RECORD)
        err = seep_recording_begin(&recording);
    watch.recorder = recording.recorder;
    bool saves = values->output ? strcmp(values->output, "-") != 0 : !judge;
    watch.keep = saves && values->mode != SEEP_MODE_RECORD ? keep : NULL;
    if (!err)
        err = seep_session_run(&options, &at_exit, &watch, store, &session, &status);
    if (err) {
        seep_command_fail(err);
        reported = false;
    } else {
        struct ending ending = {values, view, &suppress, judge, symbols, out, &trace, &status};
        reported = finish(&ending, session);
        bool killed = session->profiles[0]->process.exit_kind == SEEP_EXIT_SIGNAL;
        if (!judge && values->error_exitcode && !killed && seep_run_has_leaks(session, view))
            status = (int)values->error_exitcode;
    }
    seep_run_trace_deinit(&trace);
    seep_recording_deinit(&recording);
    seep_session_destroy(session);
    seep_store_destroy(store);
    seep_symbols_destroy(variables);
    free(allocator);
    free(log);
    seep_suppress_deinit(&suppress);
    seep_symbols_destroy(symbols);
    err = close_report(out, values, reported, !judge || values->output);
    if (err)
        status = status ? status : 1;
    if (err && reported)
        seep_command_fail(err);
    else
        seep_error_destroy(err);
    *ret_status = status;
    return NULL;
}

// A list of allocators. Nothing is traced then, so what asks for a trace or its report contradicts it.
static struct seep_error *compare(const struct seep_arguments *arguments,
                                  const struct seep_run_values *values, int *ret_status) {
    const struct seep_view_options *view = seep_arguments_values(arguments, &seep_report_group);
    const struct seep_output *output = seep_output_of(view);
    bool json = output == &seep_output_json, csv = output == &seep_output_csv;
    if (seep_run_asks_to_trace(values) || !(json || csv || output == &seep_output_text))
        return seep_error_hint(
            seep_error_create(SEEP_E_USAGE, "a list of allocators compares them, and nothing is traced"),
            "only --rounds, --report, --json and --csv go with it");
    struct seep_compared_run run = {.argv = arguments->operands,
                                    .allocators = values->allocator,
                                    .nr_rounds = values->rounds ? (uint32_t)values->rounds : 10,
                                    .report = values->report,
                                    .json = json,
                                    .csv = csv};
    struct seep_error *error = seep_run_compared(&run, ret_status);
    if (!error)
        return NULL;
    int status = *ret_status;
    *ret_status = seep_command_fail(error);
    if (status == SEEP_EXIT_NOT_FOUND || status == SEEP_EXIT_NOT_EXECUTABLE)
        *ret_status = status;
    return NULL;
}

static struct seep_error *run_run(const struct seep_arguments *arguments, int *ret_status) {
    const struct seep_run_values *values = seep_arguments_values(arguments, &seep_run_group);
    if (values->allocator && strchr(values->allocator, ','))
        return compare(arguments, values, ret_status);
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
            {"seep run ./app input.txt", "what app allocated, and what it did not free"},
            {"seep run -q -o app.seep -- ./app --its-own-option",
             "only save the trace, for 'seep report app.seep'"},
            {"seep run --report report.json --json ./app", "the report as JSON, into a file"},
            {"seep run --error-exitcode 9 ./test", "in a script: fail when blocks are lost"},
            {"seep run --allocator glibc,jemalloc ./app", "which allocator would be faster, or smaller?"},
            {NULL},
        },
    .operand = "PROG",
    .min_operands = 1,
    .max_operands = SEEP_OPERANDS_ANY,
    .stop_at_operand = true,
    .run = run_run,
};
