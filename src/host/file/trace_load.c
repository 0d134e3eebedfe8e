// SPDX-License-Identifier: BSD-2-Clause
//
// Loads a session from a trace, see docs/trace-format.md; trace_save.c is the other half.
//
// Everything in the file is hostile. Invariant: an array of the profile is allocated only when its
// sections have been unpacked, for as many elements as those bytes can hold, and an id is stored
// only after it was compared with the array it points into.
#include "base/map.h"
#include "growth/growth.h"
#include "source/image/image_decode.h"
#include "source/image/profile_image.h"
#include "file/session_file.h"
#include "file/sections.h"
#include "file/trace_index.h"
#include "source/image/unseen.h"
#include "file/trace.h"
#include "profile/health.h"

// A section of an array, unpacked, that waits until all sections of its type are there.
struct part {
    struct seep_trace_section section;
    unsigned char *raw;
    struct seep_take take; // behind first and count
    uint64_t first;
    uint64_t count;
};

struct loader {
    struct seep_trace_reader reader;
    struct seep_session *session;
    uint64_t nr_processes; // as the SESSION section promises
    uint64_t *group_offs;  // malloc'ed: where the PROCESS sections begin, in the file
    size_t nr_groups;
    size_t groups_capacity;
    bool has_index;
    bool has_session;
    bool said_cut; // in a note of some process

    // The process at work.
    struct seep_profile *profile; // NULL: none
    struct seep_trace_section process_section;
    uint32_t type;                         // of the last section in the group
    uint64_t promised[SEEP_TRACE_TYPE_NR]; // elements, by type of section
    uint64_t loaded[SEEP_TRACE_TYPE_NR];   // the same, as far as there
    struct seep_health health;             // derived figures as they were saved
    struct seep_totals totals;
    struct part *parts; // malloc'ed, all of `type`
    size_t nr_parts;
    size_t parts_capacity;

    // The part at work.
    const struct part *part;
    struct seep_take take;
    uint64_t previous;
};

static const char no_memory[] = "out of memory";

// NULL, or what is wrong with the row.
typedef const char *(*row_function)(struct loader *loader, uint32_t id);

// *ret_text is NULL where NULL was saved. false: out of memory.
static bool take_text(struct loader *loader, struct seep_take *take, const char **ret_text) {
    size_t length;
    const char *bytes = seep_take_text(take, &length);
    *ret_text = bytes ? seep_arena_strndup(&loader->profile->arena, bytes, length) : NULL;
    return !bytes || *ret_text;
}

static struct seep_error *section_error(struct loader *loader, const struct seep_trace_section *section,
                                        const char *text) {
    return seep_trace_section_error(&loader->reader, section, "%s", text);
}

// Fields may be appended by a later minor version, and by no other.
static struct seep_error *check_take(struct loader *loader, const struct seep_trace_section *section,
                                     const struct seep_take *take) {
    if (take->failed)
        return section_error(loader, section, "cut short, or a number is out of range");
    if (take->at != take->end && loader->reader.minor <= SEEP_TRACE_MINOR)
        return seep_trace_section_error(&loader->reader, section, "bytes left over: %zu",
                                        seep_take_left(take));
    return NULL;
}

// ---- Sections of one record.

static struct seep_error *load_session(struct loader *loader, const struct seep_trace_section *section,
                                       struct seep_take *take) {
    if (loader->has_session || loader->profile || loader->session->nr_profiles)
        return section_error(loader, section, "out of order");
    loader->has_session = true;
    loader->nr_processes = seep_take_leb(take);
    return check_take(loader, section, take);
}

static struct seep_error *load_args(struct loader *loader, const struct seep_trace_section *section,
                                    struct seep_take *take) {
    struct seep_process *process = &loader->profile->process;
    uint32_t nr_args = seep_take_u32(take);
    if (take->failed || nr_args > seep_take_left(take))
        return section_error(loader, section, "cut short, or a number is out of range");
    const char **args = seep_arena_alloc(&loader->profile->arena, nr_args, sizeof(*args));
    if (!args)
        return seep_error_no_memory();
    for (uint32_t i = 0; i < nr_args; i++) {
        if (!take_text(loader, take, &args[i]))
            return seep_error_no_memory();
        if (!args[i])
            return section_error(loader, section, "an argument is missing");
    }
    process->args = args;
    process->nr_args = nr_args;
    return NULL;
}

static struct seep_error *load_process(struct loader *loader, const struct seep_trace_section *section,
                                       struct seep_take *take) {
    struct seep_error *error = seep_profile_create(&loader->profile);
    if (error)
        return error;
    struct seep_process *process = &loader->profile->process;
    process->pid = seep_take_u32(take);
    process->ppid = seep_take_u32(take);
    process->forked_from = seep_take_u32(take);
    process->is_main = seep_take_bool(take);
    if (!take_text(loader, take, &process->exe))
        return seep_error_no_memory();
    if (!process->exe) // "none" in the file; never NULL in a profile
        process->exe = "";
    process->nr_args_all = seep_take_u32(take);
    error = load_args(loader, section, take);
    if (error)
        return error;
    process->start_realtime_ns = seep_take_zigzag(take);
    process->duration_ns = seep_take_zigzag(take);
    uint64_t exit_kind = seep_take_leb(take);
    process->exit_kind = exit_kind <= SEEP_EXIT_EXEC ? (enum seep_exit_kind)exit_kind : SEEP_EXIT_UNKNOWN;
    int64_t exit_value = seep_take_zigzag(take);
    if (exit_value < INT32_MIN || exit_value > INT32_MAX)
        take->failed = true;
    process->exit_value = (int)exit_value;
    for (uint32_t type = SEEP_TRACE_MODULES; type <= SEEP_TRACE_BLOCKS; type++) {
        loader->promised[type] = seep_take_leb(take);
        loader->loaded[type] = 0;
    }
    loader->process_section = *section;
    return check_take(loader, section, take);
}

// Minor version 1 has no codes, and a text begins with its lead.
static void derive_note(struct seep_note *note) {
    for (uint32_t flag = SEEP_NOTE_UNTRACED; flag <= SEEP_NOTE_UNSCANNED; flag <<= 1) {
        const char *lead = seep_note_lead(&(struct seep_note){.flags = flag});
        size_t nr = strlen(lead);
        if (nr && strncmp(note->text, lead, nr) == 0) {
            note->flags = flag;
            note->text += nr;
            return;
        }
    }
}

static struct seep_error *load_notes(struct loader *loader, const struct seep_trace_section *section,
                                     struct seep_take *take, size_t nr_notes) {
    struct seep_health *health = &loader->profile->health;
    health->notes = NULL;
    if (!seep_arena_more(&loader->profile->arena, &health->notes, 0, nr_notes, sizeof(*health->notes)))
        return seep_error_no_memory();
    for (size_t i = 0; i < nr_notes; i++) {
        if (!take_text(loader, take, &health->notes[i].text))
            return seep_error_no_memory();
        if (!health->notes[i].text)
            return section_error(loader, section, "a note is missing");
    }
    bool has_codes = loader->reader.minor >= 2;
    for (size_t i = 0; i < nr_notes; i++) {
        health->notes[i].code = has_codes ? seep_take_u32(take) : SEEP_NOTE_OTHER;
        health->notes[i].flags = has_codes ? seep_take_u32(take) & SEEP_NOTE_FLAGS : 0;
        if (!has_codes)
            derive_note(&health->notes[i]);
    }
    health->nr_notes = nr_notes;
    if (!has_codes && nr_notes && health->flags & SEEP_HEALTH_MISSING)
        health->notes[0].flags |= SEEP_NOTE_MISSING;
    return NULL;
}

static struct seep_error *load_health(struct loader *loader, const struct seep_trace_section *section,
                                      struct seep_take *take) {
    struct seep_health *health = &loader->profile->health;
    health->events = seep_take_leb(take);
    seep_take_list(take, health->lost, SEEP_LOST_NR);
    seep_take_list(take, health->cut, SEEP_CUT_NR);
    health->stacks_cut = seep_take_leb(take);
    health->state = seep_take_u32(take);
    health->passive_reason = seep_take_u32(take);
    health->flags = seep_take_u32(take);
    if (!take_text(loader, take, &health->preempted_by))
        return seep_error_no_memory();
    health->depth_limit = seep_take_u32(take);
    health->sample_bytes = seep_take_leb(take);
    uint64_t nr_notes = seep_take_leb(take);
    if (take->failed || nr_notes > seep_take_left(take))
        return section_error(loader, section, "cut short, or a number is out of range");
    struct seep_error *error = load_notes(loader, section, take, (size_t)nr_notes);
    if (error)
        return error;
    loader->health = *health;
    return check_take(loader, section, take);
}

static struct seep_error *load_totals(struct loader *loader, const struct seep_trace_section *section,
                                      struct seep_take *take) {
    struct seep_totals *totals = &loader->profile->totals;
    totals->allocations = seep_take_leb(take);
    totals->allocated_bytes = seep_take_leb(take);
    totals->frees = seep_take_leb(take);
    totals->freed_bytes = seep_take_leb(take);
    totals->live_blocks = seep_take_leb(take);
    totals->live_bytes = seep_take_leb(take);
    totals->peak_bytes = seep_take_leb(take);
    totals->peak_exact = seep_take_bool(take);
    totals->peak_error_bytes = seep_take_leb(take);
    totals->temporary = seep_take_leb(take);
    totals->failed = seep_take_leb(take);
    totals->unknown_frees = seep_take_leb(take);
    seep_take_list(take, totals->by_function, SEEP_VIA_HEAP_NR);
    seep_take_list(take, totals->releases, SEEP_RELEASE_NR);
    seep_take_list(take, totals->size_class, SEEP_IMAGE_SIZE_CLASSES);
    if (loader->reader.minor >= 1) {
        totals->inherited_blocks = seep_take_leb(take);
        totals->inherited_bytes = seep_take_leb(take);
    }
    loader->totals = *totals;
    return check_take(loader, section, take);
}

static struct seep_error *load_with(struct loader *loader, const struct seep_trace_section *section,
                                    struct seep_take *take, const struct seep_section *codec) {
    bool no_memory_left;
    const char *wrong = codec->take(take, loader->profile, &no_memory_left);
    if (no_memory_left)
        return seep_error_no_memory();
    return wrong ? section_error(loader, section, wrong) : check_take(loader, section, take);
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

static const char *load_module(struct loader *loader, uint32_t id) {
    struct seep_take *take = &loader->take;
    struct seep_module *module = &loader->profile->modules[id];
    if (!take_text(loader, take, &module->path))
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

static const char *load_node(struct loader *loader, uint32_t id) {
    struct seep_take *take = &loader->take;
    struct seep_node *node = &loader->profile->nodes[id];
    uint64_t back = seep_take_leb(take);
    if (back >= id)
        return "its parent is not below its own id";
    uint64_t coded = seep_take_leb(take);
    if (coded >> 3 >= loader->profile->nr_modules)
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

static const char *load_site(struct loader *loader, uint32_t id) {
    struct seep_take *take = &loader->take;
    struct seep_site *site = &loader->profile->sites[id];
    uint64_t node = add_difference(take, loader->previous);
    if (node >= loader->profile->nr_nodes)
        return "its node does not exist";
    site->node = (uint32_t)node;
    site->via = seep_take_u32(take);
    take_counters(take, &site->counters);
    loader->previous = node;
    return NULL;
}

static const char *load_thread(struct loader *loader, uint32_t id) {
    struct seep_take *take = &loader->take;
    struct seep_thread *thread = &loader->profile->threads[id];
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

static const char *load_thread_site(struct loader *loader, uint32_t id) {
    struct seep_take *take = &loader->take;
    struct seep_thread_site *row = &loader->profile->thread_sites[id];
    uint64_t further = seep_take_leb(take);
    uint64_t thread = seep_take_leb(take);
    if (further >= loader->profile->nr_sites - loader->previous)
        return "its site does not exist";
    if (thread >= loader->profile->nr_threads)
        return "its thread does not exist";
    row->site = (uint32_t)(loader->previous + further);
    row->thread = (uint32_t)thread;
    if (id && (row->site < row[-1].site || (row->site == row[-1].site && row->thread <= row[-1].thread)))
        return "out of order";
    take_counters(take, &row->counters);
    loader->previous = row->site;
    return NULL;
}

static struct seep_error *load_rows(struct loader *loader, row_function load_row) {
    for (size_t i = 0; i < loader->nr_parts; i++) {
        const struct part *part = &loader->parts[i];
        loader->take = part->take;
        loader->previous = 0;
        for (uint64_t id = part->first; id < part->first + part->count; id++) {
            const char *wrong = load_row(loader, (uint32_t)id);
            if (loader->take.failed)
                wrong = "cut short, or a number is out of range";
            if (wrong == no_memory)
                return seep_error_no_memory();
            if (wrong)
                return seep_trace_section_error(&loader->reader, &part->section, "element %llu: %s",
                                                (unsigned long long)id, wrong);
        }
        if (loader->take.at != loader->take.end)
            return seep_trace_section_error(&loader->reader, &part->section, "bytes left over: %zu",
                                            seep_take_left(&loader->take));
    }
    return NULL;
}

// ---- Blocks: columns instead of rows, for speed and size. Proof: test_trace.c.

enum { COLUMN_ADDRESS, COLUMN_SIZE, COLUMN_SITE, COLUMN_THREAD, COLUMN_AGE, COLUMN_NR };

static struct seep_error *block_error(struct loader *loader, const struct part *part, uint64_t id,
                                      const char *wrong) {
    return seep_trace_section_error(&loader->reader, &part->section, "element %llu: %s",
                                    (unsigned long long)id, wrong);
}

// Threads and ages, where the section has them; otherwise both are "not kept".
static struct seep_error *load_block_extras(struct loader *loader, const struct part *part,
                                            struct seep_take *columns) {
    struct seep_block *blocks = loader->profile->blocks + part->first;
    bool with_threads = seep_take_left(&columns[COLUMN_THREAD]) > 0;
    bool with_ages = seep_take_left(&columns[COLUMN_AGE]) > 0;
    uint64_t age = 0;
    for (uint64_t i = 0; i < part->count; i++) {
        uint64_t thread = with_threads ? seep_take_leb(&columns[COLUMN_THREAD]) : 0;
        if (thread > loader->profile->nr_threads)
            return block_error(loader, part, part->first + i, "its thread does not exist");
        blocks[i].thread = (uint32_t)thread - 1;
        if (with_ages)
            age = add_difference(&columns[COLUMN_AGE], age);
        blocks[i].age_ns = with_ages ? (int64_t)age : -1;
    }
    return NULL;
}

static struct seep_error *load_block_columns(struct loader *loader, const struct part *part, uint64_t shift,
                                             struct seep_take *columns) {
    struct seep_block *blocks = loader->profile->blocks;
    uint32_t nr_sites = loader->profile->nr_sites;
    uint64_t most = UINT64_MAX >> shift;
    uint64_t address = 0;
    for (uint64_t id = part->first; id < part->first + part->count; id++) {
        uint64_t further = seep_take_leb(&columns[COLUMN_ADDRESS]);
        if (further > most || __builtin_add_overflow(address, further << shift, &address))
            return block_error(loader, part, id, "its address is out of range");
        uint64_t site = seep_take_leb(&columns[COLUMN_SITE]);
        if (site >= nr_sites)
            return block_error(loader, part, id, "its site does not exist");
        blocks[id].address = address;
        blocks[id].size = seep_take_leb(&columns[COLUMN_SIZE]);
        blocks[id].site = (uint32_t)site;
    }
    if (part->first && part->count && blocks[part->first].address < blocks[part->first - 1].address)
        return block_error(loader, part, part->first, "out of order");
    return load_block_extras(loader, part, columns);
}

static struct seep_error *load_block_part(struct loader *loader, const struct part *part) {
    struct seep_take take = part->take;
    struct seep_take columns[COLUMN_NR];
    uint64_t shift = seep_take_leb(&take);
    uint64_t bytes[COLUMN_NR];
    for (size_t i = 0; i < COLUMN_NR; i++)
        bytes[i] = seep_take_leb(&take);
    for (size_t i = 0; i < COLUMN_NR; i++) {
        const unsigned char *at = seep_take_bytes(&take, bytes[i]);
        columns[i] = (struct seep_take){at, at ? at + bytes[i] : at, false};
    }
    if (take.failed || take.at != take.end || shift > 63)
        return section_error(loader, &part->section, "the columns do not fit");
    struct seep_error *error = load_block_columns(loader, part, shift, columns);
    for (size_t i = 0; !error && i < COLUMN_NR; i++)
        if (columns[i].failed || columns[i].at != columns[i].end)
            error = section_error(loader, &part->section, "the columns do not fit");
    return error;
}

static struct seep_error *load_blocks(struct loader *loader) {
    for (size_t i = 0; i < loader->nr_parts; i++) {
        struct seep_error *error = load_block_part(loader, &loader->parts[i]);
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

static const struct array arrays[SEEP_TRACE_TYPE_NR] = {
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

static void drop_parts(struct loader *loader) {
    for (size_t i = 0; i < loader->nr_parts; i++)
        free(loader->parts[i].raw);
    loader->nr_parts = 0;
}

static struct seep_error *finish_array(struct loader *loader) {
    if (!loader->nr_parts)
        return NULL;
    const struct array *array = &arrays[loader->type];
    uint64_t nr = array->first_id + loader->loaded[loader->type];
    uint64_t most = loader->type == SEEP_TRACE_MODULES ? SEEP_MODULES_MAX : UINT32_MAX;
    if (array->load_row && nr > most)
        return section_error(loader, &loader->parts[0].section, "more elements than there are ids");
    void *elements = seep_arena_alloc(&loader->profile->arena, (size_t)nr, array->element_bytes);
    if (!elements)
        return seep_error_no_memory();
    place_array(loader->profile, loader->type, elements, nr);
    struct seep_error *error = array->load_row ? load_rows(loader, array->load_row) : load_blocks(loader);
    drop_parts(loader);
    return error;
}

// Takes `raw` when it succeeds.
static struct seep_error *add_part(struct loader *loader, const struct seep_trace_section *section,
                                   unsigned char *raw) {
    const struct array *array = &arrays[section->type];
    struct part part = {.section = *section, .raw = raw, .take = {raw, raw + section->raw_bytes, false}};
    part.first = seep_take_leb(&part.take);
    part.count = seep_take_leb(&part.take);
    uint64_t loaded = loader->loaded[section->type];
    uint64_t promised = loader->promised[section->type];
    if (part.take.failed || part.count > seep_take_left(&part.take) / array->row_bytes_least)
        return section_error(loader, section, "more elements than bytes for them");
    if (part.first != array->first_id + loaded)
        return section_error(loader, section, "does not continue where the one before ended");
    if (part.count > promised - loaded)
        return seep_trace_section_error(&loader->reader, section, "more elements than the %llu promised",
                                        (unsigned long long)promised);
    if (!seep_grow(&loader->parts, &loader->parts_capacity, loader->nr_parts + 1, sizeof(*loader->parts)))
        return seep_error_no_memory();
    loader->parts[loader->nr_parts++] = part;
    loader->loaded[section->type] += part.count;
    return NULL;
}

// ---- Processes.

static bool same_derived(const struct loader *loader) {
    const struct seep_totals *a = &loader->totals;
    const struct seep_totals *b = &loader->profile->totals;
    return loader->health.events == loader->profile->health.events &&
           loader->health.stacks_cut == loader->profile->health.stacks_cut &&
           a->allocations == b->allocations && a->allocated_bytes == b->allocated_bytes &&
           a->frees == b->frees && a->freed_bytes == b->freed_bytes && a->live_blocks == b->live_blocks &&
           a->live_bytes == b->live_bytes && a->temporary == b->temporary &&
           memcmp(a->by_function, b->by_function, sizeof(a->by_function)) == 0;
}

// A process can be shown when its totals, stacks and sites are whole; threads and blocks may lack.
static bool is_usable(const struct loader *loader) {
    if (loader->type < SEEP_TRACE_TOTALS)
        return false;
    for (uint32_t type = SEEP_TRACE_MODULES; type <= SEEP_TRACE_SITES; type++)
        if (loader->loaded[type] != loader->promised[type])
            return false;
    return true;
}

static struct seep_error *check_complete(struct loader *loader) {
    if (loader->type < SEEP_TRACE_TOTALS)
        return section_error(loader, &loader->process_section, "its HEALTH or TOTALS section is missing");
    for (uint32_t type = SEEP_TRACE_MODULES; type <= SEEP_TRACE_BLOCKS; type++)
        if (loader->loaded[type] != loader->promised[type])
            return seep_trace_section_error(
                &loader->reader, &loader->process_section, "promises %llu elements in %s, and there are %llu",
                (unsigned long long)loader->promised[type], seep_trace_type_name(type),
                (unsigned long long)loader->loaded[type]);
    return NULL;
}

static struct seep_error *note_cut(struct loader *loader, struct seep_profile *profile) {
    loader->said_cut = true;
    return seep_profile_note(
        profile, SEEP_NOTE_TRACE_CUT,
        "the trace was cut at offset %llu and what precedes is shown: %llu of %llu blocks of "
        "this process",
        (unsigned long long)loader->reader.cut_at, (unsigned long long)loader->loaded[SEEP_TRACE_BLOCKS],
        (unsigned long long)loader->promised[SEEP_TRACE_BLOCKS]);
}

// Ends the group at work and hands its profile to the session.
static struct seep_error *finish_process(struct loader *loader) {
    if (!loader->profile)
        return NULL;
    struct seep_error *error = finish_array(loader);
    if (!error && !loader->reader.cut)
        error = check_complete(loader);
    if (error)
        return error;
    if (!is_usable(loader)) {
        seep_profile_destroy(loader->profile);
        loader->profile = NULL;
        return NULL;
    }
    seep_profile_derive(loader->profile);
    error = seep_growth_judge(loader->profile);
    if (error)
        return error;
    if (!same_derived(loader))
        error = seep_profile_note(
            loader->profile, SEEP_NOTE_TOTALS_DIFFER,
            "the totals saved in the trace differ from the sum over its sites: the sum is shown");
    bool incomplete = false;
    for (uint32_t type = SEEP_TRACE_THREADS; type <= SEEP_TRACE_BLOCKS; type++)
        incomplete |= loader->loaded[type] != loader->promised[type];
    if (!error && incomplete)
        error = note_cut(loader, loader->profile);
    if (error)
        return error;
    struct seep_profile *profile = loader->profile;
    loader->profile = NULL;
    return seep_session_add(loader->session, profile);
}

// ---- The whole.

// The index must be of this very file: else a reader that trusts it would show something else.
static struct seep_error *load_index(struct loader *loader, const struct seep_trace_section *section,
                                     struct seep_take *take) {
    struct seep_index index = {.nr = 0};
    bool no_memory_left;
    const char *wrong = seep_index_take(take, section->off, &index, &no_memory_left);
    bool same = index.nr == loader->nr_groups && index.nr == loader->session->nr_profiles;
    for (size_t i = 0; !wrong && same && i < index.nr; i++) {
        const struct seep_process *process = &loader->session->profiles[i]->process;
        uint64_t end = i + 1 < index.nr ? loader->group_offs[i + 1] : section->off;
        same = index.entries[i].off == loader->group_offs[i] &&
               index.entries[i].off + index.entries[i].bytes == end && index.entries[i].pid == process->pid &&
               strcmp(index.entries[i].exe, process->exe) == 0;
    }
    seep_index_deinit(&index);
    loader->has_index = true;
    if (no_memory_left)
        return seep_error_no_memory();
    if (!wrong && !same)
        wrong = "does not agree with the processes";
    return wrong ? section_error(loader, section, wrong) : check_take(loader, section, take);
}

static struct seep_error *note_group(struct loader *loader, const struct seep_trace_section *section) {
    if (!seep_grow(&loader->group_offs, &loader->groups_capacity, loader->nr_groups + 1,
                   sizeof(*loader->group_offs)))
        return seep_error_no_memory();
    loader->group_offs[loader->nr_groups++] = section->off;
    return NULL;
}

static struct seep_error *check_order(struct loader *loader, const struct seep_trace_section *section) {
    uint32_t type = section->type;
    if (loader->has_index)
        return section_error(loader, section, "out of order");
    if (type == SEEP_TRACE_SESSION)
        return NULL;
    if (!loader->has_session)
        return section_error(loader, section, "stands before the SESSION section");
    if (type == SEEP_TRACE_PROCESS)
        return NULL;
    if (!loader->profile)
        return section_error(loader, section, "stands before the first PROCESS section");
    if (type == SEEP_TRACE_INDEX)
        return NULL;
    const struct seep_section *codec = seep_section_of(type);
    bool may_repeat = codec ? codec->repeats : type >= SEEP_TRACE_MODULES && type <= SEEP_TRACE_BLOCKS;
    // HEALTH and TOTALS must be there, each once; arrays without elements have no section.
    uint32_t least = type <= SEEP_TRACE_TOTALS ? type - 1 : SEEP_TRACE_TOTALS;
    if (loader->type < least || loader->type > type || (loader->type == type && !may_repeat))
        return section_error(loader, section, "out of order");
    return NULL;
}

static struct seep_error *load_section(struct loader *loader, const struct seep_trace_section *section) {
    struct seep_error *error = check_order(loader, section);
    if (!error && (section->type == SEEP_TRACE_PROCESS || section->type == SEEP_TRACE_INDEX))
        error = finish_process(loader);
    else if (!error && section->type != loader->type)
        error = finish_array(loader);
    unsigned char *raw = NULL;
    if (!error)
        error = seep_trace_section_unpack(&loader->reader, section, &raw);
    if (error)
        return error;
    struct seep_take take = {raw, raw + section->raw_bytes, false};
    const struct seep_section *codec = seep_section_of(section->type);
    switch (section->type) {
    case SEEP_TRACE_SESSION:
        error = load_session(loader, section, &take);
        break;
    case SEEP_TRACE_PROCESS:
        error = note_group(loader, section);
        if (!error)
            error = load_process(loader, section, &take);
        break;
    case SEEP_TRACE_INDEX:
        error = load_index(loader, section, &take);
        break;
    case SEEP_TRACE_HEALTH:
        error = load_health(loader, section, &take);
        break;
    case SEEP_TRACE_TOTALS:
        error = load_totals(loader, section, &take);
        break;
    default:
        if (codec)
            error = load_with(loader, section, &take, codec);
        else if (!(error = add_part(loader, section, raw)))
            raw = NULL; // the part has it
    }
    free(raw);
    loader->type = section->type;
    return error;
}

static struct seep_error *load_sections(struct loader *loader) {
    for (;;) {
        struct seep_trace_section section;
        bool more = false;
        struct seep_error *error = seep_trace_reader_next(&loader->reader, &section, &more);
        bool wanted = more && section.type != SEEP_TRACE_EVENTS && section.type != SEEP_TRACE_STACKS &&
                      section.type != SEEP_TRACE_EVENT_INDEX && section.type != SEEP_TRACE_RESIDENCE &&
                      section.type != SEEP_TRACE_EVENT_SUMS && seep_trace_type_is_known(section.type);
        if (!error && wanted)
            error = load_section(loader, &section);
        if (error)
            return error;
        if (!more)
            return finish_process(loader);
    }
}

// Says in the main process that others are missing: each other note stands at the process it is about.
static struct seep_error *check_session(struct loader *loader) {
    const struct seep_trace_reader *reader = &loader->reader;
    size_t nr = loader->session->nr_profiles;
    if (!nr && reader->cut)
        return seep_error_hint(seep_error_create(SEEP_E_FORMAT,
                                                 "%s: cut at offset %llu, before its first process "
                                                 "is complete",
                                                 reader->name, (unsigned long long)reader->cut_at),
                               "nothing of the trace is left: record it again");
    if (!nr)
        return seep_error_hint(seep_error_create(SEEP_E_FORMAT, "%s: no process in the trace", reader->name),
                               "record it again");
    if (nr == loader->nr_processes && (!reader->cut || loader->said_cut))
        return NULL;
    if (!reader->cut)
        return seep_error_hint(seep_error_create(SEEP_E_FORMAT,
                                                 "%s: %llu processes are promised, and there are %zu",
                                                 reader->name, (unsigned long long)loader->nr_processes, nr),
                               "the file is damaged: copy it again from where it was made");
    struct seep_profile *main_profile = loader->session->profiles[0];
    return seep_profile_note(
        main_profile, SEEP_NOTE_TRACE_CUT,
        "the trace was cut at offset %llu and what precedes is shown: %zu of %llu processes",
        (unsigned long long)reader->cut_at, nr, (unsigned long long)loader->nr_processes);
}

static void loader_deinit(struct loader *loader) {
    drop_parts(loader);
    free(loader->parts);
    free(loader->group_offs);
    seep_profile_destroy(loader->profile);
}

static struct seep_error *load_trace(const void *bytes, size_t size, const char *name,
                                     const struct seep_trace_passed *passed,
                                     struct seep_session **ret_session) {
    struct loader loader = {0};
    struct seep_error *error = seep_trace_reader_init(bytes, size, name, &loader.reader);
    if (!error)
        seep_trace_reader_pass(&loader.reader, passed);
    if (!error)
        error = seep_session_create(&loader.session);
    if (!error)
        error = load_sections(&loader);
    if (!error)
        error = check_session(&loader);
    if (!error && passed->damaged_off)
        error = seep_profile_note(loader.session->profiles[0], SEEP_NOTE_EVENTS_DAMAGED,
                                  "section %s at offset %llu is damaged: events from there on are not known",
                                  seep_trace_type_name(passed->damaged_type),
                                  (unsigned long long)passed->damaged_off);
    loader_deinit(&loader);
    if (error)
        seep_session_destroy(loader.session);
    else
        *ret_session = loader.session;
    return error;
}

struct seep_error *seep_profile_load(const struct seep_trace_reader *part,
                                     struct seep_profile **ret_profile) {
    struct loader loader = {.reader = *part, .has_session = true};
    struct seep_error *error = seep_session_create(&loader.session);
    if (error)
        return error;
    error = load_sections(&loader);
    bool is_one = !error && loader.session->nr_profiles == 1 && !loader.reader.cut && !loader.has_index;
    if (!error && !is_one)
        error = seep_error_hint(seep_error_create(SEEP_E_FORMAT,
                                                  "%s: at offset %llu there is not the one process that the "
                                                  "index has there",
                                                  part->name, (unsigned long long)part->part_off),
                                "the file is damaged: copy it again from where it was made");
    loader_deinit(&loader);
    if (!error) {
        *ret_profile = loader.session->profiles[0];
        loader.session->nr_profiles = 0;
    }
    seep_session_destroy(loader.session);
    return error;
}

static bool is_raw(const void *bytes, size_t size) {
    bool is_swapped;
    return seep_image_is_raw(bytes, size, &is_swapped);
}

struct seep_error *seep_session_load_bytes(const void *bytes, size_t size, const char *name,
                                           struct seep_session **ret_session) {
    struct seep_trace_passed nothing = {0};
    return is_raw(bytes, size) ? seep_session_from_raw(bytes, size, name, ret_session)
                               : load_trace(bytes, size, name, &nothing, ret_session);
}

struct seep_error *seep_session_load(const char *path, struct seep_session **ret_session) {
    unsigned char *bytes = NULL;
    size_t size = 0;
    struct seep_session *session;
    struct seep_trace_passed passed;
    struct seep_error *error = seep_trace_slurp(path, &bytes, &size, &passed);
    if (error)
        return error;
    const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
    error = passed.nr_sections ? load_trace(bytes, size, name, &passed, &session)
                               : seep_session_load_bytes(bytes, size, name, &session);
    // A trace has it from when it was made; what the library wrote alone has not.
    bool raw = is_raw(bytes, size);
    free(bytes);
    if (!error && raw && (error = seep_profile_note_allocators(session->profiles[0], 0)))
        seep_session_destroy(session);
    if (!error)
        *ret_session = session;
    return error;
}
