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

static void choose_programs(struct seep_attached *attached) {
    struct seep_heap_bpf *bpf = attached->bpf;
    bool session = attached->options.probes == SEEP_PROBES_BEST,
         multi = attached->options.probes != SEEP_PROBES_PERF;
    enum bpf_attach_type type = (enum bpf_attach_type)(multi ? SEEP_BPF_ATTACH_MULTI : 0);
    bpf_program__set_autoload(bpf->progs.seep_session, session);
    bpf_program__set_autoload(bpf->progs.seep_entry, !session);
    bpf_program__set_autoload(bpf->progs.seep_return, !session);
    bpf_program__set_autoload(bpf->progs.seep_fault_user, attached->options.faults);
    bpf_program__set_autoload(bpf->progs.seep_fault_kernel, attached->options.faults);
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
    bpf_program__set_autoload(bpf->progs.seep_otel_alloc, attached->options.source == SEEP_SOURCE_OTEL);
    bpf_program__set_autoload(bpf->progs.seep_otel_free, attached->options.source == SEEP_SOURCE_OTEL);
    bpf->rodata->seep_unwind_cfi = attached->features.can[SEEP_BPF_CAN_LOOP];
    bpf->rodata->seep_find_vma = attached->features.can[SEEP_BPF_CAN_VMA];
    bpf->rodata->seep_scope = attached->scope;
    bpf->rodata->seep_self = (uint32_t)getpid();
    bpf->rodata->seep_follow = !attached->options.ignore_children;
    bpf->rodata->seep_timed = attached->options.watcher != NULL;
    bpf->rodata->seep_sample = (uint32_t)SEEP_MAX(attached->options.sample, UINT64_C(1));
}

// Files may claim code up to 4 GiB each: what is beyond finds no room, which is counted.
#define ROWS_MAX  (UINT64_C(64) << 20)
#define PAGES_MAX (UINT64_C(16) << 20)

struct seep_error *seep_attach_load(struct seep_attached *attached) {
    // Of a program that is yet to start nothing is known, nor of those to come: one of clang's size fits.
    bool open_ended = attached->scope != SEEP_BPF_SCOPE_PROBED || attached->options.argv;
    uint64_t spare = open_ended ? 4 : 1;
    uint64_t capacities[3] = {SPARE_ROWS * spare, SPARE_PAGES * spare,
                              attached->scope >= SEEP_BPF_SCOPE_CGROUP ? NR_MAPPINGS_MANY : NR_MAPPINGS};
    for (size_t i = 0; i < attached->nr_objects; i++) {
        capacities[0] += attached->objects[i]->table.nr_rows;
        capacities[1] += attached->objects[i]->table.nr_pages + UINT64_C(1);
    }
    capacities[0] = SEEP_MIN(capacities[0], ROWS_MAX);
    capacities[1] = SEEP_MIN(capacities[1], PAGES_MAX);
    libbpf_set_print(NULL);
    attached->bpf = seep_heap_bpf__open();
    if (!attached->bpf)
        return seep_error_system(errno, "cannot open the BPF programs");
    struct seep_heap_bpf *bpf = attached->bpf;
    choose_programs(attached);
    bpf_map__set_max_entries(bpf->maps.seep_events, (uint32_t)attached->options.ring_bytes);
    bpf_map__set_max_entries(bpf->maps.seep_rows, (uint32_t)capacities[0]);
    bpf_map__set_max_entries(bpf->maps.seep_index, (uint32_t)capacities[1]);
    bpf_map__set_max_entries(bpf->maps.seep_mappings, (uint32_t)capacities[2]);
    if (attached->options.source != SEEP_SOURCE_OTEL)
        bpf_map__set_max_entries(bpf->maps.seep_usdt, 1);
    bpf_map__set_max_entries(bpf->maps.seep_sampled, attached->options.sample > 1 ? SAMPLED_MAX : 1);
    attached->options.ring_bytes = bpf_map__max_entries(bpf->maps.seep_events); // rounded up
    int status = seep_heap_bpf__load(bpf);
    if (status)
        return seep_error_hint(seep_error_system(-status, "the kernel refuses the BPF programs"),
                               "'seep info' says what this kernel can do");
    attached->ring = ring_buffer__new(bpf_map__fd(bpf->maps.seep_events), seep_attach_take, attached, NULL);
    if (!attached->ring)
        return seep_error_system(errno, "cannot map the ring buffer");
    struct seep_error *err =
        seep_bpf_tables_init(bpf_map__fd(bpf->maps.seep_rows), bpf_map__fd(bpf->maps.seep_index),
                             bpf_map__fd(bpf->maps.seep_mappings), bpf_map__fd(bpf->maps.seep_processes),
                             capacities, &attached->tables);
    for (size_t i = 0; i < attached->nr_objects && !err; i++)
        seep_attach_place_table(attached, attached->objects[i]);
    uint32_t zero = 0;
    if (!err && attached->cgroup >= 0 &&
        bpf_map_update_elem(bpf_map__fd(bpf->maps.seep_cgroup), &zero, &attached->cgroup, BPF_ANY) != 0)
        err = seep_error_system(errno, "--cgroup: %s", attached->options.cgroup);
    if (err)
        return err;
    bpf->links.seep_exit = bpf_program__attach(bpf->progs.seep_exit);
    bpf->links.seep_exec = bpf_program__attach(bpf->progs.seep_exec);
    bpf->links.seep_fork = bpf_program__attach(bpf->progs.seep_fork);
    if (!bpf->links.seep_exit || !bpf->links.seep_exec || !bpf->links.seep_fork)
        return seep_error_system(errno, "cannot follow the events of processes");
    if (!attached->options.faults)
        return NULL;
    bpf->links.seep_fault_user = bpf_program__attach(bpf->progs.seep_fault_user);
    bpf->links.seep_fault_kernel = bpf_program__attach(bpf->progs.seep_fault_kernel);
    return bpf->links.seep_fault_user && bpf->links.seep_fault_kernel
               ? NULL
               : seep_error_system(errno, "cannot attach to the tracepoints of page faults");
}

struct seep_error *seep_attach_choose_probes(struct seep_attached *attached) {
    seep_bpf_features_probe(&attached->features);
    struct seep_error *err = seep_bpf_features_check(&attached->features);
    if (err)
        return err;
    if (seep_bpf_numbers_differ())
        return seep_error_hint(
            seep_error_create(SEEP_E_UNSUPPORTED,
                              "BPF programs do not know the processes of this PID namespace"),
            "%s", SEEP_BPF_NUMBERS_ADVICE);
    if (attached->options.probes == SEEP_PROBES_BEST && !attached->features.can[SEEP_BPF_CAN_SESSION])
        attached->options.probes = SEEP_PROBES_MULTI;
    if (attached->options.probes == SEEP_PROBES_MULTI && !attached->features.can[SEEP_BPF_CAN_MULTI])
        attached->options.probes = SEEP_PROBES_PERF;
    return NULL;
}
