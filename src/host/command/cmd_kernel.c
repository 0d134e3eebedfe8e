// SPDX-License-Identifier: BSD-2-Clause
// `seep kernel`: traces the kernel's own allocators, and prints what is outstanding now and then, as bcc's
// memleak does without a process.
#include <signal.h>
#include <stdio.h>
#include <time.h>

#include "capture/kernel_trace.h"
#include "command/command.h"
#include "command/trace_name.h"
#include "model/profile_kernel.h"
#include "model/session_file.h"
#include "symbol/kallsyms.h"
#include "ui/report_kernel.h"

#define INTERVAL_NS (INT64_C(5) * 1000000000)
// What is younger is most likely on its way to a free.
#define OLDER_NS   (INT64_C(500) * 1000000)
#define BLOCKS_MAX 1000000u

struct kernel_values {
    uint64_t top;
    bool blocks;
    uint64_t older_ms;
    int64_t older_ns;
    int sort;
    uint64_t min_size;
    uint64_t max_size;
    uint64_t sample;
    bool combined;
    bool percpu;
    bool vmalloc;
    bool missing_free;
    uint64_t max_blocks;
    const char *save;
    bool json;
};

enum { SORT_SIZE, SORT_COUNT };
static const char *const sort_choices[] = {"size", "count", NULL};

#define AT(field) offsetof(struct kernel_values, field)

static const struct seep_option kernel_options[] = {
    {"top", 'T', SEEP_OPTION_NUMBER, AT(top), .max = UINT32_MAX,
     .help = "show the N biggest stacks, and as many of pages; 0: all (default 10)"},
    {"blocks", 'a', SEEP_OPTION_FLAG, AT(blocks), .help = "list each outstanding block"},
    {"older", 0, SEEP_OPTION_DURATION, AT(older_ns), .help = "only blocks at least this old (default 500ms)"},
    {"older-ms", 'o', SEEP_OPTION_NUMBER, AT(older_ms), .max = UINT32_MAX, .value = "MS",
     .help = "the same in milliseconds"},
    {"sort", 0, SEEP_OPTION_CHOICE, AT(sort), .value = "KEY", .choices = sort_choices,
     .help = "what is biggest: size (default) or count"},
    {"min-size", 'z', SEEP_OPTION_SIZE, AT(min_size), .help = "record only blocks of at least this size"},
    {"max-size", 'Z', SEEP_OPTION_SIZE, AT(max_size), .help = "record only blocks of at most this size"},
    {"sample-rate", 's', SEEP_OPTION_NUMBER, AT(sample), .min = 1, .max = UINT32_MAX,
     .help = "record about one allocation in N, by chance"},
    {"combined-only", 'C', SEEP_OPTION_FLAG, AT(combined),
     .help = "figures of stacks only, kept in the kernel: quicker reports, no ages"},
    {"percpu", 'P', SEEP_OPTION_FLAG, AT(percpu), .help = "per-CPU allocations as well"},
    {"vmalloc", 0, SEEP_OPTION_FLAG, AT(vmalloc),
     .help = "areas of vmalloc as well, whose memory is among the pages"},
    {"wa-missing-free", 'F', SEEP_OPTION_FLAG, AT(missing_free),
     .help = "an address that is given out again was freed: always so, taken for memleak's sake"},
    {"max-blocks", 0, SEEP_OPTION_NUMBER, AT(max_blocks), .min = 1, .max = 100000000,
     .help = "live blocks that there is room for, about 50 bytes each (default 1000000)"},
    {"save", 0, SEEP_OPTION_STRING, AT(save), .value = "FILE",
     .help = "save what is outstanding at the end, for report, diff and all other commands"},
    {"json", 0, SEEP_OPTION_FLAG, AT(json), .help = "each report as JSON, one on a line"},
    {NULL},
};

static const struct kernel_values kernel_defaults = {.top = 10,
                                                     .older_ms = UINT64_MAX,
                                                     .older_ns = -1,
                                                     .max_size = UINT64_MAX,
                                                     .sample = 1,
                                                     .max_blocks = BLOCKS_MAX};

static const struct seep_option_group kernel_group = {.title = "Options",
                                                      .options = kernel_options,
                                                      .values_bytes = sizeof(struct kernel_values),
                                                      .defaults = &kernel_defaults};

static volatile sig_atomic_t interrupted;

static void interrupt(int signal_number) {
    (void)signal_number;
    interrupted = 1;
}

static int64_t now_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

struct plan {
    const char *save; // NULL: not
    int64_t interval_ns;
    uint64_t count; // 0: no limit
    struct seep_kernel_report how;
};

static struct seep_error *check_values(const struct kernel_values *values) {
    if (values->min_size > values->max_size)
        return seep_error_create(SEEP_E_USAGE, "--min-size %llu is more than --max-size %llu",
                                 (unsigned long long)values->min_size, (unsigned long long)values->max_size);
    if (values->combined && values->blocks)
        return seep_error_create(SEEP_E_USAGE, "--combined-only keeps no single blocks: not with --blocks");
    if (values->combined && values->save)
        return seep_error_create(SEEP_E_USAGE, "--combined-only keeps no single blocks: not with --save");
    if (values->combined && (values->older_ms != UINT64_MAX || values->older_ns >= 0))
        return seep_error_create(SEEP_E_USAGE, "--combined-only keeps no ages: not with --older");
    return NULL;
}

static struct seep_error *read_plan(const struct seep_arguments *arguments,
                                    const struct kernel_values *values, struct plan *ret_plan) {
    struct plan plan = {.interval_ns = INTERVAL_NS, .save = values->save};
    struct seep_error *err = check_values(values);
    if (!err)
        err = seep_parse_rounds(arguments->operands, &plan.interval_ns, &plan.count);
    if (err)
        return err;
    plan.how = (struct seep_kernel_report){.top = values->top,
                                           .by_count = values->sort == SORT_COUNT,
                                           .blocks = values->blocks,
                                           .combined = values->combined,
                                           .percpu = values->percpu,
                                           .vmalloc = values->vmalloc,
                                           .sample = values->sample,
                                           .older_ns = values->older_ms != UINT64_MAX
                                                           ? (int64_t)values->older_ms * 1000000
                                                       : values->older_ns >= 0 ? values->older_ns
                                                                               : OLDER_NS};
    *ret_plan = plan;
    return NULL;
}

static struct seep_error *save(const struct seep_kernel_heap *heap, const struct seep_kallsyms *symbols,
                               const struct plan *plan) {
    struct seep_kernel_moment moment = {
        .start_ns = plan->how.start_ns, .duration_ns = plan->how.duration_ns, .sample = plan->how.sample};
    struct seep_session *session = NULL;
    struct seep_error *err = seep_session_from_kernel(heap, symbols, &moment, &session);
    if (!err)
        err = seep_session_save(session, plan->save);
    if (session && err)
        err = seep_error_hint(err, "make room there, or name another place with --save");
    seep_session_destroy(session);
    return err;
}

// Modules and programs come and go: the kernel's symbols are read for each report.
static struct seep_error *report(struct seep_kernel_trace *trace, const struct plan *plan, bool json,
                                 bool last) {
    struct seep_kernel_heap heap;
    struct seep_kallsyms *symbols;
    struct seep_error *err = seep_kernel_trace_read(trace, plan->how.older_ns, &heap);
    if (err)
        return err;
    err = seep_kallsyms_read(&symbols);
    if (!err) {
        err = json ? seep_report_kernel_json(stdout, &heap, symbols, &plan->how)
                   : seep_report_kernel_text(stdout, &heap, symbols, &plan->how);
        if (!err && last && plan->save)
            err = save(&heap, symbols, plan);
        seep_kallsyms_destroy(symbols);
    }
    seep_kernel_heap_deinit(&heap);
    return err;
}

// A signal ends the wait with EINTR; `interrupted` is looked at before each, and a second signal kills.
static void wait_until(int64_t end_ns) {
    struct timespec end = {end_ns / 1000000000, end_ns % 1000000000};
    while (!interrupted && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) != 0)
        ;
}

static struct seep_error *watch(struct seep_kernel_trace *trace, struct plan *plan, bool json) {
    int64_t start_ns = now_ns(CLOCK_MONOTONIC);
    plan->how.start_ns = now_ns(CLOCK_REALTIME);
    int64_t next_ns = start_ns;
    struct seep_error *err = NULL;
    for (uint64_t i = 1; !err; i++) {
        next_ns += plan->interval_ns;
        wait_until(next_ns);
        plan->how.duration_ns = now_ns(CLOCK_MONOTONIC) - start_ns;
        bool last = interrupted || i == plan->count;
        err = report(trace, plan, json, last);
        if (last)
            break;
    }
    return err;
}

static struct seep_error *run_kernel(const struct seep_arguments *arguments, int *ret_status) {
    (void)ret_status;
    const struct kernel_values *values = seep_arguments_values(arguments, &kernel_group);
    struct plan plan;
    struct seep_error *err = read_plan(arguments, values, &plan);
    if (err)
        return err;
    struct seep_kernel_trace_options options = {.combined = values->combined,
                                                .percpu = values->percpu,
                                                .vmalloc = values->vmalloc,
                                                .sample = values->sample,
                                                .min_size = values->min_size,
                                                .max_size = values->max_size,
                                                .blocks_max = (uint32_t)values->max_blocks};
    if (values->save && strcmp(values->save, "-") != 0)
        err = seep_trace_place_check(values->save);
    if (err)
        return seep_error_hint(err, "nothing was traced; name another place with --save");
    struct seep_kernel_trace *trace;
    err = seep_kernel_trace_create(&options, &trace);
    if (err)
        return err;
    // Said now, not after the first interval, where the kernel hides its addresses.
    struct seep_kallsyms *symbols = NULL;
    err = seep_kallsyms_read(&symbols);
    seep_kallsyms_destroy(symbols);
    if (!err) {
        struct sigaction action = {.sa_handler = interrupt, .sa_flags = (int)SA_RESETHAND};
        sigaction(SIGINT, &action, NULL);
        sigaction(SIGTERM, &action, NULL);
        if (!values->json)
            puts("Attaching to kernel allocators, Ctrl+C to quit.");
        fflush(stdout);
        err = watch(trace, &plan, values->json);
    }
    seep_kernel_trace_destroy(trace);
    return err;
}

const struct seep_command seep_command_kernel = {
    .name = "kernel",
    .summary = "trace the kernel's allocators; print outstanding memory now and then",
    .usage = "[options] [INTERVAL [COUNT]]",
    .about =
        "Attaches BPF programs to the tracepoints of the kernel's allocators (kmalloc, kmem_cache, pages) "
        "and\n"
        "prints what was allocated since then and not freed, by kernel stack, every INTERVAL (default 5s),\n"
        "COUNT times (default: until Ctrl-C). Pages are listed apart: those of the slab allocator are among\n"
        "them. The whole machine runs slower meanwhile.\n",
    .groups = (const struct seep_option_group *const[]){&kernel_group, NULL},
    .examples =
        (const struct seep_example[]){
            {"seep kernel", "what the kernel holds on to, every five seconds"},
            {"seep kernel 10s 6 -T 3", "six reports in a minute, the three biggest stacks"},
            {"seep kernel 1m 1 --older 30s", "one report after a minute, of what is older than half of it"},
            {"seep kernel 1m 1 --save before.seep", "save it; seep report shows it, seep diff compares two"},
            {"seep kernel -C -z 4096", "big blocks by stack, without single blocks"},
            {NULL},
        },
    .min_operands = 0,
    .max_operands = 2,
    .run = run_kernel,
};
