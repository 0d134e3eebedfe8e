// SPDX-License-Identifier: BSD-2-Clause
//
// Chooses the programs by what this kernel can do, and loads them. See attach_parts.h.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <unistd.h>

#include "source/attach/heap.skel.h"
#include "source/attach/attach_parts.h"

// Room for what is loaded later, beside what the first process has: 8 MiB of rows, code of 256 MiB.
#define SPARE_ROWS  (UINT64_C(1) << 20)
#define SPARE_PAGES (UINT64_C(1) << 18)
#define NR_MAPPINGS (UINT64_C(1) << 16)
// Of thousands of processes, 32 MiB.
#define NR_MAPPINGS_MANY (UINT64_C(1) << 20)
#define SAMPLED_MAX      (1u << 20)

static void choose_programs(struct seep_heap_trace *trace) {
    struct seep_heap *bpf = trace->bpf;
    bool session = trace->options.probes == SEEP_PROBES_BEST,
         multi = trace->options.probes != SEEP_PROBES_PERF;
    enum bpf_attach_type type = (enum bpf_attach_type)(multi ? SEEP_BPF_ATTACH_MULTI : 0);
    bpf_program__set_autoload(bpf->progs.seep_session, session);
    bpf_program__set_autoload(bpf->progs.seep_entry, !session);
    bpf_program__set_autoload(bpf->progs.seep_return, !session);
    bpf_program__set_autoload(bpf->progs.seep_fault_user, trace->options.faults);
    bpf_program__set_autoload(bpf->progs.seep_fault_kernel, trace->options.faults);
    bpf_program__set_expected_attach_type(bpf->progs.seep_session,
                                          (enum bpf_attach_type)SEEP_BPF_ATTACH_SESSION);
    bpf_program__set_expected_attach_type(bpf->progs.seep_entry, type);
    bpf_program__set_expected_attach_type(bpf->progs.seep_return, type);
    bpf_program__set_expected_attach_type(bpf->progs.seep_free, type);
    bpf_program__set_expected_attach_type(bpf->progs.seep_modules, type);
    bpf_program__set_expected_attach_type(bpf->progs.seep_new, type);
    bpf_program__set_expected_attach_type(bpf->progs.seep_landing, type);
    bpf_program__set_expected_attach_type(bpf->progs.seep_otel_alloc, type);
    bpf_program__set_expected_attach_type(bpf->progs.seep_otel_free, type);
    bpf_program__set_autoload(bpf->progs.seep_otel_alloc, trace->options.source == SEEP_SOURCE_OTEL);
    bpf_program__set_autoload(bpf->progs.seep_otel_free, trace->options.source == SEEP_SOURCE_OTEL);
    bpf->rodata->seep_unwind_cfi = trace->features.can[SEEP_BPF_CAN_LOOP];
    bpf->rodata->seep_find_vma = trace->features.can[SEEP_BPF_CAN_VMA];
    bpf->rodata->seep_scope = trace->scope;
    bpf->rodata->seep_self = (uint32_t)getpid();
    bpf->rodata->seep_follow = !trace->options.ignore_children;
    bpf->rodata->seep_timed = trace->options.watcher != NULL;
    bpf->rodata->seep_sample = (uint32_t)SEEP_MAX(trace->options.sample, UINT64_C(1));
}

// Files may claim code up to 4 GiB each: what is beyond finds no room, which is counted.
#define ROWS_MAX  (UINT64_C(64) << 20)
#define PAGES_MAX (UINT64_C(16) << 20)

struct seep_error *seep_trace_load(struct seep_heap_trace *trace) {
    // Of a program that is yet to start nothing is known, nor of those to come: one of clang's size fits.
    bool open_ended = trace->scope != SEEP_BPF_SCOPE_PROBED || trace->options.argv;
    uint64_t spare = open_ended ? 4 : 1;
    uint64_t capacities[3] = {SPARE_ROWS * spare, SPARE_PAGES * spare,
                              trace->scope >= SEEP_BPF_SCOPE_CGROUP ? NR_MAPPINGS_MANY : NR_MAPPINGS};
    for (size_t i = 0; i < trace->nr_objects; i++) {
        capacities[0] += trace->objects[i]->table.nr_rows;
        capacities[1] += trace->objects[i]->table.nr_pages + UINT64_C(1);
    }
    capacities[0] = SEEP_MIN(capacities[0], ROWS_MAX);
    capacities[1] = SEEP_MIN(capacities[1], PAGES_MAX);
    libbpf_set_print(NULL);
    trace->bpf = seep_heap__open();
    if (!trace->bpf)
        return seep_error_system(errno, "cannot open the BPF programs");
    struct seep_heap *bpf = trace->bpf;
    choose_programs(trace);
    bpf_map__set_max_entries(bpf->maps.seep_events, (uint32_t)trace->options.ring_bytes);
    bpf_map__set_max_entries(bpf->maps.seep_rows, (uint32_t)capacities[0]);
    bpf_map__set_max_entries(bpf->maps.seep_index, (uint32_t)capacities[1]);
    bpf_map__set_max_entries(bpf->maps.seep_mappings, (uint32_t)capacities[2]);
    if (trace->options.source != SEEP_SOURCE_OTEL)
        bpf_map__set_max_entries(bpf->maps.seep_usdt, 1);
    bpf_map__set_max_entries(bpf->maps.seep_sampled, trace->options.sample > 1 ? SAMPLED_MAX : 1);
    int status = seep_heap__load(bpf);
    if (status)
        return seep_error_hint(seep_error_system(-status, "the kernel refuses the BPF programs"),
                               "'seep info' says what this kernel can do");
    trace->ring = ring_buffer__new(bpf_map__fd(bpf->maps.seep_events), seep_trace_take, trace, NULL);
    if (!trace->ring)
        return seep_error_system(errno, "cannot map the ring buffer");
    struct seep_error *err =
        seep_bpf_tables_init(bpf_map__fd(bpf->maps.seep_rows), bpf_map__fd(bpf->maps.seep_index),
                             bpf_map__fd(bpf->maps.seep_mappings), bpf_map__fd(bpf->maps.seep_processes),
                             capacities, &trace->tables);
    for (size_t i = 0; i < trace->nr_objects && !err; i++)
        seep_trace_place_table(trace, trace->objects[i]);
    uint32_t zero = 0;
    if (!err && trace->cgroup >= 0 &&
        bpf_map_update_elem(bpf_map__fd(bpf->maps.seep_cgroup), &zero, &trace->cgroup, BPF_ANY) != 0)
        err = seep_error_system(errno, "--cgroup: %s", trace->options.cgroup);
    if (err)
        return err;
    bpf->links.seep_exit = bpf_program__attach(bpf->progs.seep_exit);
    bpf->links.seep_exec = bpf_program__attach(bpf->progs.seep_exec);
    bpf->links.seep_fork = bpf_program__attach(bpf->progs.seep_fork);
    if (!bpf->links.seep_exit || !bpf->links.seep_exec || !bpf->links.seep_fork)
        return seep_error_system(errno, "cannot follow the events of processes");
    if (!trace->options.faults)
        return NULL;
    bpf->links.seep_fault_user = bpf_program__attach(bpf->progs.seep_fault_user);
    bpf->links.seep_fault_kernel = bpf_program__attach(bpf->progs.seep_fault_kernel);
    return bpf->links.seep_fault_user && bpf->links.seep_fault_kernel
               ? NULL
               : seep_error_system(errno, "cannot attach to the tracepoints of page faults");
}

struct seep_error *seep_trace_choose_probes(struct seep_heap_trace *trace) {
    seep_bpf_features_probe(&trace->features);
    struct seep_error *err = seep_bpf_features_check(&trace->features);
    if (err)
        return err;
    if (trace->options.probes == SEEP_PROBES_BEST && !trace->features.can[SEEP_BPF_CAN_SESSION])
        trace->options.probes = SEEP_PROBES_MULTI;
    if (trace->options.probes == SEEP_PROBES_MULTI && !trace->features.can[SEEP_BPF_CAN_MULTI])
        trace->options.probes = SEEP_PROBES_PERF;
    return NULL;
}
