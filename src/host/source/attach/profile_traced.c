// SPDX-License-Identifier: BSD-2-Clause
// Copies what a trace keeps of a process into a profile, see profile_traced.h. Ids stay the same, so what
// refers to what needs no check.
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "image/sample.h"
#include "source/image/profile_image.h"
#include "source/attach/profile_traced.h"

struct copying {
    const struct seep_traced_process *from;
    struct seep_profile *profile;
};

static struct seep_error *copy_process(const struct copying *copying) {
    const struct seep_traced_process *from = copying->from;
    struct seep_process *process = &copying->profile->process;
    process->pid = (uint32_t)from->heap.pid;
    process->ppid = from->ppid;
    process->forked_from = from->forked_from;
    process->exe = seep_arena_strdup(&copying->profile->arena, from->exe);
    const char **args = seep_arena_alloc(&copying->profile->arena, from->nr_args, sizeof(*args));
    if (!process->exe || !args)
        return seep_error_no_memory();
    for (uint32_t i = 0; i < from->nr_args; i++)
        if (!(args[i] = seep_arena_strdup(&copying->profile->arena, from->args[i])))
            return seep_error_no_memory();
    process->args = args;
    process->nr_args = process->nr_args_all = from->nr_args;
    process->start_realtime_ns = from->start_realtime_ns;
    process->duration_ns = SEEP_MAX(from->duration_ns - from->begun_ns, (int64_t)0);
    process->platform = seep_platform_here();
    process->exit_kind = from->execed ? SEEP_EXIT_EXEC : from->ended ? SEEP_EXIT_UNKNOWN : SEEP_EXIT_RUNNING;
    if (from->has_status && !from->execed) {
        bool killed = WIFSIGNALED(from->wait_status);
        process->exit_kind = killed ? SEEP_EXIT_SIGNAL : SEEP_EXIT_CODE;
        process->exit_value = killed ? WTERMSIG(from->wait_status) : WEXITSTATUS(from->wait_status);
    }
    struct seep_error *err = NULL;
    for (size_t i = 0; i < from->nr_notes && !err; i++)
        err = seep_profile_note(copying->profile, from->notes[i].code, "%s", from->notes[i].text);
    return err;
}

static struct seep_error *copy_modules(const struct copying *copying) {
    const struct seep_traced_heap *heap = &copying->from->heap;
    struct seep_profile *profile = copying->profile;
    struct seep_module *modules = seep_arena_alloc(&profile->arena, heap->nr_modules, sizeof(*modules));
    if (!modules)
        return seep_error_no_memory();
    modules[0] = profile->modules[0];
    for (size_t i = 1; i < heap->nr_modules; i++) {
        const struct seep_traced_module *from = &heap->modules[i];
        modules[i] = (struct seep_module){
            .path = seep_arena_strdup(&profile->arena, from->path),
            .bias_rt = from->bias_rt,
            .start_rt = from->start_rt,
            .end_rt = from->end_rt,
            .first_seen_ns = from->first_seen_ns,
            .unloaded_ns = from->unloaded_ns,
            .build_id_bytes = from->build_id_bytes,
        };
        memcpy(modules[i].build_id, from->build_id, sizeof(modules[i].build_id));
        if (!modules[i].path)
            return seep_error_no_memory();
    }
    profile->modules = modules;
    profile->nr_modules = (uint32_t)heap->nr_modules;
    return NULL;
}

static struct seep_error *copy_nodes(const struct copying *copying) {
    const struct seep_traced_heap *heap = &copying->from->heap;
    struct seep_profile *profile = copying->profile;
    struct seep_node *nodes = seep_arena_alloc(&profile->arena, heap->nr_nodes, sizeof(*nodes));
    if (!nodes)
        return seep_error_no_memory();
    for (size_t i = 1; i < heap->nr_nodes; i++) {
        const struct seep_traced_node *from = &heap->nodes[i];
        nodes[i].parent = from->parent;
        if (!from->frame) {
            nodes[i].kind = SEEP_NODE_CUT;
            nodes[i].offset = from->cut;
            continue;
        }
        uint64_t frame = heap->frames[from->frame - 1];
        nodes[i].module = SEEP_FRAME_MODULE(frame);
        nodes[i].offset = SEEP_FRAME_OFFSET(frame);
        nodes[i].exact = SEEP_FRAME_EXACT(frame);
    }
    profile->nodes = nodes;
    profile->nr_nodes = (uint32_t)heap->nr_nodes;
    return NULL;
}

// Samples stand for parts of allocations.
static uint64_t number_of(const struct copying *copying, uint64_t sum) {
    if (!copying->from->heap.is_sampled)
        return sum;
    return (sum >> SEEP_WEIGHT_SHIFT) + (sum >> (SEEP_WEIGHT_SHIFT - 1) & 1);
}

static struct seep_counters copy_counters(const struct copying *copying,
                                          const struct seep_traced_counters *from) {
    return (struct seep_counters){
        .allocations = number_of(copying, from->allocations),
        .allocated_bytes = from->allocated_bytes,
        .frees = number_of(copying, from->frees),
        .freed_bytes = from->freed_bytes,
        .temporary = number_of(copying, from->temporary),
        .peak_bytes = from->peak_bytes,
        .size_min = from->size_min,
        .size_max = from->size_max,
    };
}

// The outermost node of a stack says whether it is cut.
static uint32_t cut_of(const struct seep_profile *profile, uint32_t node) {
    while (node && profile->nodes[node].parent)
        node = profile->nodes[node].parent;
    return node && profile->nodes[node].kind == SEEP_NODE_CUT ? (uint32_t)profile->nodes[node].offset
                                                              : SEEP_CUT_NR;
}

static struct seep_error *copy_sites(const struct copying *copying) {
    const struct seep_traced_heap *heap = &copying->from->heap;
    struct seep_profile *profile = copying->profile;
    struct seep_site *sites = seep_arena_alloc(&profile->arena, heap->nr_sites, sizeof(*sites));
    struct seep_thread_site *thread_sites =
        seep_arena_alloc(&profile->arena, heap->nr_thread_sites, sizeof(*thread_sites));
    if (!sites || !thread_sites)
        return seep_error_no_memory();
    for (size_t i = 0; i < heap->nr_sites; i++) {
        const struct seep_traced_site *from = &heap->sites[i];
        sites[i].node = from->node;
        sites[i].via = from->via;
        sites[i].counters = copy_counters(copying, &from->counters);
        uint32_t cut = cut_of(profile, from->node);
        if (cut < SEEP_CUT_NR && (from->counters.allocations || from->via >= SEEP_VIA_HEAP_NR))
            profile->health.cut[cut]++;
    }
    for (size_t i = 0; i < heap->nr_thread_sites; i++) {
        const struct seep_traced_thread_site *from = &heap->thread_sites[i];
        thread_sites[i] =
            (struct seep_thread_site){from->site, from->thread, copy_counters(copying, &from->counters)};
    }
    profile->sites = sites;
    profile->nr_sites = (uint32_t)heap->nr_sites;
    profile->thread_sites = thread_sites;
    profile->nr_thread_sites = heap->nr_thread_sites;
    return NULL;
}

static struct seep_error *copy_threads(const struct copying *copying) {
    const struct seep_traced_heap *heap = &copying->from->heap;
    struct seep_profile *profile = copying->profile;
    profile->threads = seep_arena_alloc(&profile->arena, heap->nr_threads, sizeof(*profile->threads));
    if (!profile->threads)
        return seep_error_no_memory();
    for (size_t i = 0; i < heap->nr_threads; i++) {
        const struct seep_traced_thread *from = &heap->threads[i];
        struct seep_thread *thread = &profile->threads[i];
        thread->tid = from->tid;
        thread->nr_owners = 1;
        memcpy(thread->name, from->name, sizeof(thread->name));
        thread->allocations = number_of(copying, from->allocations);
        thread->allocated_bytes = from->allocated_bytes;
        thread->frees = number_of(copying, from->frees);
        thread->freed_bytes = from->freed_bytes;
    }
    profile->nr_threads = (uint32_t)heap->nr_threads;
    return NULL;
}

static int compare_blocks(const void *left, const void *right) {
    const struct seep_block *a = left;
    const struct seep_block *b = right;
    return (a->address > b->address) - (a->address < b->address);
}

static struct seep_error *copy_blocks(const struct copying *copying) {
    const struct seep_block_table *table = &copying->from->heap.blocks;
    struct seep_profile *profile = copying->profile;
    profile->blocks = seep_arena_alloc(&profile->arena, table->nr_used, sizeof(*profile->blocks));
    if (!profile->blocks)
        return seep_error_no_memory();
    for (size_t i = 0; i < table->nr_slots; i++) {
        const struct seep_traced_block *from = &table->slots[i];
        if (from->address)
            profile->blocks[profile->nr_blocks++] =
                (struct seep_block){from->address, from->size, from->site, from->thread,
                                    SEEP_MAX(copying->from->duration_ns - from->born_ns, (int64_t)0)};
    }
    qsort(profile->blocks, profile->nr_blocks, sizeof(*profile->blocks), compare_blocks);
    return NULL;
}

static struct seep_map_counts copy_map_counts(const struct seep_traced_map_counts *from) {
    return (struct seep_map_counts){.maps = from->maps,
                                    .mapped_bytes = from->mapped_bytes,
                                    .unmaps = from->unmaps,
                                    .unmapped_bytes = from->unmapped_bytes,
                                    .peak_bytes = from->peak_bytes};
}

static int compare_map_sites(const void *left, const void *right) {
    const struct seep_map_site *a = left, *b = right;
    return (a->site > b->site) - (a->site < b->site);
}

static struct seep_error *copy_mappings(const struct copying *copying) {
    const struct seep_traced_heap *heap = &copying->from->heap;
    struct seep_profile *profile = copying->profile;
    profile->map_sites = seep_arena_alloc(&profile->arena, heap->nr_map_sites, sizeof(*profile->map_sites));
    profile->mappings = seep_arena_alloc(&profile->arena, heap->nr_mappings, sizeof(*profile->mappings));
    if (!profile->map_sites || !profile->mappings)
        return seep_error_no_memory();
    profile->map_totals = copy_map_counts(&heap->map_totals);
    for (size_t i = 0; i < heap->nr_map_sites; i++)
        profile->map_sites[i] = (struct seep_map_site){.site = heap->map_sites[i].site,
                                                       .counts = copy_map_counts(&heap->map_sites[i].counts)};
    profile->nr_map_sites = (uint32_t)heap->nr_map_sites;
    if (profile->nr_map_sites)
        qsort(profile->map_sites, profile->nr_map_sites, sizeof(*profile->map_sites), compare_map_sites);
    for (size_t i = 0; i < heap->nr_mappings; i++) {
        const struct seep_traced_mapping *from = &heap->mappings[i];
        profile->mappings[i] =
            (struct seep_mapped){from->start, from->bytes, from->site, from->kind,
                                 SEEP_MAX(copying->from->duration_ns - from->born_ns, (int64_t)0)};
    }
    profile->nr_mappings = (uint32_t)heap->nr_mappings;
    return NULL;
}

static int compare_thread_sites(const void *left, const void *right) {
    const struct seep_thread_site *a = left;
    const struct seep_thread_site *b = right;
    if (a->site != b->site)
        return a->site < b->site ? -1 : 1;
    return (a->thread > b->thread) - (a->thread < b->thread);
}

// The program does not say how far its samples are apart. A small one stands for about that many bytes, and
// none for less but one that is bigger than that.
static uint64_t sample_bytes_of(const struct seep_traced_heap *heap) {
    if (!heap->is_sampled)
        return 0;
    return heap->least_weight ? UINT64_C(1) << (63 - __builtin_clzll(heap->least_weight)) : 1;
}

static void copy_totals(const struct copying *copying) {
    const struct seep_traced_heap *heap = &copying->from->heap;
    struct seep_profile *profile = copying->profile;
    struct seep_totals *totals = &profile->totals;
    qsort(profile->thread_sites, profile->nr_thread_sites, sizeof(*profile->thread_sites),
          compare_thread_sites);
    memcpy(profile->health.lost, heap->lost, sizeof(profile->health.lost));
    profile->health.state = SEEP_STATE_LIVE;
    profile->health.flags |= copying->from->forked_from ? SEEP_FLAG_FORKED : 0;
    profile->health.depth_limit = 1023;
    totals->failed = heap->failed;
    totals->unknown_frees = heap->unknown_frees;
    memcpy(totals->releases, heap->releases, sizeof(totals->releases));
    for (size_t i = 0; i < SEEP_IMAGE_SIZE_CLASSES; i++)
        totals->size_class[i] = number_of(copying, heap->size_class[i]);
    profile->health.sample_bytes = sample_bytes_of(heap);
    seep_profile_derive(profile);
    totals->peak_bytes = heap->peak_bytes;
    totals->peak_exact = !heap->is_sampled;
}

static struct seep_error *make_profile(const struct seep_traced_process *from,
                                       struct seep_profile **ret_profile) {
    static struct seep_error *(*const steps[])(const struct copying *) = {
        copy_process, copy_modules, copy_nodes, copy_sites, copy_threads, copy_blocks, copy_mappings,
    };
    struct copying copying = {.from = from};
    struct seep_error *err = seep_profile_create(&copying.profile);
    if (err)
        return err;
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(steps) && !err; i++)
        err = steps[i](&copying);
    if (err) {
        seep_profile_destroy(copying.profile);
        return err;
    }
    copy_totals(&copying);
    *ret_profile = copying.profile;
    return NULL;
}

static bool has_calls(const struct seep_traced_heap *heap) {
    return heap->nr_thread_sites || heap->nr_map_sites || heap->unknown_frees || heap->failed;
}

// Blocks that a thread has given to realloc are in no table meanwhile.
static struct seep_error *copy_moving(const struct seep_traced_heap *heap, struct seep_profile *profile) {
    struct seep_moving *moving = seep_arena_alloc(&profile->arena, heap->nr_threads, sizeof(*moving));
    if (!moving)
        return seep_error_no_memory();
    for (size_t i = 0; i < heap->nr_threads; i++) {
        const struct seep_traced_block *block = &heap->threads[i].resizing;
        if (block->address)
            moving[profile->hints.nr_moving++] =
                (struct seep_moving){block->address, block->size, heap->threads[i].tid, 0};
    }
    profile->hints.moving = moving;
    return NULL;
}

struct seep_error *seep_profile_from_trace(const struct seep_heap_trace *trace, size_t index,
                                           struct seep_profile **ret_profile) {
    struct seep_traced_process *const *processes;
    struct seep_profile *profile;
    seep_heap_trace_processes(trace, &processes);
    struct seep_error *err = make_profile(processes[index], &profile);
    if (err)
        return err;
    profile->process.is_main = index == 0;
    err = seep_heap_trace_notes(trace, profile);
    if (!err)
        err = copy_moving(&processes[index]->heap, profile);
    if (err)
        seep_profile_destroy(profile);
    else
        *ret_profile = profile;
    return err;
}

struct seep_error *seep_session_from_trace(const struct seep_heap_trace *trace,
                                           struct seep_session **ret_session) {
    struct seep_session *session;
    struct seep_error *err = seep_session_create(&session);
    if (err)
        return err;
    struct seep_traced_process *const *processes;
    size_t nr = seep_heap_trace_processes(trace, &processes);
    for (size_t i = 0; i < nr && !err; i++) {
        struct seep_profile *profile = NULL;
        // Of hundreds most do nothing.
        if (i > 0 && seep_heap_trace_is_open(trace) && !has_calls(&processes[i]->heap))
            continue;
        err = make_profile(processes[i], &profile);
        if (!err) {
            profile->process.is_main = i == 0;
            err = i == 0 ? seep_heap_trace_notes(trace, profile) : NULL;
            if (err)
                seep_profile_destroy(profile);
            else
                err = seep_session_add(session, profile);
        }
    }
    if (err) {
        seep_session_destroy(session);
        return err;
    }
    *ret_session = session;
    return NULL;
}
