// SPDX-License-Identifier: BSD-2-Clause
// `seep run PROG ARGS`: traces a program from its start, saves the trace and reports when it ends.
// Whatever goes wrong with trace or report, the exit status stays the program's; only that a report which was
// asked for could not be made is no success.
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/words.h"
#include "source/run/allocator.h"
#include "source/run/program.h"
#include "command/command.h"
#include "command/allocator_options.h"
#include "command/html.h"
#include "command/recording.h"
#include "command/report_options.h"
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
#include "output/wrap.h"

struct running {
    const struct seep_run_values *values;
    const struct seep_view_options *view;
    const struct seep_judge *judge; // NULL: none
    struct seep_run_threshold threshold;
    struct seep_suppress suppress;
    char *allocator; // malloc'ed, as is the next: the file of the library, or NULL
    char *log;
    FILE *out; // of the report; NULL: not open
    struct seep_symbols *symbols;
    struct seep_symbols *variables; // of all processes that are looked at
    bool looks_on;                  // with --interval, what is outstanding goes to `out`
    struct seep_recording recording;
    struct seep_run_trace trace;
    int status; // to exit with
};

// The program and its children may change their directory. What was in the file is gone, as of any result.
static struct seep_error *prepare_log(const char *file, char **ret_path) {
    char folder[PATH_MAX] = "";
    if (file[0] != '/' && !getcwd(folder, sizeof(folder)))
        return seep_error_system(errno, "cannot tell the current directory");
    if (asprintf(ret_path, "%s%s%s", folder, file[0] == '/' ? "" : "/", file) < 0) {
        *ret_path = NULL;
        return seep_error_no_memory();
    }
    if (strlen(*ret_path) >= SEEP_OUT_BYTES_MAX)
        return seep_error_hint(
            seep_error_create(SEEP_E_UNSUPPORTED, "--log: the path has %zu bytes", strlen(*ret_path)),
            "the program was not started; name a file with a path of less than %u bytes", SEEP_OUT_BYTES_MAX);
    if (strchr(file, '%'))
        return NULL;
    // Without O_NONBLOCK the open waits for the reader of a pipe with a name.
    int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK, 0600);
    if (fd < 0 && errno != ENXIO)
        return seep_error_hint(seep_error_system(errno, "%s: cannot write the log", file),
                               "the program was not started; name another file with --log");
    struct stat about;
    bool is_regular = fd >= 0 && fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
    if (fd >= 0)
        close(fd);
    return is_regular
               ? NULL
               : seep_error_hint(seep_error_create(SEEP_E_UNSUPPORTED,
                                                   "%s: cannot write the log: it is no regular file", file),
                                 "the program was not started; '--log-fd 3 3>%s' writes to it", file);
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
static struct seep_error *look(void *data, struct seep_run_parked *parked, struct seep_profile **ret_profile,
                               struct seep_process_map *ret_code) {
    struct seep_scan_target target = {
        .pid = parked->image->pid, .image_fd = parked->image->fd, .parked_sp_rt = parked->sp_rt};
    struct seep_scan_options options = {.roots = SEEP_ROOTS_ALL, .variables = data};
    struct seep_scan *scan = NULL;
    struct seep_error *err = seep_scan_look(&target, &options, &scan);
    seep_run_release(parked);
    struct seep_process_map code;
    if (!err)
        err = seep_scan_code(scan, &code);
    if (!err) {
        err = seep_scan_finish(scan, ret_profile);
        if (err)
            seep_process_map_deinit(&code);
        else
            *ret_code = code;
    }
    seep_scan_destroy(scan);
    return err;
}

// ---- while it runs ----

static void looked(void *data, const struct seep_session *session) {
    struct running *running = data;
    struct seep_view_options view = *running->view;
    view.by = SEEP_BY_SITE;
    view.sort = view.sort == SEEP_SORT_AUTO || view.sort == SEEP_SORT_GROWTH ? SEEP_SORT_LIVE : view.sort;
    view.kinds = 0;
    if (!running->looks_on)
        return;
    struct seep_error *err = seep_report_outstanding(running->out, session, running->symbols, &view);
    fflush(running->out);
    if (err)
        seep_command_fail(err);
    if (ferror(running->out))
        running->looks_on = false; // they are not read; the trace goes on
}

// Whether the trace could be saved is said in the end.
static void keep(void *data, const struct seep_session *session) {
    struct running *running = data;
    seep_error_destroy(seep_run_trace_keep(&running->trace, session));
}

// Said at once: whatever comes next may come to us, too.
static void reached(void *data, const struct seep_session *session, const struct seep_run_reached *reached) {
    const struct running *running = data;
    char *saved = NULL;
    struct seep_error *err = seep_run_trace_snap(&running->trace, session, &saved);
    if (err)
        seep_command_fail(seep_error_prefix(err, "--snap-at"));
    else if (!running->values->quiet)
        seep_report_reached(stderr, saved, reached->bytes, reached->limit_bytes, reached->what);
    free(saved);
}

// One line, whatever --quiet says: without it seep would seem to hang.
static void waiting(void *data, const struct seep_run_idle *left, size_t nr_left) {
    enum { LISTED_MAX = 5 };
    const struct running *running = data;
    struct seep_style style = seep_style_of(stderr);
    struct seep_wrap wrap;
    FILE *out = seep_wrap_begin(&wrap, stderr, &style);
    fputs("seep: ", out);
    seep_put_escaped(out, running->trace.program);
    fprintf(out, " has ended, and %zu process%s that it started run%s on: ", nr_left, seep_plural_es(nr_left),
            nr_left == 1 ? "s" : "");
    for (size_t i = 0; i < nr_left && i < LISTED_MAX; i++) {
        fputs(i ? ", " : "", out);
        seep_put_escaped(out, left[i].name);
        fprintf(out, " (%d)", (int)left[i].pid);
    }
    fprintf(out, "%s; Ctrl-C reports now, --no-wait never waits\n", nr_left > LISTED_MAX ? ", ..." : "");
    seep_wrap_done(&wrap);
}

// ---- when it has ended ----

static struct seep_error *report(const struct running *running, struct seep_session *session) {
    const struct seep_run_values *values = running->values;
    const char *saved = running->trace.name;
    if (values->quiet || (running->judge && !values->report))
        return NULL;
    struct seep_error *err = seep_report_births(session, running->view, saved);
    if (!err)
        err = seep_report_selected(running->out, session, running->symbols, running->view, saved);
    if (!err || !values->report)
        return err;
    err = seep_error_prefix(err, "%s", values->report);
    return err->code == SEEP_E_IO ? seep_error_hint(err, "%s", again(saved != NULL)) : err;
}

static struct seep_error *write_page(const struct running *running, const struct seep_session *session) {
    const struct seep_run_trace *trace = &running->trace;
    struct seep_page_source page = {.session = session,
                                    .name = trace->name ? trace->name : trace->program,
                                    .symbols = running->symbols,
                                    .options = running->view,
                                    .max_bytes = SEEP_HTML_BYTES};
    return seep_html_write(&page, running->values->html);
}

static struct seep_error *judge(struct running *running, const struct seep_session *session) {
    const struct seep_judge *judge = running->judge;
    const struct seep_run_values *values = running->values;
    int failure_status = values->error_exitcode ? (int)values->error_exitcode : 1;
    return judge ? judge->judge(judge->data, session, running->symbols, values->quiet, failure_status,
                                &running->status)
                 : NULL;
}

// Says it, and lets the exit status be one of failure: the program's, unless that was success.
static void fail(struct running *running, struct seep_error *err, bool replaces_status) {
    seep_command_fail(err);
    if (replaces_status || !running->status)
        running->status = 1;
}

// A log that lacks calls is a failure, as a trace that is not saved. With --log-fd it is none, because the
// reader may have left on purpose.
static void check_log(struct running *running, const struct seep_session *session) {
    const struct seep_run_values *values = running->values;
    uint64_t nr_lost = 0;
    for (size_t i = 0; i < session->nr_profiles; i++)
        nr_lost += session->profiles[i]->health.lost[SEEP_LOST_LOG];
    if (!nr_lost || (!values->log && !values->quiet))
        return;
    const char *place = values->log ? values->log : "--log-fd", *verb = nr_lost == 1 ? " is" : "s are";
    struct seep_error *err = seep_error_hint(
        seep_error_create(SEEP_E_IO, "%s: %" PRIu64 " call%s not in the log", place, nr_lost, verb),
        "'seep report' of the trace says why");
    if (values->log)
        fail(running, err, false);
    else
        seep_command_fail(err);
}

// false: something of it failed, which has been said.
static bool finish(struct running *running, struct seep_session *session) {
    const struct seep_run_values *values = running->values;
    bool judged = running->judge != NULL, saves = !judged || values->output;
    struct seep_error *err = saves ? seep_run_trace_save(&running->trace, session) : NULL;
    if (err)
        fail(running, err, false);
    check_log(running, session);
    bool looks = !values->quiet || values->html || values->error_exitcode || judged;
    err = looks ? seep_store_complete(session) : NULL;
    if (err) {
        seep_command_fail(err);
        running->status = judged || values->error_exitcode ? 1 : running->status;
        return false;
    }
    if (looks)
        err = seep_suppress_apply(&running->suppress, session, running->symbols);
    if (!err)
        err = report(running, session);
    if (!err && values->html)
        err = write_page(running, session);
    bool done = !err;
    if (err)
        fail(running, err, judged);
    err = judge(running, session);
    if (err)
        fail(running, err, true);
    return done;
}

// ---- the run ----

// Who asks for ages wants them kept.
static bool needs_ages(const struct seep_view_options *view) {
    return view->older_ns >= 0 || view->ignore_last || view->since || view->until ||
           view->sort == SEEP_SORT_AGE || view->sort == SEEP_SORT_EXIT;
}

static struct seep_error *prepare(struct running *running, const struct seep_arguments *arguments) {
    const struct seep_run_values *values = running->values;
    struct seep_error *err =
        seep_run_check(values, running->view, running->judge != NULL, &running->threshold);
    if (!err)
        err = seep_suppress_read(arguments, &running->suppress);
    if (!err && values->allocator)
        err = seep_allocator_find(values->allocator, &running->allocator);
    if (!err)
        err = open_report(values, &running->out);
    if (!err && values->log)
        err = prepare_log(values->log, &running->log);
    if (!err && values->mode == SEEP_MODE_RECORD)
        running->log = seep_recording_rest(values->output ? values->output : SEEP_TRACE_NAME_DEFAULT);
    if (err)
        return err;
    return values->html || running->judge
               ? seep_report_symbols(running->view, NULL, &running->symbols)
               : seep_report_symbols_of_text(running->view, NULL, &running->symbols);
}

static struct seep_run_options options_of(const struct running *running, char *const *argv) {
    const struct seep_run_values *values = running->values;
    bool knows_blocks = values->mode != SEEP_MODE_COUNT && values->mode != SEEP_MODE_LOG;
    return (struct seep_run_options){.argv = argv,
                                     .depth = values->depth,
                                     .sample_bytes = values->sample_bytes,
                                     .age = values->age || needs_ages(running->view),
                                     .free_stacks = values->free_stacks,
                                     .wipe_freed =
                                         values->wipe_freed < 0 ? running->judge != NULL : values->wipe_freed,
                                     .ignore_children = values->children == 1,
                                     .wait = !values->no_wait,
                                     .mode = seep_run_mode_name(values),
                                     .drop = values->drop,
                                     .log = running->log,
                                     .log_fd = values->log_fd,
                                     .log_columns = values->log_columns,
                                     .allocator = running->allocator,
                                     .scan = values->scan == 0 && !values->sample_bytes && knows_blocks};
}

// Runs the program and tells what came of it. false: there is no report in `out`.
static bool run_program(struct running *running, char *const *argv) {
    const struct seep_run_values *values = running->values;
    struct seep_session *session = NULL;
    struct seep_store *store = NULL;
    struct seep_run_options options = options_of(running, argv);
    running->recording =
        (struct seep_recording){.pattern = values->output ? values->output : SEEP_TRACE_NAME_DEFAULT,
                                .program = argv[0],
                                .rest = running->log,
                                .keep_bytes = values->keep_bytes,
                                .keeps_others = !values->output};
    running->trace = (struct seep_run_trace){
        .pattern = values->output, .program = argv[0], .recording = &running->recording};
    running->looks_on = !values->quiet && !(running->judge && !values->report) &&
                        seep_output_of(running->view) == &seep_output_text;
    struct seep_error *err = seep_store_create(&store);
    if (!err)
        err = seep_holders_variables(0, &running->variables);
    if (!err && values->mode == SEEP_MODE_RECORD)
        err = seep_recording_begin(&running->recording);
    bool saves = values->output ? strcmp(values->output, "-") != 0 : !running->judge;
    struct seep_exit_look at_exit = {.look = look, .data = running->variables};
    struct seep_run_watch watch = {.interval_ns = SEEP_MAX(values->interval_ns, INT64_C(0)),
                                   .count = values->count,
                                   .looked = looked,
                                   .snap_bytes = running->threshold.bytes,
                                   .snap_percent = running->threshold.percent,
                                   .reached = reached,
                                   .waiting = waiting,
                                   .keep = saves && values->mode != SEEP_MODE_RECORD ? keep : NULL,
                                   .recorder = running->recording.recorder,
                                   .data = running};
    if (!err)
        err = seep_session_run(&options, &at_exit, &watch, store, &session, &running->status);
    bool reported = !err && finish(running, session);
    if (err) {
        seep_command_fail(err);
    } else if (!running->judge && values->error_exitcode &&
               session->profiles[0]->process.exit_kind != SEEP_EXIT_SIGNAL &&
               seep_run_has_leaks(session, running->view)) {
        running->status = (int)values->error_exitcode;
    }
    seep_session_destroy(session);
    seep_store_destroy(store);
    return reported;
}

static void running_deinit(struct running *running) {
    seep_run_trace_deinit(&running->trace);
    seep_recording_deinit(&running->recording);
    seep_symbols_destroy(running->variables);
    seep_symbols_destroy(running->symbols);
    free(running->allocator);
    free(running->log);
    seep_suppress_deinit(&running->suppress);
}

struct seep_error *seep_run_judged(const struct seep_arguments *arguments, const struct seep_judge *judge,
                                   int *ret_status) {
    struct running running = {.values = seep_arguments_values(arguments, &seep_run_group),
                              .view = seep_arguments_values(arguments, &seep_report_group),
                              .judge = judge,
                              .suppress = SEEP_SUPPRESS_INIT,
                              .status = 1};
    const struct seep_run_values *values = running.values;
    if (values->no_args)
        seep_process_drop_args();
    struct seep_error *not_started = prepare(&running, arguments);
    bool reported = !not_started && run_program(&running, arguments->operands);
    running_deinit(&running);
    struct seep_error *err =
        running.out ? close_report(running.out, values, reported, !judge || values->output) : NULL;
    if (not_started) {
        seep_error_destroy(err);
        return not_started;
    }
    if (err && !running.status)
        running.status = 1;
    if (err && reported)
        seep_command_fail(err);
    else
        seep_error_destroy(err);
    *ret_status = running.status;
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
