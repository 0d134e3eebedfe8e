// SPDX-License-Identifier: BSD-2-Clause
// Arrays of a profile from their sections, see trace_arrays.h.
#include "base/map.h"
#include "file/trace_same.h"

static const char no_memory[] = "out of memory";

// NULL, or what is wrong with the row.
typedef const char *(*row_function)(struct seep_trace_arrays *arrays, uint32_t id);

bool seep_trace_take_text(struct seep_arena *arena, struct seep_take *take, const char **ret_text) {
    size_t length;
    const char *bytes = seep_take_text(take, &length);
    *ret_text = bytes ? seep_arena_strndup(arena, bytes, length) : NULL;
    return !bytes || *ret_text;
}

static struct seep_error *section_error(struct seep_trace_arrays *arrays,
                                        const struct seep_trace_section *section, const char *text) {
    return seep_trace_section_error(arrays->reader, section, "%s", text);
}

// ---- Rows of arrays.

static uint64_t add_difference(struct seep_take *take, uint64_t from) {
    return from + (uint64_t)seep_take_zigzag(take); // modulo 2^64
}

static void take_counters(struct seep_take *take, struct seep_counters *counters) {
    counters->allocations = seep_take_leb(take);
    counters->allocated_bytes = seep_take_leb(take);
    counters->frees = counters->allocations - (uint64_t)seep_take_zigzag(take);
    counters->freed_bytes = counters->allocated_bytes - (uint64_t)seep_take_zigzag(take);
    counters->temporary = seep_take_leb(take);
    counters->peak_bytes = seep_take_leb(take);
    counters->size_max = seep_take_leb(take);
    counters->size_min = counters->size_max - (uint64_t)seep_take_zigzag(take);
}

static const char *load_module(struct seep_trace_arrays *arrays, uint32_t id) {
    struct seep_take *take = &arrays->take;
    struct seep_module *module = &arrays->profile->modules[id];
    if (!seep_trace_take_text(&arrays->profile->arena, take, &module->path))
        return no_memory;
    if (!module->path)
        return "no path";
    module->bias_rt = seep_take_leb(take);
    module->start_rt = add_difference(take, module->bias_rt);
    module->end_rt = add_difference(take, module->start_rt);
    module->first_seen_ns = seep_take_zigzag(take);
    module->unloaded_ns = seep_take_zigzag(take);
    uint64_t build_id_bytes = seep_take_leb(take);
    if (build_id_bytes > sizeof(module->build_id))
        return "the build-id is too long";
    const unsigned char *build_id = seep_take_bytes(take, build_id_bytes);
    if (build_id && build_id_bytes)
        memcpy(module->build_id, build_id, (size_t)build_id_bytes);
    module->build_id_bytes = (uint32_t)build_id_bytes;
    return NULL;
}

static const char *load_node(struct seep_trace_arrays *arrays, uint32_t id) {
    struct seep_take *take = &arrays->take;
    struct seep_node *node = &arrays->profile->nodes[id];
    uint64_t back = seep_take_leb(take);
    if (back >= id)
        return "its parent is not below its own id";
    uint64_t coded = seep_take_leb(take);
    if (coded >> 3 >= arrays->profile->nr_modules)
        return "its module does not exist";
    node->parent = id - 1 - (uint32_t)back;
    node->module = (uint32_t)(coded >> 3);
    node->exact = coded >> 2 & 1;
    node->kind = coded & 3;
    node->offset = seep_take_leb(take);
    if (node->kind > SEEP_NODE_CUT)
        return "its kind does not exist";
    if (node->kind == SEEP_NODE_CUT && node->parent)
        return "a cut mark that is not a child of the root";
    return NULL;
}

static const char *load_site(struct seep_trace_arrays *arrays, uint32_t id) {
    struct seep_take *take = &arrays->take;
    struct seep_site *site = &arrays->profile->sites[id];
    uint64_t node = add_difference(take, arrays->previous);
    if (node >= arrays->profile->nr_nodes)
        return "its node does not exist";
    site->node = (uint32_t)node;
    site->via = seep_take_u32(take);
    take_counters(take, &site->counters);
    arrays->previous = node;
    return NULL;
}

static const char *load_thread(struct seep_trace_arrays *arrays, uint32_t id) {
    struct seep_take *take = &arrays->take;
    struct seep_thread *thread = &arrays->profile->threads[id];
    thread->tid = seep_take_u32(take);
    thread->nr_owners = seep_take_u32(take);
    size_t length;
    const char *name = seep_take_text(take, &length);
    if (length >= sizeof(thread->name))
        return "its name is too long";
    if (name)
        memcpy(thread->name, name, length);
    thread->allocations = seep_take_leb(take);
    thread->allocated_bytes = seep_take_leb(take);
    thread->frees = seep_take_leb(take);
    thread->freed_bytes = seep_take_leb(take);
    return NULL;
}

static const char *load_thread_site(struct seep_trace_arrays *arrays, uint32_t id) {
    struct seep_take *take = &arrays->take;
    struct seep_thread_site *row = &arrays->profile->thread_sites[id];
    uint64_t further = seep_take_leb(take);
    uint64_t thread = seep_take_leb(take);
    if (further >= arrays->profile->nr_sites - arrays->previous)
        return "its site does not exist";
    if (thread >= arrays->profile->nr_threads)
        return "its thread does not exist";
    row->site = (uint32_t)(arrays->previous + further);
    row->thread = (uint32_t)thread;
    if (id && (row->site < row[-1].site || (row->site == row[-1].site && row->thread <= row[-1].thread)))
        return "out of order";
    take_counters(take, &row->counters);
    arrays->previous = row->site;
    return NULL;
}

static struct seep_error *load_rows(struct seep_trace_arrays *arrays, row_function load_row) {
    for (size_t i = 0; i < arrays->nr_parts; i++) {
        const struct seep_trace_part *part = &arrays->parts[i];
        arrays->take = part->take;
        arrays->previous = 0;
        for (uint64_t id = part->first; id < part->first + part->count; id++) {
            const char *wrong = load_row(arrays, (uint32_t)id);
            if (arrays->take.failed)
                wrong = "cut short, or a number is out of range";
            if (wrong == no_memory)
                return seep_error_no_memory();
            if (wrong)
                return seep_trace_section_error(arrays->reader, &part->section, "element %llu: %s",
                                                (unsigned long long)id, wrong);
        }
        if (arrays->take.at != arrays->take.end)
            return seep_trace_section_error(arrays->reader, &part->section, "bytes left over: %zu",
                                            seep_take_left(&arrays->take));
    }
    return NULL;
}

// ---- Blocks: columns instead of rows, for speed and size. Proof: test_trace.c.

enum { COLUMN_ADDRESS, COLUMN_SIZE, COLUMN_SITE, COLUMN_THREAD, COLUMN_AGE, COLUMN_NR };

static struct seep_error *block_error(struct seep_trace_arrays *arrays, const struct seep_trace_part *part,
                                      uint64_t id, const char *wrong) {
    return seep_trace_section_error(arrays->reader, &part->section, "element %llu: %s",
                                    (unsigned long long)id, wrong);
}

// Threads and ages, where the section has them; otherwise both are "not kept".
static struct seep_error *load_block_extras(struct seep_trace_arrays *arrays,
                                            const struct seep_trace_part *part, struct seep_take *columns) {
    struct seep_block *blocks = arrays->profile->blocks + part->first;
    bool with_threads = seep_take_left(&columns[COLUMN_THREAD]) > 0;
    bool with_ages = seep_take_left(&columns[COLUMN_AGE]) > 0;
    uint64_t age = 0;
    for (uint64_t i = 0; i < part->count; i++) {
        uint64_t thread = with_threads ? seep_take_leb(&columns[COLUMN_THREAD]) : 0;
        if (thread > arrays->profile->nr_threads)
            return block_error(arrays, part, part->first + i, "its thread does not exist");
        blocks[i].thread = (uint32_t)thread - 1;
        if (with_ages)
            age = add_difference(&columns[COLUMN_AGE], age);
        blocks[i].age_ns = with_ages ? (int64_t)age : -1;
    }
    return NULL;
}

static struct seep_error *load_block_columns(struct seep_trace_arrays *arrays,
                                             const struct seep_trace_part *part, uint64_t shift,
                                             struct seep_take *columns) {
    struct seep_block *blocks = arrays->profile->blocks;
    uint32_t nr_sites = arrays->profile->nr_sites;
    uint64_t most = UINT64_MAX >> shift;
    uint64_t address = 0;
    for (uint64_t id = part->first; id < part->first + part->count; id++) {
        uint64_t further = seep_take_leb(&columns[COLUMN_ADDRESS]);
        if (further > most || __builtin_add_overflow(address, further << shift, &address))
            return block_error(arrays, part, id, "its address is out of range");
        uint64_t site = seep_take_leb(&columns[COLUMN_SITE]);
        if (site >= nr_sites)
            return block_error(arrays, part, id, "its site does not exist");
        blocks[id].address = address;
        blocks[id].size = seep_take_leb(&columns[COLUMN_SIZE]);
        blocks[id].site = (uint32_t)site;
    }
    if (part->first && part->count && blocks[part->first].address < blocks[part->first - 1].address)
        return block_error(arrays, part, part->first, "out of order");
    return load_block_extras(arrays, part, columns);
}

static struct seep_error *load_block_part(struct seep_trace_arrays *arrays,
                                          const struct seep_trace_part *part) {
    struct seep_take take = part->take;
    struct seep_take columns[COLUMN_NR];
    uint64_t shift = seep_take_leb(&take);
    seep_take_columns(&take, COLUMN_NR, columns);
    if (take.failed || take.at != take.end || shift > 63)
        return section_error(arrays, &part->section, "the columns do not fit");
    struct seep_error *error = load_block_columns(arrays, part, shift, columns);
    for (size_t i = 0; !error && i < COLUMN_NR; i++)
        if (columns[i].failed || columns[i].at != columns[i].end)
            error = section_error(arrays, &part->section, "the columns do not fit");
    return error;
}

static struct seep_error *load_blocks(struct seep_trace_arrays *arrays) {
    for (size_t i = 0; i < arrays->nr_parts; i++) {
        struct seep_error *error = load_block_part(arrays, &arrays->parts[i]);
        if (error)
            return error;
    }
    return NULL;
}

// ---- Arrays: their sections are collected, and made into one array when the last has been seen.

struct array {
    uint64_t first_id; // elements below it are the same in every profile and not saved
    uint32_t row_bytes_least;
    uint32_t element_bytes;
    row_function load_row; // NULL: blocks
};

static const struct array kinds[SEEP_TRACE_TYPE_NR] = {
    [SEEP_TRACE_MODULES] = {1, 7, sizeof(struct seep_module), load_module},
    [SEEP_TRACE_NODES] = {1, 3, sizeof(struct seep_node), load_node},
    [SEEP_TRACE_SITES] = {1, 10, sizeof(struct seep_site), load_site},
    [SEEP_TRACE_THREADS] = {0, 7, sizeof(struct seep_thread), load_thread},
    [SEEP_TRACE_THREAD_SITES] = {0, 10, sizeof(struct seep_thread_site), load_thread_site},
    [SEEP_TRACE_BLOCKS] = {0, 3, sizeof(struct seep_block), NULL},
};

// Puts the array in its place in the profile. Its element 0 is kept where it is implied.
static void place_array(struct seep_profile *profile, uint32_t type, void *elements, uint64_t nr) {
    switch (type) {
    case SEEP_TRACE_MODULES:
        memcpy(elements, profile->modules, sizeof(*profile->modules));
        profile->modules = elements;
        profile->nr_modules = (uint32_t)nr;
        break;
    case SEEP_TRACE_NODES:
        memcpy(elements, profile->nodes, sizeof(*profile->nodes));
        profile->nodes = elements;
        profile->nr_nodes = (uint32_t)nr;
        break;
    case SEEP_TRACE_SITES:
        memcpy(elements, profile->sites, sizeof(*profile->sites));
        profile->sites = elements;
        profile->nr_sites = (uint32_t)nr;
        break;
    case SEEP_TRACE_THREADS:
        profile->threads = elements;
        profile->nr_threads = (uint32_t)nr;
        break;
    case SEEP_TRACE_THREAD_SITES:
        profile->thread_sites = elements;
        profile->nr_thread_sites = (size_t)nr;
        break;
    default:
        profile->blocks = elements;
        profile->nr_blocks = (size_t)nr;
    }
}

static void drop_parts(struct seep_trace_arrays *arrays) {
    for (size_t i = 0; i < arrays->nr_parts; i++)
        free(arrays->parts[i].raw);
    arrays->nr_parts = 0;
}

struct seep_error *seep_trace_arrays_finish(struct seep_trace_arrays *arrays) {
    if (!arrays->nr_parts)
        return NULL;
    const struct array *array = &kinds[arrays->type];
    uint64_t nr = array->first_id + arrays->loaded[arrays->type];
    uint64_t most = arrays->type == SEEP_TRACE_MODULES ? SEEP_MODULES_MAX : UINT32_MAX;
    if (array->load_row && nr > most)
        return section_error(arrays, &arrays->parts[0].section, "more elements than there are ids");
    bool alone = arrays->nr_parts == 1; // only a whole array is like that of another process
    struct seep_arena *arena =
        alone ? seep_trace_same_arena(arrays->same, arrays->profile, arrays->type) : &arrays->profile->arena;
    void *elements = seep_arena_alloc(arena, (size_t)nr, array->element_bytes);
    if (!elements)
        return seep_error_no_memory();
    place_array(arrays->profile, arrays->type, elements, nr);
    struct seep_error *error = array->load_row ? load_rows(arrays, array->load_row) : load_blocks(arrays);
    if (!error && alone && !seep_trace_same_add(arrays->same, arrays->profile, &arrays->parts[0].section))
        error = seep_error_no_memory();
    drop_parts(arrays);
    return error;
}

struct seep_error *seep_trace_arrays_add(struct seep_trace_arrays *arrays,
                                         const struct seep_trace_section *section, unsigned char *raw) {
    const struct array *array = &kinds[section->type];
    struct seep_trace_part part = {
        .section = *section, .raw = raw, .take = {raw, raw + section->raw_bytes, false}};
    part.first = seep_take_leb(&part.take);
    part.count = seep_take_leb(&part.take);
    uint64_t loaded = arrays->loaded[section->type];
    uint64_t promised = arrays->promised[section->type];
    if (part.take.failed || part.count > seep_take_left(&part.take) / array->row_bytes_least)
        return section_error(arrays, section, "more elements than bytes for them");
    if (part.first != array->first_id + loaded)
        return section_error(arrays, section, "does not continue where the one before ended");
    if (part.count > promised - loaded)
        return seep_trace_section_error(arrays->reader, section, "more elements than the %llu promised",
                                        (unsigned long long)promised);
    if (!arrays->nr_parts && loaded) { // behind an array that another process has, too: it is empty
        free(raw);
        return NULL;
    }
    if (!seep_grow(&arrays->parts, &arrays->parts_capacity, arrays->nr_parts + 1, sizeof(*arrays->parts)))
        return seep_error_no_memory();
    arrays->parts[arrays->nr_parts++] = part;
    arrays->loaded[section->type] += part.count;
    return NULL;
}

void seep_trace_arrays_deinit(struct seep_trace_arrays *arrays) {
    drop_parts(arrays);
    free(arrays->parts);
}
