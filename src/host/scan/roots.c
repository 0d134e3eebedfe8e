// SPDX-License-Identifier: BSD-2-Clause
// Which memory is a root, see roots.h. Everything here runs while the process is stopped.
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "scan/cached_stacks.h"
#include "scan/heap_areas.h"
#include "scan/roots.h"

#define HEADERS_MAX     64
#define TLS_MODULES_MAX 65536
// A thread inside realloc has the new place of the block in a register or this near to its stack
// pointer: allocators are shallow, but a signal handler may be at work on top.
#define REALLOC_STACK_BYTES ((uint64_t)64 << 10)
#define REALLOC_PLACES_MAX  256
#define REALLOC_UNKNOWN_MAX ((uint64_t)1 << 20) // of a block whose size is not known

struct finder {
    struct seep_memory *memory;
    const struct seep_stopped *stopped;
    const struct seep_profile *profile;
    enum seep_roots which;
    struct seep_graph *graph;
    struct seep_root_ranges *ranges;
    struct seep_cached_stacks cached;
    struct seep_spans arenas; // settled
    struct seep_spans excluded;
    uint32_t range; // that is being fed

    // The module of the latest file mapping, since its zeroed data follows without a name.
    const char *path; // NULL: none
    uint32_t module;
    uint64_t data_end;
};

void seep_root_ranges_deinit(struct seep_root_ranges *ranges) {
    free(ranges->items);
    free(ranges->modules);
    *ranges = (struct seep_root_ranges){NULL};
}

static bool add_range(struct finder *finder, struct seep_root_range range) {
    struct seep_root_ranges *ranges = finder->ranges;
    if (!seep_grow(&ranges->items, &ranges->capacity, ranges->nr_items + 1, sizeof(*ranges->items)))
        return false;
    finder->range = (uint32_t)ranges->nr_items;
    ranges->items[ranges->nr_items++] = range;
    return true;
}

static bool take_piece(void *data, uint64_t address, const void *bytes, size_t nr_bytes) {
    struct finder *finder = data;
    return seep_graph_feed_root(finder->graph, finder->range, address, bytes, nr_bytes);
}

// The range without what is excluded (settled).
static bool feed_range(struct finder *finder, struct seep_root_range range) {
    if (range.start >= range.end)
        return true;
    if (!add_range(finder, range))
        return false;
    const struct seep_spans *spans = &finder->excluded;
    uint64_t at = range.start;
    for (size_t i = 0; i < spans->nr_items && at < range.end; i++) {
        if (spans->items[i].end <= at)
            continue;
        uint64_t stop = SEEP_MIN(SEEP_MAX(spans->items[i].start, at), range.end) & ~UINT64_C(7);
        if (at < stop && !seep_memory_walk(finder->memory, at, stop, take_piece, finder))
            return false;
        at = (spans->items[i].end + 7) & ~UINT64_C(7);
    }
    return at >= range.end || seep_memory_walk(finder->memory, at, range.end, take_piece, finder);
}

// ---- modules ----

// The build-id among the notes of a segment, as far as there is one.
// Source: the Linux ELF note format; NT_GNU_BUILD_ID of GNU ld.
static void read_build_id(const struct seep_memory *memory, uint64_t address, uint64_t nr_bytes,
                          struct seep_module *module) {
    unsigned char notes[1024];
    size_t nr = (size_t)SEEP_MIN(nr_bytes, sizeof(notes));
    if (!seep_memory_read(memory, address, notes, nr))
        return;
    for (size_t at = 0; at + sizeof(Elf64_Nhdr) <= nr;) {
        Elf64_Nhdr note;
        memcpy(&note, notes + at, sizeof(note));
        size_t name = at + sizeof(note);
        uint64_t id = name + (((uint64_t)note.n_namesz + 3) & ~UINT64_C(3));
        uint64_t next = id + (((uint64_t)note.n_descsz + 3) & ~UINT64_C(3));
        if (next > nr)
            return;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(notes + name, "GNU", 4) == 0 &&
            note.n_descsz <= sizeof(module->build_id)) {
            module->build_id_bytes = note.n_descsz;
            memcpy(module->build_id, notes + id, note.n_descsz);
            return;
        }
        at = (size_t)next;
    }
}

// The module whose file begins at `start`: bias, ends, build-id.
static bool read_module(const struct seep_memory *memory, uint64_t start, struct seep_module *ret_module) {
    Elf64_Ehdr header;
    if (!seep_memory_read(memory, start, &header, sizeof(header)) ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum > HEADERS_MAX)
        return false;
    Elf64_Phdr segments[HEADERS_MAX];
    if (!seep_memory_read(memory, start + header.e_phoff, segments, header.e_phnum * sizeof(*segments)))
        return false;
    bool any = false;
    uint64_t end = 0;
    *ret_module = (struct seep_module){.start_rt = start, .unloaded_ns = -1};
    for (size_t i = 0; i < header.e_phnum; i++) {
        if (segments[i].p_type != PT_LOAD)
            continue;
        if (!any)
            ret_module->bias_rt = start - (segments[i].p_vaddr & ~(uint64_t)4095);
        any = true;
        end = SEEP_MAX(end, segments[i].p_vaddr + segments[i].p_memsz);
    }
    ret_module->end_rt = ret_module->bias_rt + end;
    for (size_t i = 0; any && i < header.e_phnum; i++)
        if (segments[i].p_type == PT_NOTE && !ret_module->build_id_bytes)
            read_build_id(memory, ret_module->bias_rt + segments[i].p_vaddr, segments[i].p_filesz,
                          ret_module);
    return any;
}

// Not a file that was mapped to be read, as by who looks for debug information: a loader maps code, or data
// of another part of the file.
static bool is_loaded(const struct seep_memory *memory, const struct seep_memory_area *first,
                      const struct seep_module *module) {
    const struct seep_memory_area *end = memory->mappings + memory->nr_mappings;
    for (const struct seep_memory_area *mapping = first; mapping < end; mapping++) {
        bool same = strcmp(mapping->path, first->path) == 0;
        if (mapping->start >= module->end_rt || (*mapping->path && !same))
            break;
        if (same && (mapping->executable || (mapping->writable && !mapping->shared && mapping->file_off)))
            return true;
        if (mapping != first && same && !mapping->file_off)
            break; // mapped once more
    }
    return false;
}

// false: out of memory.
static bool enter_file(struct finder *finder, const struct seep_memory_area *mapping) {
    struct seep_root_ranges *ranges = finder->ranges;
    struct seep_root_module found = {.id = 0};
    if (mapping->shared || mapping->path[0] != '/' || mapping->file_off != 0 ||
        (finder->path && strcmp(finder->path, mapping->path) == 0) ||
        !read_module(finder->memory, mapping->start, &found.module) ||
        !is_loaded(finder->memory, mapping, &found.module))
        return true;
    found.module.path = finder->path = mapping->path;
    finder->data_end = (found.module.end_rt + 4095) & ~UINT64_C(4095);
    for (finder->module = 0; finder->module < ranges->nr_modules; finder->module++)
        if (ranges->modules[finder->module].module.start_rt == mapping->start)
            return true;
    if (!seep_grow(&ranges->modules, &ranges->modules_capacity, ranges->nr_modules + 1,
                   sizeof(*ranges->modules)))
        return false;
    ranges->modules[ranges->nr_modules++] = found;
    return true;
}

static bool is_of_module(const struct finder *finder, const struct seep_memory_area *mapping) {
    if (!finder->path || mapping->start >= finder->data_end || mapping->shared)
        return false;
    return !*mapping->path || strcmp(mapping->path, finder->path) == 0;
}

// ---- what is no root ----

static uint32_t first_block(const struct seep_graph *graph, uint64_t address) {
    return seep_block_index_from(&graph->index, address);
}

// Whether memory that no file lies behind is an allocator's. Chunks of glibc that have a mapping of
// their own may have been joined with others by the kernel: they are excluded exactly.
static bool is_of_allocator(struct finder *finder, const struct seep_memory_area *mapping, bool *ret_is) {
    const struct seep_graph *graph = finder->graph;
    uint32_t i = first_block(graph, mapping->start);
    *ret_is = false;
    while (i < graph->nr_blocks && graph->blocks[i].address < mapping->end) {
        const struct seep_span *arena = seep_spans_find(&finder->arenas, graph->blocks[i].address);
        if (arena) {
            i = first_block(graph, arena->end);
            continue;
        }
        bool is_chunk = false;
        if (strcmp(mapping->path, "[heap]") != 0 &&
            !seep_heap_areas_chunk(finder->memory, graph->blocks[i].address, &finder->excluded, &is_chunk))
            return false;
        if (!is_chunk) {
            *ret_is = true;
            return true;
        }
        i++;
    }
    return true;
}

// What was written may have been sealed since. Files are not looked at when they cannot be written: what
// the loader seals of a module has no addresses of blocks.
static bool may_hold(const struct seep_memory_area *mapping) {
    return mapping->readable && (mapping->writable || (!*mapping->path && !mapping->executable));
}

static bool is_device(const struct seep_memory_area *mapping) {
    return strncmp(mapping->path, "/dev/", 5) == 0 && strncmp(mapping->path, "/dev/zero", 9) != 0 &&
           strncmp(mapping->path, "/dev/shm/", 9) != 0;
}

// Stack that is not in use any more, where a mapping is the stack of one thread and nothing else.
static bool exclude_unused_stack(struct finder *finder) {
    const struct seep_stopped *stopped = finder->stopped;
    for (size_t i = 0; i < stopped->nr_threads; i++) {
        const struct seep_stopped_thread *thread = &stopped->threads[i];
        const struct seep_memory_area *mapping = seep_memory_find(finder->memory, thread->sp);
        if (!mapping)
            continue;
        bool own = strncmp(mapping->path, "[stack", 6) == 0 ||
                   (thread->tls >= mapping->start && thread->tls < mapping->end && thread->tls > thread->sp);
        uint32_t in_block;
        uint64_t off;
        own = own && !seep_graph_find(finder->graph, thread->sp, &in_block, &off);
        for (size_t j = 0; own && j < stopped->nr_threads; j++) {
            const struct seep_stopped_thread *other = &stopped->threads[j];
            own = i == j || ((other->sp < mapping->start || other->sp >= mapping->end) &&
                             (other->tls < mapping->start || other->tls >= mapping->end));
        }
        if (own && !seep_spans_add(&finder->excluded, mapping->start, thread->stack_from_rt))
            return false;
    }
    return true;
}

// Blocks in data of modules or on stacks (a pool that the program gave to an allocator).
static bool exclude_blocks_in(struct finder *finder, const struct seep_memory_area *mapping) {
    const struct seep_graph *graph = finder->graph;
    for (uint32_t i = first_block(graph, mapping->start);
         i < graph->nr_blocks && graph->blocks[i].address < mapping->end; i++)
        if (!seep_spans_add(&finder->excluded, graph->blocks[i].address,
                            graph->blocks[i].address + graph->blocks[i].size))
            return false;
    return true;
}

static bool is_of_file(const struct seep_memory *memory, uint64_t address) {
    const struct seep_memory_area *mapping = seep_memory_find(memory, address);
    return mapping && mapping->path[0] == '/';
}

static bool exclude(struct finder *finder) {
    struct seep_memory *memory = finder->memory;
    if (!seep_heap_areas_find(memory, &finder->arenas))
        return false;
    seep_spans_settle(&finder->arenas);
    if (!seep_cached_stacks_find(memory, finder->stopped, &finder->cached))
        return false;
    for (size_t i = 0; i < finder->cached.nr_items; i++)
        if (!seep_spans_add(&finder->excluded, finder->cached.items[i].start, finder->cached.items[i].end))
            return false;
    // The main arena's own words, in the data of libc, lead to free chunks only.
    bool all_known = finder->which != SEEP_ROOTS_HEAP;
    for (size_t i = 0; i < finder->arenas.nr_items; i++)
        if ((all_known || is_of_file(memory, finder->arenas.items[i].start)) &&
            !seep_spans_add(&finder->excluded, finder->arenas.items[i].start, finder->arenas.items[i].end))
            return false;
    for (size_t i = 0; i < memory->nr_mappings; i++) {
        const struct seep_memory_area *mapping = &memory->mappings[i];
        if (!may_hold(mapping))
            continue;
        bool none = mapping->of_seep || is_device(mapping);
        bool anonymous = !*mapping->path || strcmp(mapping->path, "[heap]") == 0;
        if (!none && anonymous && all_known && !is_of_allocator(finder, mapping, &none))
            return false;
        if (!none && (!anonymous || !all_known) && !exclude_blocks_in(finder, mapping))
            return false;
        if (none && !seep_spans_add(&finder->excluded, mapping->start, mapping->end))
            return false;
    }
    if (!exclude_unused_stack(finder))
        return false;
    seep_spans_settle(&finder->excluded);
    return true;
}

// ---- what is one ----

// The thread control block has the address of the vector of thread-local storage (16 bytes into its
// block), and that the storage of each module. Source: ELF Handling For Thread-Local Storage; dtv_t of
// glibc (address, and what to free).
struct tls_vector {
    uint64_t where; // its address is stored there
    uint64_t start;
    uint64_t nr; // modules: elements 1 to nr
};

static bool tls_vector_of(struct seep_memory *memory, uint64_t tls, struct tls_vector *ret) {
#if defined(__x86_64__)
    ret->where = tls + 8;
#else
    ret->where = tls;
#endif
    if (!tls || !seep_memory_read(memory, ret->where, &ret->start, sizeof(ret->start)) || ret->start < 16 ||
        !seep_memory_read(memory, ret->start - 16, &ret->nr, sizeof(ret->nr)))
        return false;
    return ret->nr <= TLS_MODULES_MAX;
}

// glibc puts the storage of the modules that were there first and the control block, with the values of
// pthread_setspecific, at the top of the stack's mapping. Where that begins; what it cannot read, ends.
static uint64_t static_tls_start(struct seep_memory *memory, const struct seep_stopped_thread *thread) {
    struct tls_vector vector;
    uint64_t start = thread->tls & ~UINT64_C(7);
    if (!tls_vector_of(memory, thread->tls, &vector))
        return start;
    for (uint64_t i = 1; i <= vector.nr; i++) {
        uint64_t storage;
        if (!seep_memory_read(memory, vector.start + 16 * i, &storage, sizeof(storage)))
            break;
        if (storage > thread->sp && storage < start)
            start = storage & ~UINT64_C(7);
    }
    return start;
}

// The thread whose stack the mapping is. *ret_end: where that ends.
static pid_t stack_of(const struct finder *finder, const struct seep_memory_area *mapping,
                      uint64_t *ret_end) {
    *ret_end = mapping->end;
    for (size_t i = 0; i < finder->stopped->nr_threads; i++) {
        const struct seep_stopped_thread *thread = &finder->stopped->threads[i];
        if (thread->sp < mapping->start || thread->sp >= mapping->end)
            continue;
        if (thread->tls > thread->sp && thread->tls < mapping->end)
            *ret_end = static_tls_start(finder->memory, thread);
        return thread->tid;
    }
    return 0;
}

static pid_t tls_of(const struct finder *finder, const struct seep_memory_area *mapping) {
    for (size_t i = 0; i < finder->stopped->nr_threads; i++) {
        const struct seep_stopped_thread *thread = &finder->stopped->threads[i];
        if (thread->tls >= mapping->start && thread->tls < mapping->end)
            return thread->tid;
    }
    return 0;
}

static bool feed_mappings(struct finder *finder, bool data) {
    const struct seep_memory *memory = finder->memory;
    finder->path = NULL;
    for (size_t i = 0; i < memory->nr_mappings; i++) {
        const struct seep_memory_area *mapping = &memory->mappings[i];
        if (!enter_file(finder, mapping))
            return false;
        if (!may_hold(mapping) || mapping->of_seep || is_device(mapping))
            continue;
        uint64_t split;
        pid_t tid = stack_of(finder, mapping, &split);
        struct seep_root_range range = {.start = mapping->start, .end = mapping->end, .tid = tid};
        range.kind = tid ? SEEP_ROOT_STACK : SEEP_ROOT_MEMORY;
        if (!tid && (range.tid = tls_of(finder, mapping)) != 0)
            range.kind = SEEP_ROOT_TLS;
        bool of_module = !range.tid && is_of_module(finder, mapping);
        if (of_module) {
            range.kind = SEEP_ROOT_DATA;
            range.module = finder->module;
            split = SEEP_MIN(mapping->end, finder->data_end);
        }
        range.end = split;
        finder->graph->outward = range.kind == SEEP_ROOT_STACK;
        bool wanted = range.kind != SEEP_ROOT_MEMORY || finder->which != SEEP_ROOTS_LSAN ||
                      (*mapping->path && !mapping->shared);
        if (wanted && (range.kind == SEEP_ROOT_DATA) == data && !feed_range(finder, range))
            return false;
        finder->graph->outward = false;
        // The kernel joins zeroed data of a module with what the program maps behind it.
        if (split < mapping->end && !data && (tid || finder->which != SEEP_ROOTS_LSAN)) {
            struct seep_root_range rest = {.kind = tid ? SEEP_ROOT_TLS : SEEP_ROOT_MEMORY,
                                           .start = split,
                                           .end = mapping->end,
                                           .tid = tid};
            if (!feed_range(finder, rest))
                return false;
        }
    }
    return true;
}

static bool feed_dynamic_tls(struct finder *finder, uint64_t tls) {
    struct seep_graph *graph = finder->graph;
    struct tls_vector vector;
    if (!tls_vector_of(finder->memory, tls, &vector) ||
        !seep_graph_feed_start(graph, finder->range, vector.where, vector.start))
        return true;
    for (uint64_t i = 1; i <= vector.nr; i++) {
        uint64_t at = vector.start + 16 * i, storage;
        if (!seep_memory_read(finder->memory, at, &storage, sizeof(storage)))
            return true;
        if (!seep_graph_feed_start(graph, finder->range, at, storage))
            return false;
    }
    return true;
}

static bool feed_thread(struct finder *finder, const struct seep_stopped_thread *thread) {
    // Static storage and the control block are roots already (stack_of; those of the first thread lie in a
    // mapping of their own); this adds what is behind.
    struct seep_root_range tls = {.kind = SEEP_ROOT_TLS, .tid = thread->tid};
    if (!add_range(finder, tls) || !feed_dynamic_tls(finder, thread->tls))
        return false;
    uint32_t block;
    uint64_t off;
    if (seep_graph_find(finder->graph, thread->sp, &block, &off)) { // its stack was allocated
        struct seep_root_range stack = {.kind = SEEP_ROOT_STACK, .tid = thread->tid};
        stack.start = (SEEP_MAX(thread->stack_from_rt, thread->sp - off) + 7) & ~UINT64_C(7);
        stack.end = thread->sp - off + finder->graph->blocks[block].size;
        if (!add_range(finder, stack) ||
            !seep_memory_walk(finder->memory, stack.start, stack.end, take_piece, finder))
            return false;
    }
    struct seep_root_range registers = {.kind = SEEP_ROOT_REGISTERS, .tid = thread->tid};
    return add_range(finder, registers) &&
           seep_graph_feed_root(finder->graph, finder->range, 0, thread->words, thread->nr_words * 8);
}

// ---- what realloc moves ----

static const struct seep_stopped_thread *thread_of(const struct finder *finder,
                                                   const struct seep_moving *moving) {
    const struct seep_stopped_thread *found = NULL;
    const struct seep_memory_area *stack = seep_memory_find(finder->memory, moving->stack_rt);
    for (size_t i = 0; i < finder->stopped->nr_threads; i++) {
        const struct seep_stopped_thread *thread = &finder->stopped->threads[i];
        if ((uint32_t)thread->tid == moving->tid)
            return thread;
        if (stack && thread->sp >= stack->start && thread->sp < stack->end)
            found = thread; // it has another number in its own pid namespace
    }
    return found;
}

// Contents of a block that is in no map, as far as no live block and no end of memory cuts it short.
static bool feed_moved(struct finder *finder, const struct seep_moving *moving, uint64_t address, pid_t tid) {
    const struct seep_graph *graph = finder->graph;
    const struct seep_memory_area *mapping = seep_memory_find(finder->memory, address);
    uint32_t block;
    uint64_t off;
    if (!mapping || !mapping->readable || mapping->of_seep || seep_graph_find(graph, address, &block, &off))
        return true;
    uint64_t nr_bytes = SEEP_MIN(moving->size ? moving->size : REALLOC_UNKNOWN_MAX, mapping->end - address);
    uint32_t next = first_block(graph, address);
    if (next < graph->nr_blocks)
        nr_bytes = SEEP_MIN(nr_bytes, graph->blocks[next].address - address);
    struct seep_root_range range = {
        .kind = SEEP_ROOT_REALLOC, .start = address, .end = address + nr_bytes, .tid = tid};
    return add_range(finder, range) &&
           seep_memory_walk(finder->memory, range.start, range.end, take_piece, finder);
}

struct places {
    const struct finder *finder;
    const struct seep_moving *moving;
    uint64_t items[REALLOC_PLACES_MAX];
    size_t nr_items;
};

// Words that lead to memory of the allocator where no live block is. What is not the new place of the
// block is free memory, which costs at worst that a lost block is found by the next scan only.
static bool take_places(void *data, uint64_t address, const void *bytes, size_t nr_bytes) {
    struct places *places = data;
    (void)address;
    for (size_t at = 0; at + 8 <= nr_bytes && places->nr_items < REALLOC_PLACES_MAX; at += 8) {
        uint64_t word;
        memcpy(&word, (const char *)bytes + at, sizeof(word));
        if (word % 8 || word == places->moving->address || !seep_spans_find(&places->finder->excluded, word))
            continue;
        size_t known = 0;
        while (known < places->nr_items && places->items[known] != word)
            known++;
        if (known == places->nr_items)
            places->items[places->nr_items++] = word;
    }
    return true;
}

static bool feed_reallocs(struct finder *finder) {
    for (size_t i = 0; i < finder->profile->hints.nr_moving; i++) {
        const struct seep_moving *moving = &finder->profile->hints.moving[i];
        const struct seep_stopped_thread *thread = thread_of(finder, moving);
        const struct seep_memory_area *stack = thread ? seep_memory_find(finder->memory, thread->sp) : NULL;
        if (!thread || moving->address % 8)
            continue; // left by a thread that was killed, or not to be believed
        struct places places = {.finder = finder, .moving = moving};
        uint64_t sp = thread->stack_from_rt;
        bool fits =
            feed_moved(finder, moving, moving->address, thread->tid) &&
            take_places(&places, 0, thread->words, thread->nr_words * 8) &&
            (!stack || seep_memory_walk(finder->memory, sp, SEEP_MIN(stack->end, sp + REALLOC_STACK_BYTES),
                                        take_places, &places));
        for (size_t j = 0; fits && j < places.nr_items; j++)
            fits = feed_moved(finder, moving, places.items[j], thread->tid);
        if (!fits)
            return false;
    }
    return true;
}

// ---- what the program told ----

// Only what is mapped: a program may tell anything.
static bool feed_told(struct finder *finder, const struct seep_region *region) {
    struct seep_root_range range = {.kind = SEEP_ROOT_TOLD, .start = (region->start + 7) & ~UINT64_C(7)};
    if (__builtin_add_overflow(region->start, region->bytes, &range.end))
        range.end = UINT64_MAX;
    bool fits = add_range(finder, range);
    for (size_t i = 0; fits && i < finder->memory->nr_mappings; i++) {
        const struct seep_memory_area *mapping = &finder->memory->mappings[i];
        uint64_t start = SEEP_MAX(range.start, mapping->start), end = SEEP_MIN(range.end, mapping->end);
        if (start < end && mapping->readable && !mapping->of_seep && !is_device(mapping))
            fits = seep_memory_walk(finder->memory, start, end, take_piece, finder);
    }
    return fits;
}

static bool feed_ignored(struct finder *finder, const struct seep_region *region) {
    struct seep_root_range range = {.kind = SEEP_ROOT_IGNORED, .start = region->start};
    return add_range(finder, range) &&
           seep_graph_feed_start(finder->graph, finder->range, region->start, region->start);
}

static bool feed_regions(struct finder *finder) {
    bool fits = true;
    for (uint32_t i = 0; fits && i < finder->profile->nr_regions; i++) {
        const struct seep_region *region = &finder->profile->regions[i];
        if (region->kind == SEEP_REGION_IGNORED)
            fits = feed_ignored(finder, region);
        else if (region->kind == SEEP_REGION_ROOT)
            fits = feed_told(finder, region);
    }
    return fits;
}

struct seep_error *seep_roots_feed(struct seep_memory *memory, const struct seep_stopped *stopped,
                                   const struct seep_profile *profile, enum seep_roots which,
                                   struct seep_graph *graph, struct seep_root_ranges *ret_ranges) {
    struct seep_root_ranges ranges = {NULL};
    struct finder finder = {.memory = memory,
                            .stopped = stopped,
                            .profile = profile,
                            .which = which,
                            .graph = graph,
                            .ranges = &ranges};
    // Data first: of two holders that are equally near, a variable with a name is the better one.
    bool fits = exclude(&finder) && feed_mappings(&finder, true) && feed_mappings(&finder, false);
    for (size_t i = 0; fits && i < stopped->nr_threads; i++)
        fits = feed_thread(&finder, &stopped->threads[i]);
    for (size_t i = 0; fits && i < finder.cached.nr_items; i++) {
        struct seep_root_range kept = {.kind = SEEP_ROOT_TLS};
        fits = add_range(&finder, kept) && feed_dynamic_tls(&finder, finder.cached.items[i].tls);
    }
    fits = fits && feed_reallocs(&finder) && feed_regions(&finder);
    seep_cached_stacks_deinit(&finder.cached);
    seep_spans_deinit(&finder.arenas);
    seep_spans_deinit(&finder.excluded);
    if (!fits) {
        seep_root_ranges_deinit(&ranges);
        return seep_error_no_memory();
    }
    *ret_ranges = ranges;
    return NULL;
}
