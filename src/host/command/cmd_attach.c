// SPDX-License-Identifier: BSD-2-Clause
// `seep attach PID`: traces a running process by probes in the kernel, and prints what is outstanding now
// and then, as bcc's memleak does.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "process/own_root.h"
#include "base/interrupt.h"
#include "source/attach/attach_heap.h"
#include "process/process_map.h"
#include "command/attach_options.h"
#include "command/attach_scan.h"
#include "command/warn.h"
#include "source/attach/profile_traced.h"
#include "file/session_file.h"
#include "session/session_open.h"
#include "scan/scan.h"
#include "output/format.h"
#include "output/report.h"
#include "output/report_calls.h"
#include "output/report_outstanding.h"
#include "profile/verdict.h"

// What is younger while the process runs is most likely on its way to a free.
#define OLDER_NS (INT64_C(500) * 1000000)

// A program that we start still ignores these.
static sigset_t ignored;

static struct seep_view_options view_of(const struct seep_attach_values *values,
                                        const struct seep_watch_values *shown, bool ended) {
    struct seep_view_options view = seep_view_options_default;
    view.top = shown->top;
    view.sort = shown->sort == SEEP_WATCH_SORT_COUNT ? SEEP_SORT_BLOCKS : SEEP_SORT_LIVE;
    view.blocks = shown->blocks;
    view.min_size = shown->min_size;
    view.max_size = shown->max_size;
    view.older_ns = seep_watch_older_ns(shown, ended || shown->combined ? -1 : OLDER_NS);
    view.full_paths = values->full_paths;
    view.full_names = values->full_names;
    view.full_stacks = values->full_stacks;
    view.no_demangle = values->no_demangle;
    view.json = shown->json; // the newest schema
    return view;
}

// One round after the other, of a trace or of an image.
struct watching {
    struct seep_attached *attached;
    const struct seep_attach_plan *plan;
    const struct seep_attach_values *values;
    struct seep_symbols *symbols;
    struct seep_session *session; // of the last report
    bool gone;                    // its process ended before there was another
};

// Standard output of a program that we start is its own.
static FILE *output_of(const struct seep_attach_plan *plan) {
    return plan->argv ? stderr : stdout;
}

// Whether lines for people are printed beside the reports.
static bool tells(const struct seep_attach_plan *plan) {
    return !plan->shown->json && !plan->shown->quiet;
}

static struct seep_error *report(const struct watching *watching, bool ended) {
    const struct seep_watch_values *shown = watching->plan->shown;
    if (shown->quiet)
        return NULL;
    struct seep_view_options view = view_of(watching->values, shown, ended);
    FILE *out = output_of(watching->plan);
    struct seep_error *err = shown->json
                                 ? seep_report_write(out, watching->session, watching->symbols, &view, NULL)
                                 : seep_report_outstanding(out, watching->session, watching->symbols, &view);
    fflush(out);
    return err;
}

// A process that has ended meanwhile is reported as it was.
static struct seep_error *scan(struct seep_attached *attached, const struct seep_attach_plan *plan,
                               struct seep_session *session, bool *ret_scanned) {
    *ret_scanned = false;
    if (session->profiles[0]->health.sample_bytes)
        return seep_profile_note(session->profiles[0], SEEP_NOTE_SCAN_SAMPLED,
                                 "not scanned: only samples of the blocks are known");
    struct seep_error *err = seep_attach_scan(attached, plan->argv != NULL, session);
    *ret_scanned = !err;
    if (!err || err->code != SEEP_E_NOT_FOUND)
        return err;
    seep_error_destroy(err);
    return seep_profile_note(session->profiles[0], SEEP_NOTE_SCAN_ENDED,
                             "not scanned: the process had ended");
}

// What is lost comes first, and memleak's shape has no place for it.
static struct seep_error *report_scan(const struct watching *watching) {
    if (watching->plan->shown->quiet)
        return NULL;
    struct seep_view_options view = view_of(watching->values, watching->plan->shown, true);
    view.sort = SEEP_SORT_AUTO;
    FILE *out = output_of(watching->plan);
    struct seep_error *err =
        seep_report_write(out, watching->session, watching->symbols, &view, watching->plan->shown->output);
    fflush(out);
    return err;
}

static struct seep_error *wait_trace(void *data, int64_t until_ns, bool *ret_ended) {
    struct watching *watching = data;
    struct seep_error *err = seep_attached_run(watching->attached, until_ns, &seep_interrupted);
    if (!err)
        err = seep_attached_settle(watching->attached);
    seep_session_destroy(watching->session);
    watching->session = NULL;
    if (!err)
        err = seep_session_from_trace(watching->attached, &watching->session);
    *ret_ended = !err && seep_attached_ended(watching->attached);
    return err;
}

static struct seep_error *report_trace(void *data, bool last, bool ended) {
    struct watching *watching = data;
    bool wanted = watching->values->scan;
    struct seep_error *err = NULL;
    if (ended && wanted)
        err = seep_profile_note(
            watching->session->profiles[0], SEEP_NOTE_SCAN_ENDED,
            "not scanned: it has ended by itself, and its memory is gone; 'seep run' looks before that");
    bool scanned = !err && last && !ended && wanted;
    if (scanned)
        err = scan(watching->attached, watching->plan, watching->session, &scanned);
    if (!err && scanned)
        return report_scan(watching);
    return !err && (last || !watching->values->trace) ? report(watching, ended) : err;
}

static struct seep_error *wait_image(void *data, int64_t until_ns, bool *ret_ended) {
    struct watching *watching = data;
    struct seep_session *session = NULL;
    struct seep_error *err = seep_watch_sleep(NULL, until_ns, ret_ended);
    if (!err)
        err = seep_session_from_pid(watching->plan->pid, &session);
    // It has ended: the report before this one was the last.
    if (err && err->code == SEEP_E_NOT_FOUND && watching->session) {
        seep_error_destroy(err);
        *ret_ended = watching->gone = true;
        return NULL;
    }
    if (err)
        return err;
    seep_session_destroy(watching->session);
    watching->session = session;
    return NULL;
}

static struct seep_error *report_image(void *data, bool last, bool ended) {
    struct watching *watching = data;
    (void)ended;
    if (watching->gone)
        return NULL;
    if (!last || !watching->values->scan)
        return report(watching, true); // images keep no ages
    seep_session_destroy(watching->session);
    watching->session = NULL;
    struct seep_error *err = seep_scan_process(
        watching->plan->pid, &(struct seep_scan_options){.roots = SEEP_ROOTS_ALL}, &watching->session);
    return err ? err : report_scan(watching);
}

struct printing {
    FILE *out;
    struct seep_symbols *symbols;
    struct seep_error *failed; // the first time; then nothing more is printed
};

static void print_call(void *context, const struct seep_traced_process *process,
                       const struct seep_heap_event *call) {
    struct printing *printing = context;
    if (!printing->failed)
        printing->failed = seep_put_call(printing->out, printing->symbols, process, call);
}

// The root of a process that sees other files than we do, held open, because the process may end. -1: it sees
// ours.
static int open_root(pid_t pid) {
    char path[SEEP_OWN_ROOT_ROOM];
    return seep_process_own_root(pid, path) ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
}

// Names of the code of `pid`, as it sees its files. *ret_root stays open as long as they are in use.
static struct seep_error *open_symbols(const struct seep_attach_values *values, pid_t pid, int *ret_root,
                                       struct seep_symbols **ret_symbols) {
    char root[64];
    *ret_root = open_root(pid);
    snprintf(root, sizeof(root), "/proc/self/fd/%d", *ret_root);
    struct seep_symbols_options how = {.no_demangle = values->no_demangle,
                                       .sysroot = *ret_root >= 0 ? root : NULL};
    if (!how.sysroot)
        seep_warn_debug_dir();
    return seep_symbols_create(&how, ret_symbols);
}

// libseep.so keeps an image of the process: nothing needs to be attached.
static struct seep_error *watch_image(const struct seep_attach_plan *plan,
                                      const struct seep_attach_values *values,
                                      struct seep_session **ret_session) {
    struct seep_symbols *symbols = NULL;
    int root;
    struct seep_error *err = open_symbols(values, plan->pid, &root, &symbols);
    if (!err && tells(plan))
        printf("Reading the image of pid %d, which has libseep.so, Ctrl+C to quit.\n", (int)plan->pid);
    struct watching watching = {.plan = plan, .values = values, .symbols = symbols};
    struct seep_watch watch = plan->watch;
    watch.data = &watching;
    watch.wait = wait_image;
    watch.report = report_image;
    if (!err)
        err = seep_watch_run(&watch);
    *ret_session = watching.session;
    seep_symbols_destroy(symbols);
    if (root >= 0)
        close(root);
    return err;
}

static void announce(void *context) {
    const struct seep_attach_plan *plan = context;
    if (plan->argv)
        fprintf(stderr, "Executing '%s' and tracing the resulting process, Ctrl+C to quit.\n", plan->argv[0]);
    else if (plan->cgroup)
        printf("Attaching to control group %s, Ctrl+C to quit.\n", plan->cgroup);
    else if (plan->all)
        printf("Attaching to all processes, Ctrl+C to quit.\n");
    else
        printf("Attaching to pid %d, Ctrl+C to quit.\n", (int)plan->pid);
    fflush(stdout);
}

static struct seep_error *attach(struct seep_attach_plan *plan, const struct seep_attach_values *values,
                                 struct seep_session **ret_session, int *ret_status) {
    struct printing printing = {.out = output_of(plan)};
    struct seep_attach_plan *program = plan->argv && tells(plan) ? plan : NULL;
    struct seep_attach_options options = {.pid = plan->pid,
                                          .argv = plan->argv,
                                          .ignored = ignored,
                                          .cgroup = plan->cgroup,
                                          .all = plan->all,
                                          .sample = plan->shown->sample,
                                          .object = values->object,
                                          .prefix = values->prefix,
                                          .ring_bytes = values->buffer,
                                          .ignore_children = values->children == SEEP_ATTACH_CHILDREN_IGNORE,
                                          .faults = values->faults,
                                          .source = values->source,
                                          .probes = values->probes,
                                          .watcher = values->trace ? print_call : NULL,
                                          .watcher_context = &printing,
                                          // before its own first line, not after
                                          .about_to_run = program ? announce : NULL,
                                          .about_to_run_context = program,
                                          .stop = &seep_interrupted};
    struct seep_attached *attached;
    struct seep_traced_process *const *processes;
    if (values->trace)
        seep_stream_by_lines(printing.out);
    struct seep_error *err = seep_attached_create(&options, &attached, ret_status);
    if (err)
        return err;
    int root = -1;
    seep_attached_processes(attached, &processes);
    err = open_symbols(values, plan->all ? 0 : processes[0]->heap.pid, &root, &printing.symbols);
    if (!err && tells(plan) && !plan->argv)
        announce(plan);
    struct watching watching = {
        .attached = attached, .plan = plan, .values = values, .symbols = printing.symbols};
    plan->watch.data = &watching;
    plan->watch.wait = wait_trace;
    plan->watch.report = report_trace;
    if (!err)
        err = seep_watch_run(&plan->watch);
    *ret_session = watching.session;
    seep_attached_destroy(attached);
    seep_symbols_destroy(printing.symbols);
    if (root >= 0)
        close(root);
    if (err)
        seep_error_destroy(printing.failed);
    return err ? err : printing.failed;
}

// The exit status of the program; 0 while it runs. After an exec the program has several profiles: the last
// one counts.
static int status_of(const struct seep_session *session) {
    int status = 0;
    for (size_t p = 0; p < session->nr_profiles; p++) {
        const struct seep_process *process = &session->profiles[p]->process;
        if (process->pid != session->profiles[0]->process.pid)
            continue;
        if (process->exit_kind == SEEP_EXIT_CODE)
            status = (int)process->exit_value;
        else if (process->exit_kind == SEEP_EXIT_SIGNAL)
            status = 128 + (int)process->exit_value;
    }
    return status;
}

// As in `seep run`, seep exits with the program's status where that is not 0.
static struct seep_error *keep_status(struct seep_error *err, int status, int *ret_status) {
    *ret_status = status;
    if (!err || !status)
        return err;
    seep_command_fail(err);
    return NULL;
}

static struct seep_error *run_attach(const struct seep_arguments *arguments, int *ret_status) {
    const struct seep_attach_values *values = seep_arguments_values(arguments, &seep_attach_group);
    struct seep_attach_plan plan = {0};
    struct seep_error *err = seep_attach_read_plan(arguments, &plan);
    if (err)
        return err;
    err = seep_watch_check_output(plan.shown);
    if (err) {
        free(plan.words);
        return err;
    }
    struct seep_session *session = NULL;
    int status = 1;
    if (values->no_args)
        seep_process_drop_args();
    seep_interrupt_catch_whole(&ignored);
    if (plan.pid && values->backend == SEEP_ATTACH_BACKEND_AUTO && !values->trace &&
        values->source == SEEP_ATTACH_SOURCE_AUTO && seep_process_has_library(plan.pid)) {
        err = watch_image(&plan, values, &session);
    } else {
        err = attach(&plan, values, &session, &status);
    }
    int own = plan.argv && session ? status_of(session) : 0;
    if (!err || own)
        status = own;
    if (session && plan.shown->output) { // also where its report could not be written
        struct seep_error *saved = seep_watch_saved(seep_session_save(session, plan.shown->output));
        if (err)
            seep_error_destroy(saved);
        else
            err = saved;
    }
    if (plan.argv)
        err = keep_status(err, status, ret_status);
    seep_session_destroy(session);
    free(plan.words);
    return err;
}

const struct seep_command seep_command_attach = {
    .name = "attach",
    .summary = "trace a running process; print outstanding memory now and then",
    .usage = "[options] PID [INTERVAL [COUNT]] | -- PROG [ARG...] | --cgroup PATH | --all",
    .about =
        "Puts probes on the allocator's functions of a running process, by BPF programs in the kernel, and\n"
        "prints what was allocated since then and not freed, every INTERVAL (default 5s), COUNT times\n"
        "(default: until it ends). Ctrl-C prints a last report and leaves the process as it was. With PROG\n"
        "seep starts it, traces it from its first allocation on, and exits with its status, or with 0 if it\n"
        "runs on. Standard output is PROG's, so seep prints to standard error: one report when PROG has\n"
        "ended, and others before that if an INTERVAL is given.\n",
    .groups = (const struct seep_option_group *const[]){&seep_attach_group, &seep_watch_group, NULL},
    .examples =
        (const struct seep_example[]){
            {"seep attach 1234", "what grows in process 1234, every five seconds"},
            {"seep attach 1234 10s 6 -T 3", "six reports in a minute, the three biggest stacks"},
            {"seep attach 1234 -a -o 60000", "each block that is older than a minute"},
            {"seep attach -- ./app input.txt", "a program from its start, static ones too"},
            {"seep attach 1234 --output app.seep", "save it at the end; seep report app.seep shows it again"},
            {NULL},
        },
    .operand = "PID",
    .min_operands = 0,
    .max_operands = SEEP_OPERANDS_ANY,
    .run = run_attach,
};
