// SPDX-License-Identifier: BSD-2-Clause
// Loads the kernel's tracer and reads its maps, see kernel_trace.h.
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "capture/bpf_program.h"
#include "capture/kernel_heap.skel.h"
#include "capture/kernel_trace.h"

// Kernel stacks that allocate: some thousands on a busy machine. 600 bytes each.
#define SITES_MAX 32768u
// Entries read at once; more where the kernel says that a bucket has more.
#define BATCH 16384u

struct seep_kernel_trace {
    struct seep_kernel_heap_bpf *bpf;
    bool combined;
};

// ---- rights ----

// Source: Linux uapi linux/capability.h.
#define CAPABILITY_ADMIN   21
#define CAPABILITY_PERFMON 38
#define CAPABILITY_BPF     39

static uint64_t effective_capabilities(void) {
    FILE *status = fopen("/proc/self/status", "re");
    char line[256];
    unsigned long long mask = UINT64_MAX; // not known: let the kernel say no
    while (status && fgets(line, sizeof(line), status))
        if (sscanf(line, "CapEff: %llx", &mask) == 1)
            break;
    if (status)
        fclose(status);
    return mask;
}

static struct seep_error *check_rights(void) {
    uint64_t mask = effective_capabilities();
    bool bpf = mask >> CAPABILITY_BPF & 1, perfmon = mask >> CAPABILITY_PERFMON & 1;
    if (mask >> CAPABILITY_ADMIN & 1 || (bpf && perfmon))
        return NULL;
    const char *missing = bpf ? "CAP_PERFMON" : perfmon ? "CAP_BPF" : "CAP_BPF and CAP_PERFMON";
    return seep_error_hint(seep_error_create(SEEP_E_PERMISSION,
                                             "tracing the kernel needs %s, which this process has not",
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

// By what the kernel says of its tracepoints, not by its version.
static struct seep_error *choose_programs(struct seep_kernel_heap_bpf *bpf, bool percpu) {
    struct btf *btf = btf__load_vmlinux_btf();
    if (libbpf_get_error(btf))
        return seep_error_system(errno, "cannot read the kernel's types");
    bpf->rodata->seep_kmalloc_has_cache = takes_pointer(btf, tracepoint(btf, "kmalloc"), 2);
    bpf->rodata->seep_cache_is_given = takes_pointer(btf, tracepoint(btf, "kmem_cache_alloc"), 2);
    const struct btf_type *percpu_alloc = tracepoint(btf, "percpu_alloc_percpu");
    bpf->rodata->seep_percpu_has_site = percpu_alloc && btf_vlen(percpu_alloc) >= 11;
    bpf_program__set_autoload(bpf->progs.seep_kmalloc_node, tracepoint(btf, "kmalloc_node"));
    bpf_program__set_autoload(bpf->progs.seep_cache_alloc_node, tracepoint(btf, "kmem_cache_alloc_node"));
    bpf_program__set_autoload(bpf->progs.seep_percpu_alloc, percpu && percpu_alloc);
    bpf_program__set_autoload(bpf->progs.seep_percpu_free, percpu && percpu_alloc);
    btf__free(btf);
    if (percpu && !percpu_alloc)
        return seep_error_create(SEEP_E_UNSUPPORTED, "this kernel has no tracepoint for per-CPU memory");
    return NULL;
}

static struct seep_error *load(struct seep_kernel_trace *trace,
                               const struct seep_kernel_trace_options *options) {
    libbpf_set_print(NULL);
    trace->bpf = seep_kernel_heap_bpf__open();
    if (!trace->bpf)
        return seep_error_system(errno, "cannot open the BPF programs");
    struct seep_kernel_heap_bpf *bpf = trace->bpf;
    struct seep_error *err = choose_programs(bpf, options->percpu);
    if (err)
        return err;
    bpf->rodata->seep_sample = (uint32_t)SEEP_MAX(options->sample, UINT64_C(1));
    bpf->rodata->seep_combined = options->combined;
    bpf->rodata->seep_min_size = options->min_size;
    bpf->rodata->seep_max_size = options->max_size;
    bpf->rodata->seep_nr_cpus = (uint32_t)libbpf_num_possible_cpus();
    bpf_map__set_max_entries(bpf->maps.seep_blocks, options->blocks_max);
    bpf_map__set_max_entries(bpf->maps.seep_sites, SITES_MAX);
    int status = seep_kernel_heap_bpf__load(bpf);
    if (!status)
        return NULL;
    return seep_error_hint(seep_error_system(-status, "the kernel refuses the BPF programs"),
                           "'seep info' says what this kernel can do; the map of blocks has room for %u: "
                           "less memory with --max-blocks",
                           options->blocks_max);
}

// Frees first: a block is only seen when its free will be.
static struct seep_error *attach(struct seep_kernel_heap_bpf *bpf) {
    struct {
        struct bpf_program *program;
        struct bpf_link **link;
    } const order[] = {
        {bpf->progs.seep_kfree, &bpf->links.seep_kfree},
        {bpf->progs.seep_cache_free, &bpf->links.seep_cache_free},
        {bpf->progs.seep_page_free, &bpf->links.seep_page_free},
        {bpf->progs.seep_page_free_batched, &bpf->links.seep_page_free_batched},
        {bpf->progs.seep_percpu_free, &bpf->links.seep_percpu_free},
        {bpf->progs.seep_kmalloc, &bpf->links.seep_kmalloc},
        {bpf->progs.seep_kmalloc_node, &bpf->links.seep_kmalloc_node},
        {bpf->progs.seep_cache_alloc, &bpf->links.seep_cache_alloc},
        {bpf->progs.seep_cache_alloc_node, &bpf->links.seep_cache_alloc_node},
        {bpf->progs.seep_page_alloc, &bpf->links.seep_page_alloc},
        {bpf->progs.seep_percpu_alloc, &bpf->links.seep_percpu_alloc},
    };
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(order); i++) {
        if (!bpf_program__autoload(order[i].program))
            continue;
        *order[i].link = bpf_program__attach(order[i].program);
        if (!*order[i].link)
            return seep_error_system(errno, "cannot attach to the tracepoint of %s",
                                     bpf_program__name(order[i].program));
    }
    return NULL;
}

struct seep_error *seep_kernel_trace_create(const struct seep_kernel_trace_options *options,
                                            struct seep_kernel_trace **ret_trace) {
    struct seep_error *err = check_rights();
    struct seep_bpf_features features;
    if (!err) {
        seep_bpf_features_probe(&features);
        err = seep_bpf_features_check(&features);
    }
    if (err)
        return err;
    struct seep_kernel_trace *trace = calloc(1, sizeof(*trace));
    if (!trace)
        return seep_error_no_memory();
    trace->combined = options->combined;
    err = load(trace, options);
    if (!err)
        err = attach(trace->bpf);
    if (err)
        seep_kernel_trace_destroy(trace);
    else
        *ret_trace = trace;
    return err;
}

void seep_kernel_trace_destroy(struct seep_kernel_trace *trace) {
    if (!trace)
        return;
    seep_kernel_heap_bpf__destroy(trace->bpf);
    free(trace);
}

// ---- reading ----

struct entries {
    uint64_t *keys;
    char *values;
    size_t nr;
    size_t capacity;
};

static void entries_deinit(struct entries *entries) {
    free(entries->keys);
    free(entries->values);
    *entries = (struct entries){NULL};
}

static bool entries_reserve(struct entries *entries, size_t nr_more, size_t value_bytes) {
    size_t need = entries->nr + nr_more;
    if (need <= entries->capacity)
        return true;
    need = SEEP_MAX(need, entries->capacity * 2);
    uint64_t *keys = realloc(entries->keys, need * sizeof(*keys));
    if (keys)
        entries->keys = keys;
    char *values = realloc(entries->values, need * value_bytes);
    if (values)
        entries->values = values;
    if (!keys || !values)
        return false;
    entries->capacity = need;
    return true;
}

// The whole map; ENOENT is its end, ENOSPC a bucket that has more than `room`.
static struct seep_error *read_map(int fd, size_t value_bytes, struct entries *ret_entries) {
    struct entries entries = {NULL};
    uint32_t cursor = 0, room = BATCH;
    bool started = false;
    int status = 0;
    while (!status) {
        if (!entries_reserve(&entries, room, value_bytes)) {
            entries_deinit(&entries);
            return seep_error_no_memory();
        }
        uint32_t nr = room;
        status = bpf_map_lookup_batch(fd, started ? &cursor : NULL, &cursor, entries.keys + entries.nr,
                                      entries.values + entries.nr * value_bytes, &nr, NULL);
        if (status == -ENOSPC && room < UINT32_MAX / 2) {
            room *= 2;
            status = 0;
            continue;
        }
        if (!status || status == -ENOENT)
            entries.nr += nr;
        started = true;
    }
    if (status == -ENOENT) {
        *ret_entries = entries;
        return NULL;
    }
    entries_deinit(&entries);
    return seep_error_system(-status, "cannot read the map of the kernel's blocks");
}

static struct seep_error *read_counters(struct seep_kernel_trace *trace, struct seep_kernel_heap *heap) {
    int nr_cpus = libbpf_num_possible_cpus();
    uint64_t(*values)[SEEP_KERNEL_COUNTERS_NR] = calloc((size_t)SEEP_MAX(nr_cpus, 1), sizeof(*values));
    uint32_t zero = 0;
    if (!values)
        return seep_error_no_memory();
    if (bpf_map_lookup_elem(bpf_map__fd(trace->bpf->maps.seep_counters), &zero, values) != 0) {
        free(values);
        return seep_error_system(errno, "cannot read the counters of the kernel's tracer");
    }
    for (int cpu = 0; cpu < nr_cpus; cpu++)
        for (size_t i = 0; i < SEEP_KERNEL_COUNTERS_NR; i++)
            heap->counters[i] += values[cpu][i];
    free(values);
    struct bpf_program *program;
    bpf_object__for_each_program(program, trace->bpf->obj) {
        struct bpf_prog_info info = {0};
        uint32_t nr_bytes = sizeof(info);
        if (bpf_program__fd(program) >= 0 &&
            bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &nr_bytes) == 0)
            heap->missed += info.recursion_misses;
    }
    return NULL;
}

struct block_order {
    uint64_t site;
    struct seep_kernel_live_block block;
};

static int compare_blocks(const void *left, const void *right) {
    const struct block_order *a = left, *b = right;
    if (a->site != b->site)
        return a->site < b->site ? -1 : 1;
    return (a->block.age_ns < b->block.age_ns) - (a->block.age_ns > b->block.age_ns);
}

struct site_order {
    uint64_t id;
    const struct seep_kernel_site *site;
};

static int compare_sites(const void *left, const void *right) {
    const struct site_order *a = left, *b = right;
    return (a->id > b->id) - (a->id < b->id);
}

static int64_t monotonic_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

// Those old enough, in the order of their sites.
static struct seep_error *order_blocks(const struct entries *entries, int64_t older_ns,
                                       struct block_order **ret_blocks, size_t *ret_nr) {
    struct block_order *blocks = malloc((entries->nr + 1) * sizeof(*blocks));
    if (!blocks)
        return seep_error_no_memory();
    int64_t now_ns = monotonic_ns();
    size_t nr = 0;
    for (size_t i = 0; i < entries->nr; i++) {
        struct seep_kernel_block block;
        memcpy(&block, entries->values + i * sizeof(block), sizeof(block));
        int64_t age_ns = now_ns - (int64_t)block.born_ns;
        if (age_ns >= older_ns)
            blocks[nr++] = (struct block_order){block.site, {entries->keys[i], block.size, age_ns}};
    }
    qsort(blocks, nr, sizeof(*blocks), compare_blocks);
    *ret_blocks = blocks;
    *ret_nr = nr;
    return NULL;
}

static const struct seep_kernel_site *find_site(const struct site_order *sites, size_t nr, uint64_t id) {
    struct site_order key = {.id = id};
    const struct site_order *found = bsearch(&key, sites, nr, sizeof(*sites), compare_sites);
    return found ? found->site : NULL;
}

static void add_block(struct seep_kernel_heap *heap, const struct block_order *at,
                      const struct seep_kernel_site *site) {
    struct seep_kernel_live_site *live = heap->nr_sites ? &heap->sites[heap->nr_sites - 1] : NULL;
    if (!live || live->id != at->site) {
        live = &heap->sites[heap->nr_sites++];
        *live = (struct seep_kernel_live_site){
            .id = at->site, .site = site, .size_min = UINT64_MAX, .first_block = heap->nr_blocks};
    }
    live->live_blocks++;
    live->live_bytes += at->block.size;
    live->size_min = SEEP_MIN(live->size_min, at->block.size);
    live->size_max = SEEP_MAX(live->size_max, at->block.size);
    heap->blocks[heap->nr_blocks++] = at->block;
}

// By the blocks themselves.
static struct seep_error *collect(struct seep_kernel_heap *heap, const struct site_order *sites,
                                  size_t nr_sites, const struct entries *entries, int64_t older_ns) {
    struct block_order *blocks = NULL;
    size_t nr = 0;
    struct seep_error *err = order_blocks(entries, older_ns, &blocks, &nr);
    if (err)
        return err;
    heap->sites = calloc(SEEP_MIN(nr, (size_t)SITES_MAX + 1) + 1, sizeof(*heap->sites));
    heap->blocks = calloc(nr + 1, sizeof(*heap->blocks));
    if (heap->sites && heap->blocks) {
        for (size_t i = 0; i < nr; i++)
            add_block(heap, &blocks[i], find_site(sites, nr_sites, blocks[i].site));
    } else {
        err = seep_error_no_memory();
    }
    free(blocks);
    return err;
}

// By the counts that the programs keep.
static struct seep_error *collect_combined(struct seep_kernel_heap *heap, const struct site_order *sites,
                                           size_t nr_sites) {
    heap->sites = calloc(nr_sites + 1, sizeof(*heap->sites));
    if (!heap->sites)
        return seep_error_no_memory();
    for (size_t i = 0; i < nr_sites; i++)
        // Read while it changes: a free may have come before its allocation's count.
        if ((int64_t)sites[i].site->live_blocks > 0 && (int64_t)sites[i].site->live_bytes >= 0)
            heap->sites[heap->nr_sites++] =
                (struct seep_kernel_live_site){.id = sites[i].id,
                                               .site = sites[i].site,
                                               .live_blocks = sites[i].site->live_blocks,
                                               .live_bytes = sites[i].site->live_bytes};
    return NULL;
}

struct seep_error *seep_kernel_trace_read(struct seep_kernel_trace *trace, int64_t older_ns,
                                          struct seep_kernel_heap *ret_heap) {
    struct seep_kernel_heap heap = {NULL};
    struct entries blocks = {NULL}, sites = {NULL};
    struct site_order *order = NULL;
    struct seep_error *err = NULL;
    // Blocks before sites: the site of each is there then.
    if (!trace->combined)
        err = read_map(bpf_map__fd(trace->bpf->maps.seep_blocks), sizeof(struct seep_kernel_block), &blocks);
    if (!err)
        err = read_map(bpf_map__fd(trace->bpf->maps.seep_sites), sizeof(struct seep_kernel_site), &sites);
    if (!err)
        err = read_counters(trace, &heap);
    if (!err) {
        order = calloc(sites.nr + 1, sizeof(*order));
        if (!order)
            err = seep_error_no_memory();
    }
    if (!err) {
        heap.all_sites = (struct seep_kernel_site *)(void *)sites.values;
        sites.values = NULL;
        for (size_t i = 0; i < sites.nr; i++)
            order[i] = (struct site_order){sites.keys[i], &heap.all_sites[i]};
        qsort(order, sites.nr, sizeof(*order), compare_sites);
        err = trace->combined ? collect_combined(&heap, order, sites.nr)
                              : collect(&heap, order, sites.nr, &blocks, older_ns);
    }
    free(order);
    entries_deinit(&blocks);
    entries_deinit(&sites);
    if (err)
        seep_kernel_heap_deinit(&heap);
    else
        *ret_heap = heap;
    return err;
}

void seep_kernel_heap_deinit(struct seep_kernel_heap *heap) {
    free(heap->sites);
    free(heap->blocks);
    free(heap->all_sites);
    *heap = (struct seep_kernel_heap){NULL};
}
