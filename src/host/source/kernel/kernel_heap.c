// SPDX-License-Identifier: BSD-2-Clause
// Loads the kernel's tracer and reads its maps, see kernel_heap.h.
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "source/attach/bpf_program.h"
#include "source/kernel/kernel_heap.skel.h"
#include "source/kernel/kernel_heap.h"
#include "source/kernel/kernel_memory.h"
#include "process/rights.h"

// Kernel stacks that allocate: some thousands on a busy machine. 600 bytes each.
#define SITES_MAX 32768u

struct seep_kernel_probes {
    struct seep_kernel_heap_bpf *bpf;
    bool combined;
    uint32_t nr_buckets;
    // Memory of the programs.
    const struct seep_kernel_bucket *buckets;
    const struct seep_kernel_block *blocks;
    const struct seep_kernel_site *sites;
    const struct seep_kernel_process *processes;
};

// ---- rights ----

static struct seep_error *check_rights(void) {
    bool bpf = seep_right_is_held(SEEP_RIGHT_BPF), perfmon = seep_right_is_held(SEEP_RIGHT_PERFMON);
    if (bpf && perfmon)
        return NULL;
    const char *missing = bpf ? "CAP_PERFMON" : perfmon ? "CAP_BPF" : "CAP_BPF and CAP_PERFMON";
    return seep_error_hint(seep_error_create(SEEP_E_PERMISSION,
                                             "tracing the kernel needs %s, and this process does not have it",
                                             missing),
                           "be root, or have CAP_BPF and CAP_PERFMON");
}

// ---- loading ----

// The prototype of a tracepoint's function: its parameters are the tracepoint's, after one of its own.
// NULL: this kernel has no such tracepoint.
static const struct btf_type *tracepoint(const struct btf *btf, const char *name) {
    char typedef_name[64];
    snprintf(typedef_name, sizeof(typedef_name), "btf_trace_%s", name);
    int id = btf__find_by_name_kind(btf, typedef_name, BTF_KIND_TYPEDEF);
    const struct btf_type *type =
        id < 0 ? NULL : btf__type_by_id(btf, btf__type_by_id(btf, (uint32_t)id)->type);
    type = type && btf_is_ptr(type) ? btf__type_by_id(btf, type->type) : NULL;
    return type && btf_is_func_proto(type) ? type : NULL;
}

static bool takes_pointer(const struct btf *btf, const struct btf_type *prototype, unsigned argument) {
    if (!prototype || argument + 1u >= btf_vlen(prototype))
        return false;
    const struct btf_type *type = btf__type_by_id(btf, btf_params(prototype)[argument + 1].type);
    return type && btf_is_ptr(type);
}

// Both forms of each allocation's program, and where it is attached: frees come first, so that a block is
// only seen when its free will be.
struct choice {
    const char *tracepoint;
    struct bpf_program *direct; // calls kernel functions; the only one of a free
    struct bpf_program *plain;
    struct bpf_link **direct_link;
    struct bpf_link **plain_link;
    bool wanted;
};

#define FREE(name) bpf->progs.seep_##name, NULL, &bpf->links.seep_##name, NULL
#define ALLOCATION(name)                                                                                     \
    bpf->progs.seep_##name, bpf->progs.seep_##name##_plain, &bpf->links.seep_##name,                         \
        &bpf->links.seep_##name##_plain
#define CHOICES_NR 13

static void list_choices(struct seep_kernel_heap_bpf *bpf, const struct seep_kernel_probes_options *options,
                         struct choice choices[CHOICES_NR]) {
    const struct choice list[CHOICES_NR] = {
        {"kfree", FREE(kfree), true},
        {"kmem_cache_free", FREE(cache_free), true},
        {"mm_page_free", FREE(page_free), true},
        {"mm_page_free_batched", FREE(page_free_batched), true},
        {"percpu_free_percpu", FREE(percpu_free), options->percpu},
        {"free_vmap_area_noflush", FREE(area_free), options->vmalloc},
        {"kmalloc", ALLOCATION(kmalloc), true},
        {"kmalloc_node", ALLOCATION(kmalloc_node), true},
        {"kmem_cache_alloc", ALLOCATION(cache_alloc), true},
        {"kmem_cache_alloc_node", ALLOCATION(cache_alloc_node), true},
        {"mm_page_alloc", ALLOCATION(page_alloc), true},
        {"percpu_alloc_percpu", ALLOCATION(percpu_alloc), options->percpu},
        {"alloc_vmap_area", ALLOCATION(area_alloc), options->vmalloc},
    };
    memcpy(choices, list, sizeof(list));
}

static bool has_function(const struct btf *btf, const char *name) {
    return btf__find_by_name_kind(btf, name, BTF_KIND_FUNC) > 0;
}

static void choose_programs(struct seep_kernel_heap_bpf *bpf, const struct btf *btf,
                            const struct seep_kernel_probes_options *options) {
    struct choice choices[CHOICES_NR];
    list_choices(bpf, options, choices);
    bool directly = !options->plain && has_function(btf, "bpf_rdonly_cast");
    for (size_t i = 0; i < CHOICES_NR; i++) {
        bool wanted = choices[i].wanted && tracepoint(btf, choices[i].tracepoint);
        bpf_program__set_autoload(choices[i].direct, wanted && (directly || !choices[i].plain));
        if (choices[i].plain)
            bpf_program__set_autoload(choices[i].plain, wanted && !directly);
    }
}

// By what the kernel says of itself, not by its version.
static struct seep_error *adapt(struct seep_kernel_heap_bpf *bpf,
                                const struct seep_kernel_probes_options *options) {
    struct btf *btf = btf__load_vmlinux_btf();
    if (libbpf_get_error(btf))
        return seep_error_system(errno, "cannot read the kernel's types");
    bpf->rodata->seep_kmalloc_has_cache = takes_pointer(btf, tracepoint(btf, "kmalloc"), 2);
    bpf->rodata->seep_cache_is_given = takes_pointer(btf, tracepoint(btf, "kmem_cache_alloc"), 2);
    bpf->rodata->seep_has_memos = libbpf_probe_bpf_helper(BPF_PROG_TYPE_KPROBE, BPF_FUNC_loop, NULL) == 1;
    const struct btf_type *percpu_alloc = tracepoint(btf, "percpu_alloc_percpu");
    bpf->rodata->seep_percpu_has_site = percpu_alloc && btf_vlen(percpu_alloc) >= 11;
    choose_programs(bpf, btf, options);
    bpf_program__set_autoload(bpf->progs.seep_sweep,
                              bpf->rodata->seep_has_memos && has_function(btf, "bpf_get_kmem_cache"));
    const char *missing = options->percpu && !percpu_alloc ? "per-CPU memory"
                          : options->vmalloc && !(tracepoint(btf, "alloc_vmap_area") &&
                                                  tracepoint(btf, "free_vmap_area_noflush"))
                              ? "vmalloc"
                              : NULL;
    btf__free(btf);
    if (missing)
        return seep_error_create(SEEP_E_UNSUPPORTED, "this kernel has no tracepoint for %s", missing);
    return NULL;
}

static size_t array_bytes(const struct bpf_map *map) {
    return (size_t)bpf_map__value_size(map) * bpf_map__max_entries(map);
}

static struct seep_error *map_array(const struct bpf_map *map, const void **ret_memory) {
    void *memory = mmap(NULL, array_bytes(map), PROT_READ, MAP_SHARED, bpf_map__fd(map), 0);
    if (memory == MAP_FAILED)
        return seep_error_system(errno, "cannot map the memory of the BPF programs");
    *ret_memory = memory;
    return NULL;
}

static void unmap_array(const struct bpf_map *map, const void *memory) {
    if (memory)
        munmap((void *)memory, array_bytes(map));
}

// What the programs write, for reading.
static struct seep_error *map_memory(struct seep_kernel_probes *probes) {
    struct seep_kernel_heap_bpf *bpf = probes->bpf;
    struct seep_error *err = map_array(bpf->maps.seep_buckets, (const void **)&probes->buckets);
    if (!err)
        err = map_array(bpf->maps.seep_blocks, (const void **)&probes->blocks);
    if (!err)
        err = map_array(bpf->maps.seep_sites, (const void **)&probes->sites);
    if (!err)
        err = map_array(bpf->maps.seep_processes, (const void **)&probes->processes);
    return err;
}

static struct seep_error *load(struct seep_kernel_probes *probes,
                               const struct seep_kernel_probes_options *options) {
    libbpf_set_print(NULL);
    probes->bpf = seep_kernel_heap_bpf__open();
    if (!probes->bpf)
        return seep_error_system(errno, "cannot open the BPF programs");
    struct seep_kernel_heap_bpf *bpf = probes->bpf;
    struct seep_error *err = adapt(bpf, options);
    if (err)
        return err;
    bpf->rodata->seep_sample = (uint32_t)SEEP_MAX(options->sample, UINT64_C(1));
    bpf->rodata->seep_combined = options->combined;
    bpf->rodata->seep_checks_memos = options->check_memos;
    bpf->rodata->seep_min_size = options->min_size;
    bpf->rodata->seep_max_size = options->max_size;
    bpf->rodata->seep_nr_cpus = (uint32_t)libbpf_num_possible_cpus();
    // Half of the places are enough for all to find one (SEEP_KERNEL_CHOICES).
    probes->nr_buckets = options->blocks_max * 2 / SEEP_KERNEL_BUCKET_BLOCKS + 1;
    bpf->rodata->seep_nr_buckets = probes->nr_buckets;
    bpf->rodata->seep_sites_max = SITES_MAX;
    bpf_map__set_max_entries(bpf->maps.seep_buckets, probes->nr_buckets);
    bpf_map__set_max_entries(bpf->maps.seep_blocks, probes->nr_buckets * SEEP_KERNEL_BUCKET_BLOCKS);
    bpf_map__set_max_entries(bpf->maps.seep_sites, SITES_MAX);
    bpf_map__set_max_entries(bpf->maps.seep_site_numbers, SITES_MAX);
    int status = seep_kernel_heap_bpf__load(bpf);
    if (!status)
        return map_memory(probes);
    return seep_error_hint(seep_error_system(-status, "the kernel refuses the BPF programs"),
                           "'seep info' says what this kernel can do; the map of blocks has room for %u: "
                           "less memory with --max-blocks",
                           options->blocks_max);
}

static struct seep_error *attach_one(struct bpf_program *program, struct bpf_link **link,
                                     const char *tracepoint) {
    if (!program || !bpf_program__autoload(program))
        return NULL;
    *link = bpf_program__attach(program);
    return *link ? NULL : seep_error_system(errno, "cannot attach to the tracepoint %s", tracepoint);
}

static struct seep_error *attach(struct seep_kernel_heap_bpf *bpf,
                                 const struct seep_kernel_probes_options *options) {
    struct choice choices[CHOICES_NR];
    list_choices(bpf, options, choices);
    struct seep_error *err = NULL;
    for (size_t i = 0; i < CHOICES_NR && !err; i++) {
        err = attach_one(choices[i].direct, choices[i].direct_link, choices[i].tracepoint);
        if (!err)
            err = attach_one(choices[i].plain, choices[i].plain_link, choices[i].tracepoint);
    }
    return err;
}

struct seep_error *seep_kernel_probes_create(const struct seep_kernel_probes_options *options,
                                             struct seep_kernel_probes **ret_probes) {
    struct seep_error *err = check_rights();
    struct seep_bpf_features features;
    if (!err) {
        seep_bpf_features_probe(&features);
        err = seep_bpf_features_check(&features);
    }
    if (err)
        return err;
    struct seep_kernel_probes *probes = calloc(1, sizeof(*probes));
    if (!probes)
        return seep_error_no_memory();
    probes->combined = options->combined;
    err = load(probes, options);
    if (!err)
        err = attach(probes->bpf, options);
    if (err)
        seep_kernel_probes_destroy(probes);
    else
        *ret_probes = probes;
    return err;
}

void seep_kernel_probes_destroy(struct seep_kernel_probes *probes) {
    if (!probes)
        return;
    if (probes->bpf) {
        unmap_array(probes->bpf->maps.seep_buckets, probes->buckets);
        unmap_array(probes->bpf->maps.seep_blocks, probes->blocks);
        unmap_array(probes->bpf->maps.seep_sites, probes->sites);
        unmap_array(probes->bpf->maps.seep_processes, probes->processes);
    }
    seep_kernel_heap_bpf__destroy(probes->bpf);
    free(probes);
}

// ---- reading ----

// Buckets that are looked at in one call: some milliseconds.
#define SWEEP_BUCKETS 65536u

// Forgets the blocks whose slab is gone. Where the kernel cannot tell, they stay.
static void sweep(const struct seep_kernel_probes *probes) {
    const struct bpf_program *program = probes->bpf->progs.seep_sweep;
    for (uint32_t first = 0; first < probes->nr_buckets && bpf_program__autoload(program);
         first += SWEEP_BUCKETS) {
        struct seep_kernel_sweep range = {first, SEEP_MIN(probes->nr_buckets - first, SWEEP_BUCKETS)};
        LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = &range, .ctx_size_in = sizeof(range));
        if (bpf_prog_test_run_opts(bpf_program__fd(program), &options) != 0)
            return;
    }
}

static struct seep_error *read_counters(struct seep_kernel_probes *probes, struct seep_kernel_heap *heap) {
    int nr_cpus = libbpf_num_possible_cpus();
    struct seep_kernel_counters *all = calloc((size_t)SEEP_MAX(nr_cpus, 1), sizeof(*all));
    uint32_t zero = 0;
    if (!all)
        return seep_error_no_memory();
    if (bpf_map_lookup_elem(bpf_map__fd(probes->bpf->maps.seep_counters), &zero, all) != 0) {
        free(all);
        return seep_error_system(errno, "cannot read the counters of the kernel's tracer");
    }
    for (int cpu = 0; cpu < nr_cpus; cpu++)
        for (size_t i = 0; i < SEEP_KERNEL_COUNTERS_NR; i++)
            heap->counters[i] += all[cpu].values[i];
    free(all);
    struct bpf_program *program;
    bpf_object__for_each_program(program, probes->bpf->obj) {
        struct bpf_prog_info info = {0};
        uint32_t nr_bytes = sizeof(info);
        if (bpf_program__fd(program) >= 0 &&
            bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &nr_bytes) == 0)
            heap->missed += info.recursion_misses;
    }
    return NULL;
}

struct seep_error *seep_kernel_probes_read(struct seep_kernel_probes *probes, int64_t older_ns,
                                           struct seep_kernel_heap *ret_heap) {
    struct seep_kernel_heap heap = {NULL};
    sweep(probes);
    struct seep_error *err = read_counters(probes, &heap);
    const struct seep_kernel_memory memory = {
        .buckets = probes->buckets,
        .blocks = probes->blocks,
        .nr_buckets = probes->nr_buckets,
        .sites = probes->sites,
        .nr_sites = &probes->bpf->data->seep_nr_sites,
        .nr_sites_max = SITES_MAX,
        .processes = probes->processes,
        .nr_processes = &probes->bpf->data->seep_nr_processes,
        .nr_processes_max = bpf_map__max_entries(probes->bpf->maps.seep_processes),
    };
    if (!err)
        err = probes->combined ? seep_kernel_memory_combined(&memory, &heap)
                               : seep_kernel_memory_blocks(&memory, older_ns, &heap);
    if (err)
        seep_kernel_heap_deinit(&heap);
    else
        *ret_heap = heap;
    return err;
}
