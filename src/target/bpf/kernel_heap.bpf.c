// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
//
// The kernel's own heap: slab, pages and per-CPU memory, by the tracepoints of its allocators. An allocation
// is seen after it was made, a free before it is done, so a block's two ends are seen in order. Live blocks
// are kept in a map, for the host to read; memory for that was taken before anything was attached, because
// an allocator that is traced cannot be asked for more.
#include "bpf/kernel.h"
#include "image/bpf_kernel.h"

char seep_license[] SEC("license") = "Dual BSD/GPL";

#define PAGE_BYTES 4096u

struct kmem_cache {
    unsigned int object_size;
    const char *name;
} SEEP_CORE;

// Set before loading, then constant.
const volatile uint32_t seep_sample = 1;
const volatile bool seep_combined = false; // figures by site only
const volatile uint64_t seep_min_size = 0;
const volatile uint64_t seep_max_size = UINT64_MAX;
const volatile uint32_t seep_nr_cpus = 1;
// The tracepoints' arguments as this kernel has them.
const volatile bool seep_kmalloc_has_cache = false; // kmalloc's third is the cache: 6.0
const volatile bool seep_cache_is_given = true;     // kmem_cache_alloc's third is the cache: 6.0 and later
const volatile bool seep_percpu_has_site = true;    // percpu's first is the call site: 5.19 and later

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 1); // set by the host
    __type(key, uint64_t);
    __type(value, struct seep_kernel_block);
} seep_blocks SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 1); // set by the host
    __type(key, uint64_t);
    __type(value, struct seep_kernel_site);
} seep_sites SEC(".maps");

struct counters {
    uint64_t values[SEEP_KERNEL_COUNTERS_NR];
};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct counters);
} seep_counters SEC(".maps");

// A program that is interrupted by another one on its CPU must find its scratch memory as it left it: each
// level has its own.
#define LEVELS_MAX 4u

struct cpu_state {
    uint32_t level;
    uint32_t nr_calls; // for sampling
};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct cpu_state);
} seep_cpu SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, LEVELS_MAX);
    __type(key, uint32_t);
    __type(value, struct seep_kernel_site);
} seep_scratch SEC(".maps");

static inline void count(enum seep_kernel_counter what, uint64_t by) {
    uint32_t zero = 0;
    struct counters *counters = bpf_map_lookup_elem(&seep_counters, &zero);
    if (counters)
        __sync_fetch_and_add(&counters->values[what], by);
}

// Source of the constants: the finaliser of MurmurHash3 (Appleby, public domain) and the golden ratio.
static inline uint64_t mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static inline uint64_t hash_site(const struct seep_kernel_site *site, uint64_t cache_name) {
    uint64_t hash = mix(site->class_of + 1, cache_name);
    for (uint32_t i = 0; i < SEEP_KERNEL_FRAMES_MAX && i < site->nr_frames; i++)
        hash = mix(hash, site->frames[i]);
    hash *= UINT64_C(0xff51afd7ed558ccd);
    hash ^= hash >> 33;
    return hash ? hash : 1;
}

// The id of the site that allocates, which is in the map then. 0: it could not be.
static __noinline uint64_t find_site(void *context, struct seep_kernel_site *site, uint32_t class_of,
                                     uint64_t cache_name) {
    if (!site)
        return 0;
    long nr_bytes = bpf_get_stack(context, site->frames, sizeof(site->frames), 0);
    site->class_of = class_of;
    site->nr_frames = nr_bytes > 0 ? (uint32_t)nr_bytes / sizeof(uint64_t) : 0;
    if (site->nr_frames == SEEP_KERNEL_FRAMES_MAX)
        count(SEEP_KERNEL_CUT, 1);
    uint64_t id = hash_site(site, cache_name);
    if (bpf_map_lookup_elem(&seep_sites, &id))
        return id;
    __builtin_memset(site->cache, 0, sizeof(site->cache));
    if (cache_name)
        bpf_probe_read_kernel_str(site->cache, sizeof(site->cache), (const void *)cache_name);
    site->live_blocks = 0;
    site->live_bytes = 0;
    // Another CPU may have been quicker: what it put there is the same, and has its counts already.
    long status = bpf_map_update_elem(&seep_sites, &id, site, BPF_NOEXIST);
    if (status == 0 || status == -17 /* EEXIST */)
        return id;
    count(SEEP_KERNEL_LOST_STACKS, 1);
    return 0;
}

static inline void account(uint64_t id, uint64_t size, bool comes) {
    struct seep_kernel_site *site = bpf_map_lookup_elem(&seep_sites, &id);
    if (!site)
        return;
    __sync_fetch_and_add(&site->live_blocks, comes ? 1 : -UINT64_C(1));
    __sync_fetch_and_add(&site->live_bytes, comes ? size : -size);
}

static inline bool forget(uint64_t key, enum seep_kernel_counter why) {
    if (seep_combined) {
        struct seep_kernel_block *block = bpf_map_lookup_elem(&seep_blocks, &key);
        if (!block)
            return false;
        struct seep_kernel_block was = *block;
        if (bpf_map_delete_elem(&seep_blocks, &key))
            return false; // somebody else did
        account(was.site, was.size, false);
    } else if (bpf_map_delete_elem(&seep_blocks, &key)) {
        return false;
    }
    count(why, 1);
    return true;
}

static __noinline int remember(uint64_t key, uint64_t size, uint64_t site) {
    struct seep_kernel_block block = {.size = size, .born_ns = bpf_ktime_get_ns(), .site = site};
    long status = bpf_map_update_elem(&seep_blocks, &key, &block, BPF_NOEXIST);
    if (status == -17 /* EEXIST */ && forget(key, SEEP_KERNEL_IMPLICIT))
        status = bpf_map_update_elem(&seep_blocks, &key, &block, BPF_NOEXIST);
    if (status) {
        count(SEEP_KERNEL_LOST_BLOCKS, 1);
        return 0;
    }
    uint32_t zero = 0;
    struct counters *counters = bpf_map_lookup_elem(&seep_counters, &zero);
    if (counters) {
        __sync_fetch_and_add(&counters->values[SEEP_KERNEL_ALLOCATIONS], 1);
        __sync_fetch_and_add(&counters->values[SEEP_KERNEL_ALLOCATED_BYTES], size);
    }
    if (seep_combined)
        account(site, size, true);
    return 0;
}

static inline int allocated(void *context, uint64_t key, uint64_t size, uint32_t class_of,
                            uint64_t cache_name) {
    uint32_t zero = 0;
    struct cpu_state *cpu = bpf_map_lookup_elem(&seep_cpu, &zero);
    if (!cpu || !key)
        return 0;
    bool wanted = size >= seep_min_size && size <= seep_max_size;
    if (!wanted || (seep_sample > 1 && ++cpu->nr_calls % seep_sample != 0)) {
        forget(key, SEEP_KERNEL_IMPLICIT);
        return 0;
    }
    // Whoever comes in between leaves the level as it was: no atomic operation is needed.
    uint32_t level = cpu->level;
    cpu->level = level + 1;
    barrier();
    uint64_t id = 0;
    if (level < LEVELS_MAX)
        id = find_site(context, bpf_map_lookup_elem(&seep_scratch, &level), class_of, cache_name);
    else
        count(SEEP_KERNEL_LOST_NESTED, 1);
    remember(key, size, id);
    barrier();
    cpu->level = level;
    return 0;
}

// ---- the tracepoints: all arguments as an array of words ----

// Each load by itself: the verifier takes no load at an offset that was chosen at run time, and one of an
// argument that this kernel does not have must be in code that it never sees.
#define ARGUMENT(i)                                                                                          \
    ({                                                                                                       \
        uint64_t value_;                                                                                     \
        asm volatile("%0 = *(u64 *)(%1 + %2)" : "=r"(value_) : "r"(args), "i"((i)*8));                       \
        value_;                                                                                              \
    })

SEC("tp_btf/kmalloc")
int seep_kmalloc(uint64_t *args) {
    return allocated(args, ARGUMENT(1), seep_kmalloc_has_cache ? ARGUMENT(3) : ARGUMENT(2),
                     SEEP_KERNEL_KMALLOC, 0);
}

// Gone in 6.1.
SEC("?tp_btf/kmalloc_node")
int seep_kmalloc_node(uint64_t *args) {
    return allocated(args, ARGUMENT(1), seep_kmalloc_has_cache ? ARGUMENT(3) : ARGUMENT(2),
                     SEEP_KERNEL_KMALLOC, 0);
}

static inline int cache_allocated(uint64_t *args) {
    if (!seep_cache_is_given)
        return allocated(args, ARGUMENT(1), ARGUMENT(2), SEEP_KERNEL_CACHE, 0);
    const struct kmem_cache *cache = (const struct kmem_cache *)ARGUMENT(2);
    return allocated(args, ARGUMENT(1), cache->object_size, SEEP_KERNEL_CACHE, (uint64_t)cache->name);
}

SEC("tp_btf/kmem_cache_alloc")
int seep_cache_alloc(uint64_t *args) {
    return cache_allocated(args);
}

SEC("?tp_btf/kmem_cache_alloc_node")
int seep_cache_alloc_node(uint64_t *args) {
    return cache_allocated(args);
}

SEC("tp_btf/mm_page_alloc")
int seep_page_alloc(uint64_t *args) {
    return allocated(args, ARGUMENT(0), (uint64_t)PAGE_BYTES << (ARGUMENT(1) & 31), SEEP_KERNEL_PAGES, 0);
}

SEC("?tp_btf/percpu_alloc_percpu")
int seep_percpu_alloc(uint64_t *args) {
    if (seep_percpu_has_site)
        return allocated(args, ARGUMENT(7) | 1, ARGUMENT(8), SEEP_KERNEL_PERCPU, 0);
    return allocated(args, ARGUMENT(6) | 1, ARGUMENT(2) * seep_nr_cpus, SEEP_KERNEL_PERCPU, 0);
}

SEC("tp_btf/kfree")
int seep_kfree(uint64_t *args) {
    forget(ARGUMENT(1), SEEP_KERNEL_FREES);
    return 0;
}

SEC("tp_btf/kmem_cache_free")
int seep_cache_free(uint64_t *args) {
    forget(ARGUMENT(1), SEEP_KERNEL_FREES);
    return 0;
}

SEC("tp_btf/mm_page_free")
int seep_page_free(uint64_t *args) {
    forget(ARGUMENT(0), SEEP_KERNEL_FREES);
    return 0;
}

SEC("tp_btf/mm_page_free_batched")
int seep_page_free_batched(uint64_t *args) {
    forget(ARGUMENT(0), SEEP_KERNEL_FREES);
    return 0;
}

SEC("?tp_btf/percpu_free_percpu")
int seep_percpu_free(uint64_t *args) {
    forget(ARGUMENT(2) | 1, SEEP_KERNEL_FREES);
    return 0;
}
