// SPDX-License-Identifier: BSD-2-Clause
// Profiles of the kernel's heap, see profile_kernel.h.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "base/numbers.h"
#include "base/sum.h"
#include "base/words.h"
#include "process/elf_notes.h"
#include "source/kernel/profile_kernel.h"
#include "names/symbols.h"
#include "profile/verdict.h"

// ---- what a site is ----

static const char *const class_names[SEEP_KERNEL_CLASSES_NR] = {
    [SEEP_KERNEL_KMALLOC] = "kmalloc", [SEEP_KERNEL_CACHE] = "kmem_cache", [SEEP_KERNEL_PERCPU] = "percpu",
    [SEEP_KERNEL_PAGES] = "pages",     [SEEP_KERNEL_VMALLOC] = "vmalloc",
};

// The frames that there are, whatever was written in the map.
static uint32_t nr_frames(const struct seep_kernel_site *site) {
    return SEEP_MIN(site->nr_frames, SEEP_KERNEL_FRAMES_MAX);
}

static bool is_of_probe(const char *name) {
    static const char *const prefixes[] = {"bpf_prog_", "bpf_trace_run", "__bpf_trace_", "__traceiter_"};
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(prefixes); i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

// The innermost of them that are our own program and what called it: the tracepoint. Others' programs further
// out may allocate as well.
static uint32_t nr_own_frames(const struct seep_kernel_site *site, const struct seep_kallsyms *symbols) {
    uint32_t nr = 0;
    struct seep_kernel_function function;
    while (nr < nr_frames(site) && seep_kallsyms_find(symbols, site->frames[nr], &function) &&
           is_of_probe(function.name))
        nr++;
    return nr;
}

// ---- building ----

// A module, as long as it grows.
struct naming {
    const char *kernel_name; // "kernel", "ext4"; of the profile's arena
    uint64_t base;
    struct seep_symbol_name *names;
    size_t nr;
    size_t capacity;
    struct seep_map known; // offset of a function
};

struct building {
    const struct seep_kallsyms *symbols;
    const struct seep_kernel_caches *caches;
    uint32_t *threads; // by number of a process: index in the profile's threads
    struct seep_profile *profile;
    struct naming *modules; // beside profile->modules
    size_t modules_capacity;
    struct seep_module *profile_modules;
    size_t profile_modules_capacity;
    size_t nr_modules;
    struct seep_node *nodes;
    size_t nodes_capacity;
    size_t nr_nodes;
    struct seep_thread_site *thread_sites;
    size_t thread_sites_capacity;
    size_t nr_thread_sites;
    struct seep_map node_ids; // parent, module and offset, mixed
};

#define ALLOCATORS      1u // module of the innermost frames
#define ALLOCATOR_BYTES 16u
// The one stack of what is no longer outstanding.
#define GONE "freed since, or younger than what is shown"

static void building_deinit(struct building *building) {
    for (size_t i = 0; i < building->nr_modules; i++) {
        free(building->modules[i].names);
        seep_map_deinit(&building->modules[i].known);
    }
    free(building->modules);
    free(building->profile_modules);
    free(building->nodes);
    free(building->threads);
    free(building->thread_sites);
    seep_map_deinit(&building->node_ids);
}

// The build-id of a note file of sysfs, cut to `room` bytes; returns its bytes. 0: there is none.
static uint32_t read_build_id(const char *path, uint8_t *ret_id, uint32_t room) {
    uint8_t bytes[4096];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t nr = fd >= 0 ? read(fd, bytes, sizeof(bytes)) : 0;
    if (fd >= 0)
        close(fd);
    return nr > 0 ? seep_elf_notes_build_id(bytes, (uint64_t)nr, ret_id, room) : 0;
}

static struct seep_error *add_module(struct building *building, const char *kernel_name, uint64_t base,
                                     uint32_t *ret_id) {
    struct seep_arena *arena = &building->profile->arena;
    size_t id = building->nr_modules;
    char text[128];
    const char *name = seep_arena_strdup(arena, kernel_name);
    if (!name ||
        !seep_grow(&building->modules, &building->modules_capacity, id + 1, sizeof(*building->modules)) ||
        !seep_grow(&building->profile_modules, &building->profile_modules_capacity, id + 1,
                   sizeof(*building->profile_modules)))
        return seep_error_no_memory();
    building->modules[id] = (struct naming){.kernel_name = name, .base = base};
    struct seep_module *module = &building->profile_modules[id];
    *module = (struct seep_module){
        .path = name, .bias_rt = base, .start_rt = base, .end_rt = base, .unloaded_ns = -1};
    if (strcmp(kernel_name, "kernel") == 0)
        snprintf(text, sizeof(text), "/sys/kernel/notes");
    else
        snprintf(text, sizeof(text), "/sys/module/%s/notes/.note.gnu.build-id", kernel_name);
    if (!strchr(kernel_name, '/'))
        module->build_id_bytes = read_build_id(text, module->build_id, sizeof(module->build_id));
    building->nr_modules++;
    *ret_id = (uint32_t)id;
    return NULL;
}

static struct seep_error *find_module(struct building *building, const char *kernel_name, uint32_t *ret_id) {
    for (size_t i = ALLOCATORS + 1; i < building->nr_modules; i++)
        if (strcmp(building->modules[i].kernel_name, kernel_name) == 0) {
            *ret_id = (uint32_t)i;
            return NULL;
        }
    return add_module(building, kernel_name, seep_kallsyms_base(building->symbols, kernel_name), ret_id);
}

// Once for each function.
static struct seep_error *add_name(struct building *building, uint32_t module, uint64_t offset,
                                   uint64_t bytes, const char *name) {
    struct naming *naming = &building->modules[module];
    bool is_new;
    uint64_t *slot = seep_map_at(&naming->known, offset, &is_new);
    if (!slot)
        return seep_error_no_memory();
    if (!is_new || !bytes)
        return NULL;
    const char *copy = seep_arena_strdup(&building->profile->arena, name);
    if (!copy || !seep_grow(&naming->names, &naming->capacity, naming->nr + 1, sizeof(*naming->names)))
        return seep_error_no_memory();
    naming->names[naming->nr++] = (struct seep_symbol_name){offset, bytes, copy};
    return NULL;
}

static struct seep_error *add_node(struct building *building, const struct seep_node *node,
                                   uint32_t *ret_id) {
    uint64_t key = seep_hash64(node->offset ^
                               seep_hash64((uint64_t)node->parent << 32 | node->module << 2 | node->kind));
    for (;; key = seep_hash64(key + 1)) {
        bool is_new;
        uint64_t *slot = seep_map_at(&building->node_ids, key, &is_new);
        if (!slot)
            return seep_error_no_memory();
        const struct seep_node *other = &building->nodes[*slot];
        if (is_new) {
            if (!seep_grow(&building->nodes, &building->nodes_capacity, building->nr_nodes + 1,
                           sizeof(*building->nodes)))
                return seep_error_no_memory();
            *slot = building->nr_nodes;
            building->nodes[building->nr_nodes++] = *node;
        } else if (other->parent != node->parent || other->module != node->module ||
                   other->offset != node->offset || other->kind != node->kind) {
            continue;
        }
        *ret_id = (uint32_t)*slot;
        return NULL;
    }
}

static struct seep_error *add_frame(struct building *building, uint64_t address, uint32_t *node_id) {
    struct seep_node node = {.parent = *node_id, .offset = address};
    struct seep_kernel_function function;
    struct seep_error *err = NULL;
    // A return address: the call is before it.
    if (address && seep_kallsyms_find(building->symbols, address - 1, &function)) {
        uint32_t module;
        err = find_module(building, function.module, &module);
        if (err)
            return err;
        node.module = module;
        node.offset = address - building->modules[node.module].base;
        err =
            add_name(building, node.module, node.offset - 1 - function.offset, function.bytes, function.name);
    }
    return err ? err : add_node(building, &node, node_id);
}

// A frame that is a name, shown as `shown`.
static struct seep_error *add_leaf(struct building *building, uint32_t parent, const char *name,
                                   const char *shown, uint32_t *ret_node) {
    // The name is its own place: the same in each profile.
    uint64_t place = (seep_hash_bytes(name, strlen(name)) >> 8) * ALLOCATOR_BYTES;
    struct seep_node leaf = {.parent = parent, .module = ALLOCATORS, .offset = place, .exact = true};
    struct seep_error *err = add_name(building, ALLOCATORS, place, ALLOCATOR_BYTES, shown);
    return err ? err : add_node(building, &leaf, ret_node);
}

// The frame of the allocator. Other names of the cache are shown, and are no part of what it is: another
// machine merges caches in another way.
static struct seep_error *add_allocator(struct building *building, uint32_t parent,
                                        const struct seep_kernel_site *site, uint32_t *ret_node) {
    char cache[SEEP_KERNEL_CACHE_NAME_MAX], text[64];
    memcpy(cache, site->cache, sizeof(cache));
    cache[sizeof(cache) - 1] = 0;
    const char *name = site->class_of < SEEP_KERNEL_CLASSES_NR ? class_names[site->class_of] : NULL;
    snprintf(text, sizeof(text), "%s%s%s", name ? name : "not known", cache[0] ? " " : "", cache);
    const char *aliases = building->caches && cache[0]
                              ? seep_kernel_caches_aliases(building->caches, cache, &building->profile->arena)
                              : NULL;
    const char *shown =
        aliases ? seep_arena_printf(&building->profile->arena, "%s (also %s)", text, aliases) : text;
    return shown ? add_leaf(building, parent, text, shown, ret_node) : seep_error_no_memory();
}

static struct seep_error *add_stack(struct building *building, const struct seep_kernel_site *site,
                                    uint32_t *ret_node) {
    uint32_t node = 0;
    struct seep_error *err = NULL;
    uint32_t nr = site ? nr_frames(site) : 0;
    if (!nr || nr == SEEP_KERNEL_FRAMES_MAX) {
        uint64_t why = nr ? SEEP_CUT_DEPTH : SEEP_CUT_BAD_READ;
        building->profile->health.cut[why]++;
        err = add_node(building, &(struct seep_node){.kind = SEEP_NODE_CUT, .offset = why}, &node);
    }
    uint32_t own = nr ? nr_own_frames(site, building->symbols) : 0;
    for (uint32_t i = nr; i-- > own && !err;)
        err = add_frame(building, site->frames[i], &node);
    if (err || !site) {
        *ret_node = node;
        return err;
    }
    return add_allocator(building, node, site, ret_node);
}

// ---- the profile ----

static bool is_of(const struct seep_kernel_live_site *live, bool pages) {
    return (live->site && live->site->class_of == SEEP_KERNEL_PAGES) == pages;
}

static int compare_blocks(const void *left, const void *right) {
    const struct seep_block *a = left, *b = right;
    return (a->address > b->address) - (a->address < b->address);
}

// The processes that have live blocks, in the order of their numbers, after one for what is not known.
static struct seep_error *add_processes(struct building *building, const struct seep_kernel_heap *heap,
                                        bool pages) {
    struct seep_profile *profile = building->profile;
    size_t nr = SEEP_MAX(heap->nr_all_processes, (size_t)1);
    building->threads = calloc(nr, sizeof(*building->threads));
    if (!building->threads)
        return seep_error_no_memory();
    for (size_t i = 0; heap->blocks && i < heap->nr_sites; i++)
        for (size_t b = 0; is_of(&heap->sites[i], pages) && b < heap->sites[i].live_blocks; b++)
            building->threads[heap->blocks[heap->sites[i].first_block + b].process] = 1;
    building->threads[SEEP_KERNEL_PROCESS_UNKNOWN] = 1;
    uint32_t nr_threads = 0;
    for (size_t i = 0; i < nr; i++)
        nr_threads += building->threads[i];
    profile->threads = seep_arena_alloc(&profile->arena, nr_threads, sizeof(*profile->threads));
    if (!profile->threads)
        return seep_error_no_memory();
    for (size_t i = 0; i < nr; i++) {
        if (!building->threads[i])
            continue;
        building->threads[i] = profile->nr_threads;
        struct seep_thread *thread = &profile->threads[profile->nr_threads++];
        thread->nr_owners = 1;
        if (i == SEEP_KERNEL_PROCESS_INTERRUPT) {
            snprintf(thread->name, sizeof(thread->name), "[interrupt]");
        } else if (i >= SEEP_KERNEL_PROCESS_FIRST) {
            thread->tid = heap->all_processes[i].pid;
            memcpy(thread->name, heap->all_processes[i].name, SEEP_KERNEL_COMM_MAX);
        }
    }
    return NULL;
}

static struct seep_error *add_thread_site(struct building *building, uint32_t site, uint32_t thread,
                                          const struct seep_counters *counters, uint64_t slab_bytes) {
    size_t nr = building->nr_thread_sites;
    if (!seep_grow(&building->thread_sites, &building->thread_sites_capacity, nr + 1,
                   sizeof(*building->thread_sites)))
        return seep_error_no_memory();
    building->thread_sites[building->nr_thread_sites++] =
        (struct seep_thread_site){site, thread, *counters, slab_bytes};
    struct seep_thread *of = &building->profile->threads[thread];
    of->allocations += counters->allocations;
    of->allocated_bytes += counters->allocated_bytes;
    of->frees += counters->frees;
    of->freed_bytes += counters->freed_bytes;
    return NULL;
}

// One block after the other, of a process.
static void add_block(struct building *building, const struct seep_kernel_live_block *block, uint32_t site,
                      struct seep_thread_site *row) {
    struct seep_profile *profile = building->profile;
    profile->blocks[profile->nr_blocks++] =
        (struct seep_block){block->address, block->size, site, row->thread, block->age_ns};
    row->counters.allocations++;
    row->counters.allocated_bytes += block->size;
    row->counters.size_min = SEEP_MIN(row->counters.size_min, block->size);
    row->counters.size_max = SEEP_MAX(row->counters.size_max, block->size);
    row->slab_bytes += block->slab_bytes;
}

static struct seep_error *add_blocks(struct building *building, const struct seep_kernel_heap *heap,
                                     const struct seep_kernel_live_site *live, uint32_t site) {
    for (size_t b = 0; b < live->live_blocks;) {
        const struct seep_kernel_live_block *blocks = &heap->blocks[live->first_block];
        uint32_t process = blocks[b].process;
        struct seep_thread_site row = {.thread = building->threads[process], .counters.size_min = UINT64_MAX};
        for (; b < live->live_blocks && blocks[b].process == process; b++)
            add_block(building, &blocks[b], site, &row);
        struct seep_error *err = add_thread_site(building, site, row.thread, &row.counters, row.slab_bytes);
        if (err)
            return err;
    }
    return NULL;
}

static struct seep_error *add_sites(struct building *building, const struct seep_kernel_heap *heap,
                                    bool pages) {
    struct seep_profile *profile = building->profile;
    size_t nr_blocks = 0;
    for (size_t i = 0; i < heap->nr_sites; i++)
        nr_blocks += heap->blocks && is_of(&heap->sites[i], pages) ? heap->sites[i].live_blocks : 0;
    // One more for what is gone; [0] is never used.
    profile->sites = seep_arena_alloc(&profile->arena, heap->nr_sites + 2, sizeof(*profile->sites));
    profile->blocks = seep_arena_alloc(&profile->arena, nr_blocks, sizeof(*profile->blocks));
    if (!profile->sites || !profile->blocks)
        return seep_error_no_memory();
    profile->nr_sites = 1;
    for (size_t i = 0; i < heap->nr_sites; i++) {
        const struct seep_kernel_live_site *live = &heap->sites[i];
        if (!is_of(live, pages))
            continue;
        struct seep_site *site = &profile->sites[profile->nr_sites];
        site->via = SEEP_VIA_KERNEL;
        site->counters = (struct seep_counters){.allocations = live->live_blocks,
                                                .allocated_bytes = live->live_bytes,
                                                .peak_bytes = live->live_bytes,
                                                .size_min = heap->blocks ? live->size_min : UINT64_MAX,
                                                .size_max = live->size_max};
        struct seep_error *err = add_stack(building, live->site, &site->node);
        if (err)
            return err;
        err = heap->blocks
                  ? add_blocks(building, heap, live, profile->nr_sites)
                  : add_thread_site(building, profile->nr_sites, 0, &site->counters, live->live_slab_bytes);
        if (err)
            return err;
        profile->nr_sites++;
    }
    qsort(profile->blocks, profile->nr_blocks, sizeof(*profile->blocks), compare_blocks);
    return NULL;
}

// What was recorded and is no longer outstanding has a site of its own, so that the totals are those of all
// that was recorded.
static struct seep_error *add_gone(struct building *building, const struct seep_kernel_heap *heap,
                                   bool pages) {
    struct seep_profile *profile = building->profile;
    uint64_t nr = heap->counters[SEEP_KERNEL_PAGE_ALLOCATIONS];
    uint64_t bytes = heap->counters[SEEP_KERNEL_PAGE_ALLOCATED_BYTES];
    if (!pages) {
        nr = seep_above(heap->counters[SEEP_KERNEL_ALLOCATIONS], nr);
        bytes = seep_above(heap->counters[SEEP_KERNEL_ALLOCATED_BYTES], bytes);
    }
    for (uint32_t i = 1; i < profile->nr_sites; i++) {
        nr = seep_above(nr, profile->sites[i].counters.allocations);
        bytes = seep_above(bytes, profile->sites[i].counters.allocated_bytes);
    }
    if (!nr)
        return NULL;
    struct seep_site *site = &profile->sites[profile->nr_sites++];
    site->via = SEEP_VIA_KERNEL;
    site->counters = (struct seep_counters){.allocations = nr,
                                            .frees = nr,
                                            .allocated_bytes = bytes,
                                            .freed_bytes = bytes,
                                            .size_min = UINT64_MAX};
    struct seep_error *err = add_leaf(building, 0, GONE, GONE, &site->node);
    if (!err)
        err = add_thread_site(building, profile->nr_sites - 1, 0, &site->counters, 0);
    return err;
}

static int compare_names(const void *left, const void *right) {
    const struct seep_symbol_name *a = left, *b = right;
    return (a->offset > b->offset) - (a->offset < b->offset);
}

// What has grown goes to the profile's own memory.
static struct seep_error *keep(struct building *building) {
    struct seep_profile *profile = building->profile;
    struct seep_module *modules = seep_arena_alloc(&profile->arena, building->nr_modules, sizeof(*modules));
    struct seep_node *nodes = seep_arena_alloc(&profile->arena, building->nr_nodes, sizeof(*nodes));
    struct seep_thread_site *thread_sites =
        seep_arena_alloc(&profile->arena, building->nr_thread_sites, sizeof(*thread_sites));
    if (!modules || !nodes || !thread_sites)
        return seep_error_no_memory();
    if (building->nr_thread_sites)
        memcpy(thread_sites, building->thread_sites, building->nr_thread_sites * sizeof(*thread_sites));
    profile->thread_sites = thread_sites;
    profile->nr_thread_sites = building->nr_thread_sites;
    memcpy(modules, building->profile_modules, building->nr_modules * sizeof(*modules));
    memcpy(nodes, building->nodes, building->nr_nodes * sizeof(*nodes));
    for (size_t i = 1; i < building->nr_modules; i++) {
        struct naming *naming = &building->modules[i];
        struct seep_symbol_name *names = seep_arena_alloc(&profile->arena, naming->nr, sizeof(*names));
        if (!names)
            return seep_error_no_memory();
        if (!naming->nr)
            continue;
        qsort(naming->names, naming->nr, sizeof(*names), compare_names);
        memcpy(names, naming->names, naming->nr * sizeof(*names));
        modules[i].names = names;
        modules[i].nr_names = (uint32_t)naming->nr;
        modules[i].end_rt = modules[i].bias_rt + names[naming->nr - 1].offset + names[naming->nr - 1].bytes;
    }
    profile->modules = modules;
    profile->nr_modules = (uint32_t)building->nr_modules;
    profile->nodes = nodes;
    profile->nr_nodes = (uint32_t)building->nr_nodes;
    return NULL;
}

static struct seep_error *add_notes(struct seep_profile *profile, const struct seep_kernel_heap *heap,
                                    const struct seep_kernel_tracing *moment) {
    struct seep_error *err = seep_profile_note(profile, SEEP_NOTE_KERNEL_OUTSTANDING,
                                               "the kernel's memory: only what is outstanding has stacks; "
                                               "slabs are made of pages, so [kernel] and [kernel pages] "
                                               "overlap");
    if (!err && moment->sample > 1)
        err = seep_profile_note(profile, SEEP_NOTE_SAMPLED,
                                "about one allocation in %s was recorded, by chance: multiply",
                                seep_format_count(moment->sample).text);
    uint64_t implied = heap->counters[SEEP_KERNEL_IMPLICIT];
    if (!err && implied)
        err = seep_profile_note(profile, SEEP_NOTE_FREES_IMPLIED,
                                "%s free%s not seen, but by the address that was given out again, or the "
                                "slab that is gone",
                                seep_format_count(implied).text, implied == 1 ? " was" : "s were");
    uint64_t nameless = heap->counters[SEEP_KERNEL_LOST_PROCESSES];
    if (!err && nameless)
        err = seep_profile_note(profile, SEEP_NOTE_PROCESSES_LOST,
                                "%s allocation%s without %s process: there was no room for more "
                                "processes",
                                seep_format_count(nameless).text, nameless == 1 ? " counts" : "s count",
                                nameless == 1 ? "its" : "their");
    uint64_t lost = heap->counters[SEEP_KERNEL_LOST_BLOCKS];
    if (!err && lost)
        err = seep_profile_note(
            profile, SEEP_NOTE_BLOCKS_LOST,
            "calls in no figure: %s allocation%s found no room (give a higher --max-blocks)",
            seep_format_count(lost).text, seep_plural(lost));
    if (!err && heap->missed)
        err = seep_profile_note(profile, SEEP_NOTE_BLOCKS_LOST,
                                "calls in no figure: %s came while a program of seep ran on the same CPU",
                                seep_format_count(heap->missed).text);
    return err;
}

static struct seep_error *fill(struct building *building, const struct seep_kernel_heap *heap,
                               const struct seep_kernel_tracing *moment, bool pages) {
    struct seep_profile *profile = building->profile;
    profile->process = (struct seep_process){
        .exe = pages ? "[kernel pages]" : "[kernel]",
        .start_realtime_ns = moment->start_ns,
        .duration_ns = moment->duration_ns,
        .exit_kind = SEEP_EXIT_RUNNING,
        .is_main = !pages,
        .platform = seep_platform_here(),
    };
    profile->health.state = SEEP_STATE_LIVE;
    profile->health.depth_limit = SEEP_KERNEL_FRAMES_MAX;
    if (!pages)
        profile->health.lost[SEEP_LOST_NO_SITE] =
            heap->counters[SEEP_KERNEL_LOST_STACKS] + heap->counters[SEEP_KERNEL_LOST_NESTED];
    uint32_t id;
    struct seep_error *err = add_module(building, "no module", 0, &id);
    if (!err)
        err = add_module(building, SEEP_KERNEL_ALLOCATORS, 0, &id);
    if (!err && !seep_grow(&building->nodes, &building->nodes_capacity, 1, sizeof(*building->nodes)))
        err = seep_error_no_memory();
    if (err)
        return err;
    building->nr_nodes = 1;
    building->profile_modules[0] = profile->modules[0];
    err = add_processes(building, heap, pages);
    if (!err)
        err = add_sites(building, heap, pages);
    if (!err)
        err = add_gone(building, heap, pages);
    if (!err)
        err = keep(building);
    // The losses are of the kernel as a whole: they stand once.
    if (!err && !pages)
        err = add_notes(profile, heap, moment);
    if (err)
        return err;
    seep_profile_derive(profile);
    profile->totals.peak_bytes = profile->totals.live_bytes;
    return NULL;
}

struct seep_error *seep_session_from_kernel(const struct seep_kernel_heap *heap,
                                            const struct seep_kallsyms *symbols,
                                            const struct seep_kernel_tracing *moment,
                                            struct seep_session **ret_session) {
    struct seep_session *session;
    struct seep_error *err = seep_session_create(&session);
    if (err)
        return err;
    for (int pages = 0; pages < 2 && !err; pages++) {
        struct building building = {.symbols = symbols, .caches = moment->caches};
        err = seep_profile_create(&building.profile);
        if (!err) {
            err = fill(&building, heap, moment, pages);
            if (err)
                seep_profile_destroy(building.profile);
            else
                err = seep_session_add(session, building.profile);
        }
        building_deinit(&building);
    }
    if (err)
        seep_session_destroy(session);
    else
        *ret_session = session;
    return err;
}
