// SPDX-License-Identifier: BSD-2-Clause
// `seep attach PID`: traces a running process by probes in the kernel, and prints what is outstanding now
// and then, as bcc's memleak does.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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
    const char *command;
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
    int children;
    uint64_t buffer;
    const char *save;
    bool json;
    bool full_paths;
    bool no_demangle;
    int probes;
};

enum { SORT_SIZE, SORT_COUNT };
static const char *const sort_choices[] = {"size", "count", NULL};
static const char *const children_choices[] = {"follow", "ignore", NULL};
static const char *const probes_choices[] = {"best", "multi", "perf", NULL};

#define AT(field) offsetof(struct attach_values, field)

static const struct seep_option attach_options[] = {
    {"pid", 'p', SEEP_OPTION_NUMBER, AT(pid), .min = 1, .max = INT32_MAX, .value = "PID",
     .help = "the process, where it is not the first operand"},
    {"command", 'c', SEEP_OPTION_STRING, AT(command), .value = "COMMAND",
     .help = "start COMMAND (words and quotes as in a shell) and trace it from the start"},
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
     .help = "the object with the allocator, by name or path (default: all that have a malloc)"},
    {"symbols-prefix", 'S', SEEP_OPTION_STRING, AT(prefix), .value = "P",
     .help = "what the names of the allocator's functions begin with, as je_ in je_malloc"},
    {"children", 0, SEEP_OPTION_CHOICE, AT(children), .value = "WHAT", .choices = children_choices,
     .help = "follow or ignore the processes that it forks (default follow)"},
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
    char *const *argv; // instead
    char **words;      // malloc'ed with its first: of -c
    int64_t interval_ns;
    uint64_t count; // 0: no limit
};

// Splits as a shell does, without its substitutions. One block of memory: first the pointers, then the texts.
static struct seep_error *split_command(const char *command, char ***ret_words) {
    size_t room = strlen(command) + 1;
    char **words = calloc(1, (room / 2 + 2) * sizeof(*words) + room);
    if (!words)
        return seep_error_no_memory();
    char *to = (char *)(words + room / 2 + 2), quote = 0;
    size_t nr = 0;
    bool in_word = false;
    for (const char *at = command; *at; at++) {
        bool blank = !quote && (*at == ' ' || *at == '\t' || *at == '\n');
        if (blank) {
            if (in_word)
                *to++ = 0;
            in_word = false;
            continue;
        }
        if (!in_word)
            words[nr++] = to;
        in_word = true;
        if (quote ? *at == quote : *at == '\'' || *at == '"') {
            quote = quote ? 0 : *at;
            continue;
        }
        if (*at == '\\' && quote != '\'' && at[1])
            at++;
        *to++ = *at;
    }
    if (!quote && nr) {
        *ret_words = words;
        return NULL;
    }
    free(words);
    return seep_error_create(SEEP_E_USAGE, "--command: %s",
                             quote ? "a quote is not closed" : "no word in it");
}

static bool is_digits(const char *text) {
    return *text && !text[strspn(text, "0123456789")];
}

// Which of the ways to name what is traced was taken; *ret_operands: those that follow.
static struct seep_error *read_target(const struct seep_arguments *arguments,
                                      const struct attach_values *values, struct plan *plan,
                                      char *const **ret_operands) {
    char *const *operands = arguments->operands;
    *ret_operands = operands;
    if (values->command && values->pid)
        return seep_error_create(SEEP_E_USAGE, "--pid and --command exclude one another");
    if (values->command) {
        struct seep_error *err = split_command(values->command, &plan->words);
        plan->argv = plan->words;
        return err;
    }
    plan->pid = (pid_t)values->pid;
    if (plan->pid)
        return NULL;
    if (!*operands)
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "which process?"),
                               "seep attach PID, or seep attach -- PROG ARGS");
    if (!is_digits(*operands)) {
        plan->argv = operands;
        *ret_operands = operands + arguments->nr_operands;
        return NULL;
    }
    bool is_pid;
    *ret_operands = operands + 1;
    return seep_parse_pid(*operands, &is_pid, &plan->pid);
}

static struct seep_error *read_plan(const struct seep_arguments *arguments,
                                    const struct attach_values *values, struct plan *ret_plan) {
    struct plan plan = {.interval_ns = INTERVAL_NS};
    char *const *operands;
    struct seep_error *err = read_target(arguments, values, &plan, &operands);
    if (!err && *operands)
        err = seep_parse_duration("INTERVAL", *operands++, &plan.interval_ns);
    if (!err && plan.interval_ns <= 0)
        err = seep_error_create(SEEP_E_USAGE, "INTERVAL is longer than nothing");
    if (!err && *operands)
        err = seep_parse_number("COUNT", *operands++, 1, 0, &plan.count);
    if (!err && *operands)
        err = seep_error_create(SEEP_E_USAGE, "one operand too many: '%s'", *operands);
    if (err)
        free(plan.words);
    else
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
                                 struct seep_symbols *symbols, struct seep_session **ret_session,
                                 int *ret_status) {
    struct seep_heap_trace_options options = {.pid = plan->pid,
                                              .argv = plan->argv,
                                              .sample = values->sample,
                                              .object = values->object,
                                              .prefix = values->prefix,
                                              .ring_bytes = values->buffer,
                                              .ignore_children = values->children == 1,
                                              .probes = values->probes};
    struct seep_heap_trace *trace;
    struct seep_error *err = seep_heap_trace_create(&options, &trace, ret_status);
    if (err)
        return err;
    if (!values->json && plan->argv)
        printf("Executing '%s' and tracing the resulting process, Ctrl+C to quit.\n", plan->argv[0]);
    else if (!values->json)
        printf("Attaching to pid %d, Ctrl+C to quit.\n", (int)plan->pid);
    fflush(stdout);
    err = watch(trace, plan, values, symbols, ret_session);
    seep_heap_trace_destroy(trace);
    return err;
}

// Where the process sees other files than we do (a container): its root, else NULL. As long as it lives.
static const char *root_of(pid_t pid, char *root, size_t root_bytes) {
    char path[64];
    struct stat ours, its;
    snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)pid);
    if (!pid || stat("/proc/self/ns/mnt", &ours) != 0 || stat(path, &its) != 0 || ours.st_ino == its.st_ino)
        return NULL;
    snprintf(root, root_bytes, "/proc/%d/root", (int)pid);
    return root;
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
    if (err) {
        free(plan.words);
        return err;
    }
    char root[64];
    struct seep_symbols_options how = {.no_demangle = values->no_demangle,
                                       .sysroot = root_of(plan.pid, root, sizeof(root))};
    struct seep_symbols *symbols;
    err = seep_symbols_create(&how, &symbols);
    if (err) {
        free(plan.words);
        return err;
    }
    struct seep_session *session = NULL;
    int status = 1;
    catch_signals();
    if (!plan.argv && seep_process_has_library(plan.pid)) {
        if (!values->json)
            printf(
                "pid %d has libseep.so: reading its image, which knows all blocks and costs nothing more.\n",
                (int)plan.pid);
        err = watch_image(&plan, values, symbols, &session);
    } else {
        err = attach(&plan, values, symbols, &session, &status);
        if (err && plan.argv) {
            *ret_status = status;
            seep_command_fail(err);
            err = NULL;
        }
    }
    if (!err && session && values->save)
        err = seep_session_save(session, values->save);
    seep_session_destroy(session);
    seep_symbols_destroy(symbols);
    free(plan.words);
    return err;
}

const struct seep_command seep_command_attach = {
    .name = "attach",
    .summary = "trace a running process; print outstanding memory now and then",
    .usage = "[options] PID [INTERVAL [COUNT]] | -- PROG [ARG...]",
    .about =
        "Puts probes on the allocator's functions of a running process, by BPF programs in the kernel, and\n"
        "prints what was allocated since then and not freed, every INTERVAL (default 5s), COUNT times\n"
        "(default: until it ends). Ctrl-C prints a last report and leaves the process as it was. A program\n"
        "that is named instead is started and traced from its first allocation on.\n",
    .groups = (const struct seep_option_group *const[]){&attach_group, NULL},
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
