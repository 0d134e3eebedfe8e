// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
//
// The kernel's own heap: slab, pages and per-CPU memory, by the tracepoints of its allocators. An allocation
// is seen after it was made, a free before it is done, so a block's two ends are seen in order. Live blocks
// are kept in a map, for the host to read; memory for that was taken before anything was attached, because
// an allocator that is traced cannot be asked for more.
#include "bpf/kernel_blocks.bpf.h"
#include "bpf/kernel_processes.bpf.h"
#include "bpf/kernel_stacks.bpf.h"

char seep_license[] SEC("license") = "Dual BSD/GPL";

#define PAGE_BYTES 4096u

struct kmem_cache {
    unsigned int size; // of an object, with what the slab adds
    unsigned int object_size;
    const char *name;
} SEEP_CORE;

// Set before loading, then constant.
const volatile uint32_t seep_sample = 1;
const volatile bool seep_combined = false;     // figures by site only
const volatile bool seep_checks_memos = false; // unwinds all the same
const volatile uint64_t seep_min_size = 0;
const volatile uint64_t seep_max_size = UINT64_MAX;
const volatile uint32_t seep_nr_cpus = 1;
// The tracepoints' arguments as this kernel has them.
const volatile bool seep_kmalloc_has_cache = false; // kmalloc's third is the cache: 6.0
const volatile bool seep_cache_is_given = true;     // kmem_cache_alloc's third is the cache: 6.0 and later
const volatile bool seep_percpu_has_site = true;    // percpu's first is the call site: 5.19 and later

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct seep_kernel_counters);
} seep_counters SEC(".maps");

#define SCRATCHES 4u

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, SCRATCHES);
    __type(key, uint32_t);
    __type(value, struct scratch);
} seep_scratch SEC(".maps");

static inline struct seep_kernel_counters *my_counters(void) {
    uint32_t zero = 0;
    return bpf_map_lookup_elem(&seep_counters, &zero);
}

static inline void count(enum seep_kernel_counter what, uint64_t by) {
    struct seep_kernel_counters *counters = my_counters();
    if (counters)
        __sync_fetch_and_add(&counters->values[what], by);
}

// NULL: all are in use, by what was interrupted on this CPU.
static inline struct scratch *scratch_take(void) {
#pragma unroll
    for (uint32_t i = 0; i < SCRATCHES; i++) {
        uint32_t number = i; // of its own: the verifier follows no counter whose address is taken
        struct scratch *scratch = bpf_map_lookup_elem(&seep_scratch, &number);
        if (scratch && __sync_lock_test_and_set(&scratch->busy, 1) == 0)
            return scratch;
    }
    return NULL;
}

static inline void scratch_leave(struct scratch *scratch) {
    barrier();
    *(volatile uint64_t *)&scratch->busy = 0;
}

static __always_inline uint32_t find_site(void *context, struct scratch *scratch, uint32_t victim,
                                          bool directly) {
    uint32_t height = seep_has_memos ? height_of(scratch) : 0;
    uint32_t recalled = height ? recall(scratch, height, directly) : 0;
    if (recalled)
        count(SEEP_KERNEL_RECALLED, 1);
    if (recalled && !seep_checks_memos)
        return recalled;
    uint32_t site = unwind(context, &scratch->site, &scratch->origin);
    if (!site)
        count(SEEP_KERNEL_LOST_STACKS, 1);
    else if (recalled && recalled != site)
        count(SEEP_KERNEL_MISTAKEN, 1);
    else if (height && !recalled)
        memorize(scratch, height, site, victim);
    return site;
}

static inline void account(const struct seep_kernel_block *block, bool comes) {
    uint32_t number = block->site;
    struct seep_kernel_site *site = bpf_map_lookup_elem(&seep_sites, &number);
    if (!site)
        return;
    uint64_t size = block->size, slab_bytes = block->slab_bytes;
    __sync_fetch_and_add(&site->live_blocks, comes ? 1 : -UINT64_C(1));
    __sync_fetch_and_add(&site->live_bytes, comes ? size : -size);
    __sync_fetch_and_add(&site->live_slab_bytes, comes ? slab_bytes : -slab_bytes);
}

static inline bool forget(uint64_t key, enum seep_kernel_counter why) {
    struct seep_kernel_block block = {.size = 0};
    if (!blocks_remove(key, seep_combined ? &block : NULL))
        return false;
    if (seep_combined)
        account(&block, false);
    count(why, 1);
    return true;
}

static inline uint32_t clamped(uint64_t bytes) {
    return bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
}

static __always_inline int record(void *context, uint64_t key, uint64_t size, const struct origin *origin,
                                  bool directly) {
    struct seep_kernel_counters *counters = my_counters();
    if (!counters || !key)
        return 0;
    forget(key, SEEP_KERNEL_IMPLICIT);
    if (size < seep_min_size || size > seep_max_size)
        return 0;
    uint32_t nr_calls = (uint32_t)++counters->nr_calls;
    // By chance: every Nth one would go round with a loop of the kernel.
    if (seep_sample > 1 && (uint64_t)bpf_get_prandom_u32() * seep_sample >= UINT64_C(1) << 32)
        return 0;
    struct seep_kernel_block block = {
        .size = clamped(size), .slab_bytes = clamped(origin->slab_bytes), .born_ns = bpf_ktime_get_ns()};
    struct scratch *scratch = scratch_take();
    if (scratch) {
        // From here on all of it is numbers: the verifier follows no pointer through memory.
        scratch->origin = *origin;
        scratch->origin.arguments = (uint64_t)context;
        barrier();
        block.site = find_site(context, scratch, nr_calls, directly);
        if (!seep_combined && !(block.process = find_process(scratch)))
            count(SEEP_KERNEL_LOST_PROCESSES, 1);
    } else {
        count(SEEP_KERNEL_LOST_NESTED, 1);
    }
    // Counted first: the block's free may come at once.
    if (seep_combined)
        account(&block, true);
    if (blocks_add(key, &block)) {
        __sync_fetch_and_add(&counters->values[SEEP_KERNEL_ALLOCATIONS], 1);
        __sync_fetch_and_add(&counters->values[SEEP_KERNEL_ALLOCATED_BYTES], size);
        if (origin->class_of == SEEP_KERNEL_PAGES) {
            __sync_fetch_and_add(&counters->values[SEEP_KERNEL_PAGE_ALLOCATIONS], 1);
            __sync_fetch_and_add(&counters->values[SEEP_KERNEL_PAGE_ALLOCATED_BYTES], size);
        }
    } else {
        if (seep_combined)
            account(&block, false);
        count(SEEP_KERNEL_LOST_BLOCKS, 1);
    }
    if (scratch)
        scratch_leave(scratch);
    return 0;
}

static __noinline int allocated(void *context, uint64_t key, uint64_t size, const struct origin *origin) {
    return origin ? record(context, key, size, origin, true) : 0;
}

static __noinline int allocated_plain(void *context, uint64_t key, uint64_t size,
                                      const struct origin *origin) {
    return origin ? record(context, key, size, origin, false) : 0;
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

// One program that calls kernel functions, and one that does not; the host loads one of them.
#define ALLOCATION(name, tracepoint, read)                                                                   \
    SEC("?tp_btf/" tracepoint) int seep_##name(uint64_t *args) {                                             \
        struct event event = read(args);                                                                     \
        return allocated(args, event.key, event.size, &event.origin);                                        \
    }                                                                                                        \
    SEC("?tp_btf/" tracepoint) int seep_##name##_plain(uint64_t *args) {                                     \
        struct event event = read(args);                                                                     \
        return allocated_plain(args, event.key, event.size, &event.origin);                                  \
    }

struct event {
    uint64_t key;
    uint64_t size;
    struct origin origin;
};

static __always_inline struct event read_kmalloc(const uint64_t *args) {
    return (struct event){ARGUMENT(1),
                          seep_kmalloc_has_cache ? ARGUMENT(3) : ARGUMENT(2),
                          {.class_of = SEEP_KERNEL_KMALLOC,
                           .call_site = ARGUMENT(0),
                           .slab_bytes = seep_kmalloc_has_cache ? ARGUMENT(4) : ARGUMENT(3)}};
}

static __always_inline struct event read_cache(const uint64_t *args) {
    struct event event = {
        ARGUMENT(1), ARGUMENT(2), {.class_of = SEEP_KERNEL_CACHE, .call_site = ARGUMENT(0)}};
    if (seep_cache_is_given) {
        const struct kmem_cache *cache = (const struct kmem_cache *)ARGUMENT(2);
        event.size = cache->object_size;
        event.origin.slab_bytes = cache->size;
        event.origin.cache_name = (uint64_t)cache->name;
    } else {
        event.origin.slab_bytes = ARGUMENT(3);
    }
    return event;
}

// The first argument as a number, where the verifier knows it as a pointer, with which one may not calculate.
static inline uint64_t page_argument(const uint64_t *args) {
    uint64_t page = 0;
    bpf_probe_read_kernel(&page, sizeof(page), args);
    return page;
}

static __always_inline struct event read_pages(const uint64_t *args) {
    // How it asks, for want of its address.
    return (struct event){page_argument(args),
                          (uint64_t)PAGE_BYTES << (ARGUMENT(1) & 31),
                          {.class_of = SEEP_KERNEL_PAGES, .call_site = ARGUMENT(2)}};
}

static __always_inline struct event read_percpu(const uint64_t *args) {
    struct event event = {.origin = {.class_of = SEEP_KERNEL_PERCPU, .call_site = ARGUMENT(0)}};
    event.key = (seep_percpu_has_site ? ARGUMENT(7) : ARGUMENT(6)) | 1;
    event.size = seep_percpu_has_site ? ARGUMENT(8) : ARGUMENT(2) * seep_nr_cpus;
    return event;
}

static __always_inline struct event read_area(const uint64_t *args) {
    return (struct event){ARGUMENT(5) ? 0 : ARGUMENT(0), ARGUMENT(1), {.class_of = SEEP_KERNEL_VMALLOC}};
}

ALLOCATION(kmalloc, "kmalloc", read_kmalloc)
ALLOCATION(kmalloc_node, "kmalloc_node", read_kmalloc) // gone in 6.1, as the other one
ALLOCATION(cache_alloc, "kmem_cache_alloc", read_cache)
ALLOCATION(cache_alloc_node, "kmem_cache_alloc_node", read_cache)
ALLOCATION(page_alloc, "mm_page_alloc", read_pages)
ALLOCATION(percpu_alloc, "percpu_alloc_percpu", read_percpu)
ALLOCATION(area_alloc, "alloc_vmap_area", read_area)

SEC("?tp_btf/free_vmap_area_noflush")
int seep_area_free(uint64_t *args) {
    forget(ARGUMENT(0), SEEP_KERNEL_FREES);
    return 0;
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
    forget(page_argument(args), SEEP_KERNEL_FREES);
    return 0;
}

SEC("tp_btf/mm_page_free_batched")
int seep_page_free_batched(uint64_t *args) {
    forget(page_argument(args), SEEP_KERNEL_FREES);
    return 0;
}

SEC("?tp_btf/percpu_free_percpu")
int seep_percpu_free(uint64_t *args) {
    forget(ARGUMENT(2) | 1, SEEP_KERNEL_FREES);
    return 0;
}

// ---- blocks whose slab is gone ----

// Some frees pass no tracepoint. Often the whole slab is freed soon after, and then its blocks are known
// to be free: their addresses are those of no slab, or of another cache's.

extern struct kmem_cache *bpf_get_kmem_cache(uint64_t address) __ksym __weak; // 6.13 and later

// What is larger may have pages of its own, not a slab.
#define SLAB_SIZE_MAX 4096u

static inline bool slab_is_gone(uint64_t key, const struct seep_kernel_block *block) {
    uint32_t number = block->site;
    const struct seep_kernel_site *site = bpf_map_lookup_elem(&seep_sites, &number);
    if (!number || !site || (site->class_of != SEEP_KERNEL_KMALLOC && site->class_of != SEEP_KERNEL_CACHE) ||
        block->size > SLAB_SIZE_MAX)
        return false;
    const struct kmem_cache *cache = bpf_get_kmem_cache(key);
    if (!cache)
        return true;
    uint64_t name = 0;
    bpf_probe_read_kernel(&name, sizeof(name), &cache->name);
    return site->cache_name && name && name != site->cache_name;
}

static long sweep_bucket(uint32_t i, struct seep_kernel_sweep *sweep) {
    uint32_t number = sweep->first_bucket + i;
    struct seep_kernel_bucket *bucket = bucket_at(number);
    if (!bucket)
        return 1;
    for (uint32_t place = 0; place < SEEP_KERNEL_BUCKET_BLOCKS; place++) {
        uint64_t key = bucket->keys[place];
        struct seep_kernel_block *block = key > SEEP_KERNEL_KEY_TAKEN ? block_at(number, place) : NULL;
        if (block && slab_is_gone(key, block))
            forget(key, SEEP_KERNEL_IMPLICIT);
    }
    return 0;
}

SEC("?syscall")
int seep_sweep(struct seep_kernel_sweep *arguments) {
    struct seep_kernel_sweep sweep = *arguments;
    bpf_loop(sweep.nr_buckets, sweep_bucket, &sweep, 0);
    return 0;
}
