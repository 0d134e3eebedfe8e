// SPDX-License-Identifier: BSD-2-Clause
// `seep attach PID`: traces a running process by probes in the kernel, and prints what is outstanding now
// and then, as bcc's memleak does.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "base/live_thread.h"
#include "capture/heap_trace.h"
#include "capture/process_map.h"
#include "command/attach_options.h"
#include "command/attach_scan.h"
#include "command/reporting.h"
#include "command/trace_name.h"
#include "model/profile_image.h"
#include "model/profile_traced.h"
#include "model/session_file.h"
#include "model/session_open.h"
#include "scan/scan.h"
#include "ui/report.h"
#include "ui/report_calls.h"
#include "ui/report_outstanding.h"

// What is younger while the process runs is most likely on its way to a free.
#define OLDER_NS (INT64_C(500) * 1000000)

static volatile sig_atomic_t interrupted;

static void interrupt(int signal_number) {
    (void)signal_number;
    interrupted = 1;
}

// Of the signals that we catch those that were ignored, as by nohup or in the background of a script: a
// program that we start still ignores them.
static sigset_t ignored;

// A second one ends us at once, as if nothing had been caught: the probes go with us.
static void catch_signals(void) {
    struct sigaction action = {.sa_handler = interrupt, .sa_flags = (int)SA_RESETHAND}, before;
    const int caught[] = {SIGINT, SIGTERM};
    sigemptyset(&ignored);
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(caught); i++)
        if (sigaction(caught[i], &action, &before) == 0 && before.sa_handler == SIG_IGN)
            sigaddset(&ignored, caught[i]);
}

static int64_t monotonic_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static struct seep_view_options view_of(const struct seep_attach_values *values, bool ended) {
    struct seep_view_options view = seep_view_options_default;
    view.top = values->top;
    view.sort = values->sort == SEEP_ATTACH_SORT_COUNT ? SEEP_SORT_BLOCKS : SEEP_SORT_LIVE;
    view.blocks = values->blocks;
    view.min_size = values->min_size;
    view.max_size = values->max_size;
    view.older_ns = values->older_ms != UINT64_MAX ? (int64_t)values->older_ms * 1000000
                    : values->older_ns >= 0        ? values->older_ns
                    : ended || values->combined    ? -1
                                                   : OLDER_NS;
    view.full_paths = values->full_paths;
    view.no_demangle = values->no_demangle;
    view.json = values->json;
    return view;
}

static struct seep_error *report(const struct seep_session *session, struct seep_symbols *symbols,
                                 const struct seep_attach_values *values, bool ended) {
    struct seep_view_options view = view_of(values, ended);
    struct seep_error *err = values->json ? seep_report_write(stdout, session, symbols, &view, NULL)
                                          : seep_report_outstanding(stdout, session, symbols, &view);
    fflush(stdout);
    return err;
}

// A process that has ended meanwhile is reported as it was.
static struct seep_error *scan(struct seep_heap_trace *trace, const struct seep_attach_plan *plan,
                               struct seep_session *session, bool *ret_scanned) {
    *ret_scanned = false;
    if (session->profiles[0]->health.sample_bytes)
        return seep_profile_note(session->profiles[0], "not scanned: only samples of the blocks are known");
    struct seep_error *err = seep_attach_scan(trace, plan->argv != NULL, session);
    *ret_scanned = !err;
    if (!err || err->code != SEEP_E_NOT_FOUND)
        return err;
    seep_error_destroy(err);
    return seep_profile_note(session->profiles[0], "not scanned: the process had ended");
}

// What is lost comes first, and memleak's shape has no place for it.
static struct seep_error *report_scan(const struct seep_session *session, struct seep_symbols *symbols,
                                      const struct seep_attach_values *values) {
    struct seep_view_options view = view_of(values, true);
    view.sort = SEEP_SORT_AUTO;
    struct seep_error *err = seep_report_write(stdout, session, symbols, &view, values->save);
    fflush(stdout);
    return err;
}

// Reports at each interval until the process ends, COUNT is reached or the user has seen enough; the last
// one is left in *ret_session.
static struct seep_error *watch(struct seep_heap_trace *trace, const struct seep_attach_plan *plan,
                                const struct seep_attach_values *values, struct seep_symbols *symbols,
                                struct seep_session **ret_session) {
    int64_t next_ns = monotonic_ns();
    struct seep_error *err = NULL;
    bool last = false;
    for (uint64_t i = 1; !err && !last; i++) {
        next_ns += plan->interval_ns;
        err = seep_heap_trace_run(trace, next_ns, &interrupted);
        if (!err)
            err = seep_heap_trace_settle(trace);
        seep_session_destroy(*ret_session);
        *ret_session = NULL;
        if (!err)
            err = seep_session_from_trace(trace, ret_session);
        bool ended = !err && seep_heap_trace_ended(trace);
        last = ended || interrupted || i == plan->count;
        if (!err && ended && values->scan)
            err = seep_profile_note(
                (*ret_session)->profiles[0],
                "not scanned: it has ended by itself, and its memory is gone; 'seep run' looks before that");
        bool scanned = !err && last && !ended && values->scan;
        if (scanned)
            err = scan(trace, plan, *ret_session, &scanned);
        if (!err && scanned)
            err = report_scan(*ret_session, symbols, values);
        else if (!err && (last || !values->trace))
            err = report(*ret_session, symbols, values, ended);
    }
    return err;
}

// Reports of the image until the process ends.
static struct seep_error *report_image(const struct seep_attach_plan *plan,
                                       const struct seep_attach_values *values, struct seep_symbols *symbols,
                                       struct seep_session **ret_session) {
    struct seep_error *err = NULL;
    for (uint64_t i = 1; !err; i++) {
        struct timespec pause = {plan->interval_ns / 1000000000, plan->interval_ns % 1000000000};
        while (!interrupted && nanosleep(&pause, &pause) != 0 && errno == EINTR)
            ;
        struct seep_session *session = NULL;
        err = seep_session_from_pid(plan->pid, &session);
        // It has ended: the report before this one was the last.
        if (err && err->code == SEEP_E_NOT_FOUND && *ret_session) {
            seep_error_destroy(err);
            return NULL;
        }
        if (err)
            return err;
        seep_session_destroy(*ret_session);
        *ret_session = session;
        bool last = interrupted || i == plan->count;
        if (last && values->scan) {
            seep_session_destroy(*ret_session);
            *ret_session = NULL;
            err = seep_scan_process(plan->pid, &(struct seep_scan_options){.roots = SEEP_ROOTS_ALL},
                                    ret_session);
            return err ? err : report_scan(*ret_session, symbols, values);
        }
        err = report(session, symbols, values, true); // images keep no ages
        if (last)
            break;
    }
    return err;
}

struct printing {
    struct seep_symbols *symbols;
    struct seep_error *failed; // the first time; then nothing more is printed
};

static void print_call(void *context, const struct seep_traced_process *process, uint8_t kind,
                       const struct seep_traced_call *call) {
    struct printing *printing = context;
    if (!printing->failed)
        printing->failed = seep_put_call(stdout, printing->symbols, process, kind, call);
}

// Where the process sees other files than we do (a container): its root, held open, because the process may
// end. -1: it sees ours.
static int open_root(pid_t pid) {
    char path[64];
    struct stat ours, its;
    snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)seep_live_thread(pid));
    if (!pid || stat("/proc/self/ns/mnt", &ours) != 0 || stat(path, &its) != 0 || ours.st_ino == its.st_ino)
        return -1;
    snprintf(path, sizeof(path), "/proc/%d/root", (int)seep_live_thread(pid));
    return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

// Names of the code of `pid`, as it sees its files. *ret_root stays open as long as they are in use.
static struct seep_error *open_symbols(const struct seep_attach_values *values, pid_t pid, int *ret_root,
                                       struct seep_symbols **ret_symbols) {
    char root[64];
    *ret_root = open_root(pid);
    snprintf(root, sizeof(root), "/proc/self/fd/%d", *ret_root);
    struct seep_symbols_options how = {.no_demangle = values->no_demangle,
                                       .sysroot = *ret_root >= 0 ? root : NULL};
    return seep_symbols_create(&how, ret_symbols);
}

// libseep.so keeps an image of the process: nothing needs to be attached.
static struct seep_error *watch_image(const struct seep_attach_plan *plan,
                                      const struct seep_attach_values *values,
                                      struct seep_session **ret_session) {
    struct seep_symbols *symbols = NULL;
    int root;
    struct seep_error *err = open_symbols(values, plan->pid, &root, &symbols);
    if (!err && !values->json)
        printf("pid %d has libseep.so: reading its image, which knows all blocks and costs nothing more.\n",
               (int)plan->pid);
    if (!err)
        err = report_image(plan, values, symbols, ret_session);
    seep_symbols_destroy(symbols);
    if (root >= 0)
        close(root);
    return err;
}

static void announce(void *context) {
    const struct seep_attach_plan *plan = context;
    if (plan->argv)
        printf("Executing '%s' and tracing the resulting process, Ctrl+C to quit.\n", plan->argv[0]);
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
    struct printing printing = {NULL};
    struct seep_attach_plan *program = plan->argv && !values->json ? plan : NULL;
    struct seep_heap_trace_options options = {.pid = plan->pid,
                                              .argv = plan->argv,
                                              .ignored = ignored,
                                              .cgroup = plan->cgroup,
                                              .all = plan->all,
                                              .sample = values->sample,
                                              .object = values->object,
                                              .prefix = values->prefix,
                                              .ring_bytes = values->buffer,
                                              .ignore_children =
                                                  values->children == SEEP_ATTACH_CHILDREN_IGNORE,
                                              .faults = values->faults,
                                              .source = values->source,
                                              .probes = values->probes,
                                              .watcher = values->trace ? print_call : NULL,
                                              .watcher_context = &printing,
                                              // before its own first line, not after
                                              .about_to_run = program ? announce : NULL,
                                              .about_to_run_context = program};
    struct seep_heap_trace *trace;
    struct seep_traced_process *const *processes;
    struct seep_error *err = seep_heap_trace_create(&options, &trace, ret_status);
    if (err)
        return err;
    int root = -1;
    seep_heap_trace_processes(trace, &processes);
    err = open_symbols(values, plan->all ? 0 : processes[0]->heap.pid, &root, &printing.symbols);
    if (!err && !values->json && !plan->argv)
        announce(plan);
    if (!err)
        err = watch(trace, plan, values, printing.symbols, ret_session);
    seep_heap_trace_destroy(trace);
    seep_symbols_destroy(printing.symbols);
    if (root >= 0)
        close(root);
    if (err)
        seep_error_destroy(printing.failed);
    return err ? err : printing.failed;
}

static struct seep_error *run_attach(const struct seep_arguments *arguments, int *ret_status) {
    const struct seep_attach_values *values = seep_arguments_values(arguments, &seep_attach_group);
    struct seep_attach_plan plan = {0};
    struct seep_error *err = seep_attach_read_plan(arguments, &plan);
    if (err)
        return err;
    if (values->save && strcmp(values->save, "-") != 0)
        err = seep_trace_place_check(values->save);
    if (err) {
        free(plan.words);
        return seep_error_hint(err, "nothing was traced; name another place with --save");
    }
    struct seep_session *session = NULL;
    int status = 1;
    catch_signals();
    if (plan.pid && values->backend == SEEP_ATTACH_BACKEND_AUTO && !values->trace &&
        values->source == SEEP_ATTACH_SOURCE_AUTO && seep_process_has_library(plan.pid)) {
        err = watch_image(&plan, values, &session);
    } else {
        err = attach(&plan, values, &session, &status);
        if (err && plan.argv) {
            *ret_status = status;
            seep_command_fail(err);
            err = NULL;
        }
    }
    bool saved = !err && session && values->save;
    if (saved)
        err = seep_session_save(session, values->save);
    if (saved && err)
        err = seep_error_hint(err, "make room there, or name another place with --save");
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
        "(default: until it ends). Ctrl-C prints a last report and leaves the process as it was. A program\n"
        "that is named instead is started and traced from its first allocation on.\n",
    .groups = (const struct seep_option_group *const[]){&seep_attach_group, NULL},
    .examples =
        (const struct seep_example[]){
            {"seep attach 1234", "what grows in process 1234, every five seconds"},
            {"seep attach 1234 10s 6 -T 3", "six reports in a minute, the three biggest stacks"},
            {"seep attach 1234 -a -o 60000", "each block that is older than a minute"},
            {"seep attach -- ./app input.txt", "a program from its start, static ones too"},
            {"seep attach 1234 --save app.seep", "save it at the end; seep report app.seep shows it again"},
            {NULL},
        },
    .operand = "PID",
    .min_operands = 0,
    .max_operands = SEEP_OPERANDS_ANY,
    .run = run_attach,
};
