// SPDX-License-Identifier: BSD-2-Clause
// `seep kernel`: traces the kernel's own allocators, and prints what is outstanding now and then, as bcc's
// memleak does without a process.
#include <stdio.h>
#include <time.h>

#include "base/interrupt.h"
#include "base/clock.h"
#include "source/kernel/kernel_heap.h"
#include "command/command.h"
#include "command/watch_options.h"
#include "source/kernel/profile_kernel.h"
#include "file/session_file.h"
#include "names/kallsyms.h"
#include "names/symbols.h"
#include "output/report.h"
#include "output/report_outstanding.h"

// What is younger is most likely on its way to a free.
#define OLDER_NS   (INT64_C(500) * 1000000)
#define BLOCKS_MAX 1000000u

struct kernel_values {
    bool percpu;
    bool vmalloc;
    uint64_t max_blocks;
    int by; // in by_choices
    bool csv;
};

enum { BY_SITE, BY_PROCESS };
static const char *const by_choices[] = {"site", "process", NULL};

#define AT(field) offsetof(struct kernel_values, field)

static const struct seep_option kernel_options[] = {
    {"percpu", 'P', SEEP_OPTION_FLAG, AT(percpu), .help = "per-CPU allocations as well"},
    {"vmalloc", 0, SEEP_OPTION_FLAG, AT(vmalloc),
     .help = "areas of vmalloc as well, whose memory is among the pages"},
    {"by", 'b', SEEP_OPTION_CHOICE, AT(by), .value = "WHAT", .choices = by_choices,
     .help = "a row for each stack (site) or for each process that allocated"},
    {"csv", 0, SEEP_OPTION_FLAG, AT(csv), .help = "each report as CSV"},
    {"max-blocks", 0, SEEP_OPTION_NUMBER, AT(max_blocks), .min = 1, .max = 100000000,
     .help = "live blocks that there is room for, about 70 bytes each (default 1000000)"},
    {NULL},
};

static const struct kernel_values kernel_defaults = {.max_blocks = BLOCKS_MAX};

static const struct seep_option_group kernel_group = {.title = "Options",
                                                      .options = kernel_options,
                                                      .values_bytes = sizeof(struct kernel_values),
                                                      .defaults = &kernel_defaults};

// As the shared options are meant here, where it is not as in `seep attach`.
static const struct seep_option_meant meant[] = {
    {"top", .help = "show the N biggest stacks, and as many of pages; 0: all (default 10)"},
    {"older", .help = "only blocks at least this old (default 500ms)"},
    {"min-size", .help = "record only blocks of at least this size"},
    {"max-size", .help = "record only blocks of at most this size"},
    {"sample-rate", .help = "record about one allocation in N, by chance"},
    {"combined-only", .help = "figures of stacks only, kept in the kernel: quicker reports, no ages"},
    {NULL},
};

struct watching {
    struct seep_kernel_probes *probes;
    const struct seep_watch_values *shown;
    const struct kernel_values *values;
    struct seep_kernel_tracing moment;
    int64_t begun_ns; // CLOCK_MONOTONIC
};

static struct seep_error *check_values(const struct kernel_values *values,
                                       const struct seep_watch_values *shown) {
    if (values->csv && shown->json)
        return seep_error_create(SEEP_E_USAGE, "--csv and --json do not go together");
    if (shown->combined && values->by == BY_PROCESS)
        return seep_error_create(SEEP_E_USAGE,
                                 "--combined-only keeps figures of stacks only: not with --by process");
    if (shown->combined && shown->output)
        return seep_error_create(SEEP_E_USAGE, "--combined-only keeps no single blocks: not with --output");
    if (values->csv && shown->quiet)
        return seep_error_create(SEEP_E_USAGE, "--csv prints reports: not with --quiet");
    return seep_watch_check(shown);
}

// What is too young was not read.
static struct seep_view_options view_of(const struct kernel_values *values,
                                        const struct seep_watch_values *shown) {
    struct seep_view_options view = seep_view_options_default;
    view.top = shown->top;
    view.sort = shown->sort == SEEP_WATCH_SORT_COUNT ? SEEP_SORT_BLOCKS : SEEP_SORT_LIVE;
    view.blocks = shown->blocks;
    view.json = shown->json; // the newest schema
    view.csv = values->csv;
    view.by = values->by == BY_PROCESS ? SEEP_BY_PROCESS : SEEP_BY_SITE;
    return view;
}

static struct seep_error *print(const struct seep_session *session, const struct watching *watching) {
    const struct seep_watch_values *shown = watching->shown;
    struct seep_view_options view = view_of(watching->values, shown);
    struct seep_symbols *symbols = NULL;
    // The functions that were seen are in the session: other ones than in the report before.
    struct seep_error *err = seep_symbols_create(&(struct seep_symbols_options){0}, &symbols);
    if (!err)
        err = shown->json || watching->values->csv
                  ? seep_report_write(stdout, session, symbols, &view, NULL)
                  : seep_report_kernel_outstanding(stdout, session, symbols, &view);
    seep_symbols_destroy(symbols);
    fflush(stdout);
    return err;
}

// Modules and programs come and go: the kernel's symbols are read for each report.
static struct seep_error *report(void *data, bool last, bool ended) {
    struct watching *watching = data;
    (void)ended;
    struct seep_kernel_heap heap;
    struct seep_kallsyms *symbols = NULL;
    struct seep_kernel_caches *caches = NULL;
    struct seep_session *session = NULL;
    watching->moment.duration_ns = seep_monotonic_ns() - watching->begun_ns;
    struct seep_error *err =
        seep_kernel_probes_read(watching->probes, seep_watch_older_ns(watching->shown, OLDER_NS), &heap);
    if (err)
        return err;
    err = seep_kallsyms_read(&symbols);
    if (!err)
        err = seep_kernel_caches_read(NULL, &caches);
    watching->moment.caches = caches;
    if (!err)
        err = seep_session_from_kernel(&heap, symbols, &watching->moment, &session);
    if (!err && !watching->shown->quiet)
        err = print(session, watching);
    if (!err && last && watching->shown->output)
        err = seep_watch_saved(seep_session_save(session, watching->shown->output));
    seep_session_destroy(session);
    seep_kallsyms_destroy(symbols);
    seep_kernel_caches_destroy(caches);
    seep_kernel_heap_deinit(&heap);
    return err;
}

static struct seep_error *run_kernel(const struct seep_arguments *arguments, int *ret_status) {
    (void)ret_status;
    const struct kernel_values *values = seep_arguments_values(arguments, &kernel_group);
    const struct seep_watch_values *shown = seep_arguments_values(arguments, &seep_watch_group);
    struct watching watching = {.shown = shown, .values = values, .moment = {.sample = shown->sample}};
    struct seep_watch watch = {.data = &watching, .wait = seep_watch_sleep, .report = report};
    struct seep_error *err = check_values(values, shown);
    if (!err)
        err = seep_watch_rounds(shown, arguments->operands, &watch);
    if (!err)
        err = seep_watch_check_output(shown);
    if (err)
        return err;
    struct seep_kernel_probes_options options = {.combined = shown->combined,
                                                 .percpu = values->percpu,
                                                 .vmalloc = values->vmalloc,
                                                 .sample = shown->sample,
                                                 .min_size = shown->min_size,
                                                 .max_size = shown->max_size,
                                                 .blocks_max = (uint32_t)values->max_blocks};
    err = seep_kernel_probes_create(&options, &watching.probes);
    if (err)
        return err;
    // Said now, not after the first interval, where the kernel hides its addresses.
    struct seep_kallsyms *symbols = NULL;
    err = seep_kallsyms_read(&symbols);
    seep_kallsyms_destroy(symbols);
    if (!err) {
        seep_interrupt_catch_whole(NULL);
        if (!shown->json && !values->csv)
            puts("Attaching to kernel allocators, Ctrl+C to quit.");
        fflush(stdout);
        watching.begun_ns = seep_monotonic_ns();
        watching.moment.start_ns = seep_clock_ns(CLOCK_REALTIME);
        err = seep_watch_run(&watch);
    }
    seep_kernel_probes_destroy(watching.probes);
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
    .groups = (const struct seep_option_group *const[]){&kernel_group, &seep_watch_group, NULL},
    .meant = meant,
    .examples =
        (const struct seep_example[]){
            {"seep kernel", "what the kernel holds on to, every five seconds"},
            {"seep kernel 10s 6 -T 3", "six reports in a minute, the three biggest stacks"},
            {"seep kernel 1m 1 --older 30s", "one report after a minute, of what is older than half of it"},
            {"seep kernel 1m 1 --output before.seep",
             "save it; seep report shows it, seep diff compares two"},
            {"seep kernel -C -z 4096", "big blocks by stack, without single blocks"},
            {"seep kernel 10s 1 --by process", "which processes it allocated for"},
            {NULL},
        },
    .min_operands = 0,
    .max_operands = 2,
    .run = run_kernel,
};
