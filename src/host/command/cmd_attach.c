// SPDX-License-Identifier: BSD-2-Clause
// `seep attach PID`: traces a running process by probes in the kernel, and prints what is outstanding now
// and then, as bcc's memleak does.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

#include "capture/heap_trace.h"
#include "command/command.h"
#include "command/reporting.h"
#include "model/profile_traced.h"
#include "model/session_file.h"
#include "model/session_open.h"
#include "ui/report.h"
#include "ui/report_outstanding.h"

#define INTERVAL_NS (INT64_C(5) * 1000000000)
// What is younger while the process runs is most likely on its way to a free.
#define OLDER_NS (INT64_C(500) * 1000000)

struct attach_values {
    uint64_t pid;
    uint64_t top;
    bool blocks;
    uint64_t older_ms;
    int64_t older_ns;
    uint64_t min_size;
    uint64_t max_size;
    uint64_t sample;
    const char *object;
    const char *prefix;
    int sort;
    uint64_t buffer;
    const char *save;
    bool json;
    bool full_paths;
    bool no_demangle;
    int probes;
};

enum { SORT_SIZE, SORT_COUNT };
static const char *const sort_choices[] = {"size", "count", NULL};
static const char *const probes_choices[] = {"best", "multi", "perf", NULL};

#define AT(field) offsetof(struct attach_values, field)

static const struct seep_option attach_options[] = {
    {"pid", 'p', SEEP_OPTION_NUMBER, AT(pid), .min = 1, .max = INT32_MAX, .value = "PID",
     .help = "the process, where it is not the first operand"},
    {"top", 'T', SEEP_OPTION_NUMBER, AT(top), .max = UINT32_MAX,
     .help = "show the N biggest stacks; 0: all (default 10)"},
    {"blocks", 'a', SEEP_OPTION_FLAG, AT(blocks),
     .help = "list each outstanding block with address, size and age"},
    {"older", 0, SEEP_OPTION_DURATION, AT(older_ns),
     .help = "only blocks at least this old (default 500ms while the process runs)"},
    {"older-ms", 'o', SEEP_OPTION_NUMBER, AT(older_ms), .max = UINT32_MAX, .value = "MS",
     .help = "the same in milliseconds"},
    {"sort", 0, SEEP_OPTION_CHOICE, AT(sort), .value = "KEY", .choices = sort_choices,
     .help = "what is biggest: size (default) or count"},
    {"min-size", 'z', SEEP_OPTION_SIZE, AT(min_size), .help = "only blocks of at least this size"},
    {"max-size", 'Z', SEEP_OPTION_SIZE, AT(max_size), .help = "only blocks of at most this size"},
    {"sample-rate", 's', SEEP_OPTION_NUMBER, AT(sample), .min = 1, .max = UINT32_MAX,
     .help = "record every Nth allocation only: costs half as much"},
    {"obj", 'O', SEEP_OPTION_STRING, AT(object), .value = "OBJ",
     .help = "the object with the allocator, by name or path (default: every one that has a malloc)"},
    {"symbols-prefix", 'S', SEEP_OPTION_STRING, AT(prefix), .value = "P",
     .help = "what the names of the allocator's functions begin with, as je_ in je_malloc"},
    {"buffer", 0, SEEP_OPTION_SIZE, AT(buffer),
     .help = "memory for events on their way from the kernel (default 16M)"},
    {"save", 0, SEEP_OPTION_STRING, AT(save), .value = "FILE",
     .help = "save the trace at the end, for all other commands"},
    {"json", 0, SEEP_OPTION_FLAG, AT(json), .help = "each report as JSON"},
    {"full-paths", 0, SEEP_OPTION_FLAG, AT(full_paths), .help = "whole paths of files and modules"},
    {"no-demangle", 0, SEEP_OPTION_FLAG, AT(no_demangle), .help = "symbol names as they are in the file"},
    {"probes", 0, SEEP_OPTION_CHOICE, AT(probes), .value = "KIND", .choices = probes_choices, .hidden = true,
     .help = "use no newer kind of probe than this"},
    {NULL},
};

static const struct attach_values attach_defaults = {
    .top = 10, .older_ms = UINT64_MAX, .older_ns = -1, .max_size = UINT64_MAX, .sample = 1};

static const struct seep_option_group attach_group = {.title = "Options",
                                                      .options = attach_options,
                                                      .values_bytes = sizeof(struct attach_values),
                                                      .defaults = &attach_defaults};

static volatile sig_atomic_t interrupted;

static void interrupt(int signal_number) {
    (void)signal_number;
    interrupted = 1;
}

// A second one ends us at once, as if nothing had been caught: the probes go with us.
static void catch_signals(void) {
    struct sigaction action = {.sa_handler = interrupt, .sa_flags = (int)SA_RESETHAND};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

static int64_t monotonic_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

struct plan {
    pid_t pid;
    int64_t interval_ns;
    uint64_t count; // 0: no limit
};

static struct seep_error *read_plan(const struct seep_arguments *arguments,
                                    const struct attach_values *values, struct plan *ret_plan) {
    struct plan plan = {.pid = (pid_t)values->pid, .interval_ns = INTERVAL_NS};
    char *const *operands = arguments->operands;
    struct seep_error *err = NULL;
    if (!plan.pid) {
        bool is_pid = false;
        if (!*operands)
            return seep_error_hint(seep_error_create(SEEP_E_USAGE, "which process?"), "seep attach PID");
        err = seep_parse_pid(*operands, &is_pid, &plan.pid);
        if (!err && (!is_pid || !plan.pid))
            err = seep_error_create(SEEP_E_USAGE, "PID is a number, not '%s'", *operands);
        operands++;
    }
    if (!err && *operands)
        err = seep_parse_duration("INTERVAL", *operands++, &plan.interval_ns);
    if (!err && plan.interval_ns <= 0)
        err = seep_error_create(SEEP_E_USAGE, "INTERVAL is longer than nothing");
    if (!err && *operands)
        err = seep_parse_number("COUNT", *operands++, 1, 0, &plan.count);
    if (!err && *operands)
        err = seep_error_create(SEEP_E_USAGE, "one operand too many: '%s'", *operands);
    if (!err)
        *ret_plan = plan;
    return err;
}

static struct seep_view_options view_of(const struct attach_values *values, bool ended) {
    struct seep_view_options view = seep_view_options_default;
    view.top = values->top;
    view.sort = SEEP_SORT_LIVE;
    view.blocks = values->blocks;
    view.min_size = values->min_size;
    view.max_size = values->max_size;
    view.older_ns = values->older_ms != UINT64_MAX ? (int64_t)values->older_ms * 1000000
                    : values->older_ns >= 0        ? values->older_ns
                    : ended                        ? -1
                                                   : OLDER_NS;
    view.full_paths = values->full_paths;
    view.no_demangle = values->no_demangle;
    view.json = values->json;
    return view;
}

static struct seep_error *report(const struct seep_session *session, struct seep_symbols *symbols,
                                 const struct attach_values *values, bool ended) {
    struct seep_view_options view = view_of(values, ended);
    struct seep_error *err = values->json ? seep_report_write(stdout, session, symbols, &view, NULL)
                                          : seep_report_outstanding(stdout, session, symbols, &view);
    fflush(stdout);
    return err;
}

// Reports at each interval until the process ends, COUNT is reached or the user has seen enough; the last
// one is left in *ret_session.
static struct seep_error *watch(struct seep_heap_trace *trace, const struct plan *plan,
                                const struct attach_values *values, struct seep_symbols *symbols,
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
        if (!err)
            err = report(*ret_session, symbols, values, ended);
    }
    return err;
}

// libseep.so keeps an image of the process: nothing needs to be attached.
static struct seep_error *watch_image(const struct plan *plan, const struct attach_values *values,
                                      struct seep_symbols *symbols, struct seep_session **ret_session) {
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
        err = report(session, symbols, values, true); // images keep no ages
        if (interrupted || i == plan->count)
            break;
    }
    return err;
}

static struct seep_error *attach(const struct plan *plan, const struct attach_values *values,
                                 struct seep_symbols *symbols, struct seep_session **ret_session) {
    struct seep_heap_trace_options options = {.pid = plan->pid,
                                              .sample = values->sample,
                                              .object = values->object,
                                              .prefix = values->prefix,
                                              .ring_bytes = values->buffer,
                                              .probes = values->probes};
    struct seep_heap_trace *trace;
    struct seep_error *err = seep_heap_trace_create(&options, &trace);
    if (err)
        return err;
    if (!values->json)
        printf("Attaching to pid %d, Ctrl+C to quit.\n", (int)plan->pid);
    fflush(stdout);
    err = watch(trace, plan, values, symbols, ret_session);
    seep_heap_trace_destroy(trace);
    return err;
}

static struct seep_error *check_buffer(const struct attach_values *values) {
    if (!values->buffer || (values->buffer >= 4096 && (values->buffer & (values->buffer - 1)) == 0 &&
                            values->buffer <= UINT64_C(1) << 30))
        return NULL;
    return seep_error_hint(
        seep_error_create(SEEP_E_USAGE, "--buffer: %llu bytes", (unsigned long long)values->buffer),
        "a power of two from 4K to 1G");
}

static struct seep_error *run_attach(const struct seep_arguments *arguments, int *ret_status) {
    const struct attach_values *values = seep_arguments_values(arguments, &attach_group);
    struct plan plan = {0};
    struct seep_error *err = read_plan(arguments, values, &plan);
    if (!err)
        err = check_buffer(values);
    if (!err && values->min_size > values->max_size)
        err = seep_error_create(SEEP_E_USAGE, "--min-size %llu is more than --max-size %llu",
                                (unsigned long long)values->min_size, (unsigned long long)values->max_size);
    if (err)
        return err;
    struct seep_symbols_options how = {.no_demangle = values->no_demangle};
    struct seep_symbols *symbols;
    err = seep_symbols_create(&how, &symbols);
    if (err)
        return err;
    struct seep_session *session = NULL;
    catch_signals();
    if (seep_process_has_library(plan.pid)) {
        if (!values->json)
            printf(
                "pid %d has libseep.so: reading its image, which knows all blocks and costs nothing more.\n",
                (int)plan.pid);
        err = watch_image(&plan, values, symbols, &session);
    } else {
        err = attach(&plan, values, symbols, &session);
    }
    if (!err && values->save)
        err = seep_session_save(session, values->save);
    seep_session_destroy(session);
    seep_symbols_destroy(symbols);
    return err;
}

const struct seep_command seep_command_attach = {
    .name = "attach",
    .summary = "trace a running process; print outstanding memory now and then",
    .usage = "[options] PID [INTERVAL [COUNT]]",
    .about =
        "Puts probes on the allocator's functions of a running process, by BPF programs in the kernel, and\n"
        "prints what was allocated since then and not freed, every INTERVAL (default 5s), COUNT times\n"
        "(default: until it ends). Ctrl-C prints a last report and leaves the process as it was.\n",
    .groups = (const struct seep_option_group *const[]){&attach_group, NULL},
    .examples =
        (const struct seep_example[]){
            {"seep attach 1234", "what grows in process 1234, every five seconds"},
            {"seep attach 1234 10s 6 -T 3", "six reports in a minute, the three biggest stacks"},
            {"seep attach 1234 -a -o 60000", "each block that is older than a minute"},
            {"seep attach 1234 --save app.seep", "save it at the end; seep report app.seep shows it again"},
            {NULL},
        },
    .operand = "PID",
    .min_operands = 0,
    .max_operands = 3,
    .run = run_attach,
};
