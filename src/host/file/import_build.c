// SPDX-License-Identifier: BSD-2-Clause
// Makes a recording of imported events, see import_build.h.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "file/import_build.h"
#include "file/session_file.h"
#include "names/symbols.h"
#include "profile/verdict.h"

void seep_importing_deinit(struct seep_importing *importing) {
    for (size_t i = 0; i < importing->names_capacity; i++) {
        free(importing->names[i].names);
        free(importing->names[i].places);
    }
    free(importing->names);
    seep_map_deinit(&importing->modules);
    seep_map_deinit(&importing->nodes);
    seep_map_deinit(&importing->sites);
    seep_map_deinit(&importing->live);
    free(importing->blocks);
    free(importing->free_places);
    free(importing->events);
    seep_chunk_packer_destroy(importing->packer);
    seep_trace_writer_destroy(importing->writer);
    seep_profile_destroy(importing->profile);
}

struct seep_error *seep_importing_begin(struct seep_importing *importing, const char *name,
                                        const char *output) {
    *importing = (struct seep_importing){.name = name};
    importing->seed = seep_hash64((uint64_t)seep_monotonic_ns() ^ (uint64_t)(uintptr_t)importing << 16);
    importing->events = calloc(SEEP_CHUNK_EVENTS, sizeof(*importing->events));
    importing->packer = seep_chunk_packer_create();
    struct seep_error *error = importing->events && importing->packer
                                   ? seep_profile_create(&importing->profile)
                                   : seep_error_no_memory();
    if (!error)
        error = seep_trace_writer_create(output, &importing->writer);
    if (error)
        return error;
    importing->profile->process.pid = 1;
    importing->profile->process.is_main = true;
    uint32_t site;
    // Site 1 is that of stacks that are not known, as in an image.
    return seep_import_node(importing, 0, 0, 0, NULL, &site) ? NULL : seep_error_no_memory();
}

// ---- stacks ------------------------------------------------------------------------------------------

static bool grow(struct seep_arena *arena, void *array_of_any, size_t *capacity, uint32_t nr,
                 size_t element_bytes) {
    void **array = array_of_any;
    if (nr < *capacity)
        return true;
    size_t larger = *capacity ? *capacity * 2 : 64;
    void *fresh = seep_arena_alloc(arena, larger, element_bytes);
    if (!fresh)
        return false;
    memcpy(fresh, *array, nr * element_bytes);
    *array = fresh;
    *capacity = larger;
    return true;
}

// FNV-1a from a start value that no file knows: paths whose hashes are equal from one start value have
// different hashes from another.
static uint64_t key_of(const struct seep_importing *importing, const char *path, size_t length) {
    uint64_t hash = importing->seed;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)path[i]) * UINT64_C(0x100000001b3);
    return seep_hash64(hash);
}

static bool is_module(const struct seep_module *module, const char *path, size_t length) {
    return strlen(module->path) == length && memcmp(module->path, path, length) == 0;
}

bool seep_import_module(struct seep_importing *importing, const char *path, size_t length,
                        uint32_t *ret_module) {
    struct seep_profile *profile = importing->profile;
    uint64_t key = key_of(importing, path, length);
    const uint64_t *known;
    *ret_module = 0;
    while ((known = seep_map_find(&importing->modules, key)) &&
           !is_module(&profile->modules[*known], path, length))
        key = seep_hash64(key + 1);
    if (known)
        *ret_module = (uint32_t)*known;
    if (known || !length || profile->nr_modules >= UINT16_MAX)
        return true;
    if (!grow(&profile->arena, &profile->modules, &importing->modules_capacity, profile->nr_modules,
              sizeof(*profile->modules)))
        return false;
    struct seep_module *module = &profile->modules[profile->nr_modules];
    *module =
        (struct seep_module){.path = seep_arena_strndup(&profile->arena, path, length), .unloaded_ns = -1};
    uint64_t *at = module->path ? seep_map_at(&importing->modules, key, NULL) : NULL;
    if (!at)
        return false;
    *at = *ret_module = profile->nr_modules++;
    return true;
}

static bool add_name(struct seep_importing *importing, uint32_t module, uint64_t offset,
                     const struct seep_symbol_place *place) {
    if (!seep_grow(&importing->names, &importing->names_capacity, (size_t)module + 1,
                   sizeof(*importing->names)))
        return false;
    struct seep_import_names *names = &importing->names[module];
    if (!seep_grow(&names->names, &names->capacity, names->nr + 1, sizeof(*names->names)))
        return false;
    names->names[names->nr++] = (struct seep_symbol_name){
        .offset = offset, .bytes = 1, .name = place->frames[place->nr_frames - 1].function};
    if (place->nr_frames == 1 && !place->frames[0].file)
        return true;
    if (!seep_grow(&names->places, &names->places_capacity, names->nr_places + 1, sizeof(*names->places)))
        return false;
    names->places[names->nr_places++] = *place;
    return true;
}

bool seep_import_node(struct seep_importing *importing, uint32_t parent, uint32_t module, uint64_t offset,
                      const struct seep_symbol_place *place, uint32_t *ret_node) {
    struct seep_profile *profile = importing->profile;
    struct {
        uint64_t offset;
        uint32_t parent, module;
    } key = {offset, parent, module};
    uint64_t *known = seep_map_at(&importing->nodes, seep_hash_bytes(&key, sizeof(key)), NULL);
    if (!known)
        return false;
    if (!*known) {
        if (!grow(&profile->arena, &profile->nodes, &importing->nodes_capacity, profile->nr_nodes,
                  sizeof(*profile->nodes)) ||
            (place && !add_name(importing, module, offset, place)))
            return false;
        profile->nodes[profile->nr_nodes] = (struct seep_node){.parent = parent,
                                                               .module = module,
                                                               .offset = offset,
                                                               .exact = place != NULL,
                                                               .kind = SEEP_NODE_FRAME};
        *known = profile->nr_nodes++;
    }
    *ret_node = (uint32_t)*known;
    return true;
}

static bool find_site(struct seep_importing *importing, uint32_t node, uint32_t via, uint32_t *ret_site) {
    struct seep_profile *profile = importing->profile;
    uint64_t *place = seep_map_at(&importing->sites, (uint64_t)node << 32 | via, NULL);
    if (!place)
        return false;
    if (!*place) {
        if (!grow(&profile->arena, &profile->sites, &importing->sites_capacity, profile->nr_sites,
                  sizeof(*profile->sites)))
            return false;
        profile->sites[profile->nr_sites] = (struct seep_site){.node = node, .via = via};
        profile->sites[profile->nr_sites].counters.size_min = UINT64_MAX;
        *place = profile->nr_sites++;
    }
    *ret_site = (uint32_t)*place;
    return true;
}

// ---- events ------------------------------------------------------------------------------------------

static struct seep_error *write_chunk(struct seep_importing *importing) {
    uint64_t nr = importing->nr_events;
    if (!nr)
        return NULL;
    struct seep_chunk chunk = {.pid = importing->profile->process.pid, .nr_events = nr};
    chunk.begin = (struct seep_chunk_clock){importing->events[0].stamp, (uint64_t)importing->first_ns};
    chunk.end = (struct seep_chunk_clock){importing->events[nr - 1].stamp, (uint64_t)importing->at_ns};
    struct seep_put put = {0};
    struct seep_error *error =
        seep_chunk_write(importing->writer, importing->packer, &put, &chunk, importing->events);
    seep_put_deinit(&put);
    importing->nr_events = 0;
    return error;
}

static struct seep_error *add_event(struct seep_importing *importing, uint32_t kind,
                                    const struct seep_block *block) {
    // Within a chunk time goes evenly with the stamps: a jump of it begins another.
    enum { JUMP_NS = 1000000 };
    struct seep_error *error = NULL;
    if (importing->nr_events == SEEP_CHUNK_EVENTS ||
        (importing->nr_events && importing->at_ns - importing->first_ns > JUMP_NS &&
         importing->nr_events > 4096))
        error = write_chunk(importing);
    if (!importing->nr_events)
        importing->first_ns = importing->at_ns;
    importing->events[importing->nr_events++] = (struct seep_recorded){.stamp = ++importing->stamp,
                                                                       .address = block->address,
                                                                       .size = block->size,
                                                                       .site = block->site,
                                                                       .kind = kind};
    importing->counts.nr_events++;
    return error;
}

static struct seep_error *end_block(struct seep_importing *importing, uint64_t *place, uint32_t release) {
    struct seep_block *block = &importing->blocks[*place - 1];
    struct seep_counters *site = &importing->profile->sites[block->site].counters;
    if (release != SEEP_RELEASE_IMPLICIT) {
        site->temporary += block->address == importing->last;
        importing->last = 0;
    }
    site->frees++;
    site->freed_bytes += block->size;
    importing->live_bytes -= (int64_t)block->size;
    importing->profile->totals.releases[release]++;
    struct seep_error *error = add_event(importing, SEEP_EVENT_FREE + release, block);
    if (!seep_grow(&importing->free_places, &importing->free_capacity, importing->nr_free + 1,
                   sizeof(*importing->free_places)))
        return error ? error : seep_error_no_memory();
    importing->free_places[importing->nr_free++] = (size_t)(*place - 1);
    block->address = 0;
    *place = 0;
    return error;
}

static void add_line(struct seep_imported_lines *lines, uint64_t line) {
    if (lines->nr < SEEP_IMPORTED_LINES)
        lines->first[lines->nr] = line;
    lines->nr++;
}

void seep_import_foreign(struct seep_importing *importing) {
    add_line(&importing->counts.foreign, importing->line);
}

struct seep_error *seep_import_free(struct seep_importing *importing, uint64_t address, uint32_t release) {
    uint64_t *place = address ? seep_map_find(&importing->live, address) : NULL;
    if (place && *place)
        return end_block(importing, place, release);
    if (address) {
        add_line(&importing->counts.unknown_frees, importing->line);
        importing->profile->totals.unknown_frees++;
    }
    return NULL;
}

struct seep_error *seep_import_allocation(struct seep_importing *importing, uint64_t address, uint64_t size,
                                          uint32_t node, uint32_t via) {
    if (!address || size > INT64_MAX >> 17) { // it failed
        importing->profile->totals.failed += !address;
        if (address)
            seep_import_foreign(importing); // no program has so much memory
        return NULL;
    }
    uint64_t *place = seep_map_at(&importing->live, address, NULL);
    uint32_t site_id;
    if (!place || !find_site(importing, node, via, &site_id))
        return seep_error_no_memory();
    struct seep_error *error = NULL;
    if (*place) {
        add_line(&importing->counts.handed_again, importing->line);
        error = end_block(importing, place, SEEP_RELEASE_IMPLICIT);
    }
    size_t at = importing->nr_free ? importing->free_places[--importing->nr_free] : importing->nr_blocks;
    if (!error &&
        !seep_grow(&importing->blocks, &importing->blocks_capacity, at + 1, sizeof(*importing->blocks)))
        error = seep_error_no_memory();
    if (error)
        return error;
    importing->nr_blocks = SEEP_MAX(importing->nr_blocks, at + 1);
    importing->blocks[at] = (struct seep_block){
        .address = address, .size = size, .site = site_id, .thread = UINT32_MAX, .age_ns = importing->at_ns};
    *place = at + 1;
    importing->last = address;
    struct seep_counters *site = &importing->profile->sites[site_id].counters;
    site->allocations++;
    site->allocated_bytes += size;
    site->size_min = SEEP_MIN(site->size_min, size);
    site->size_max = SEEP_MAX(site->size_max, size);
    site->peak_bytes = SEEP_MAX(site->peak_bytes, site->allocated_bytes - site->freed_bytes);
    importing->live_bytes += (int64_t)size;
    importing->peak_bytes = SEEP_MAX(importing->peak_bytes, importing->live_bytes);
    unsigned class = size ? 64u - (unsigned)__builtin_clzll(size) : 0;
    importing->profile->totals.size_class[SEEP_MIN(class, SEEP_IMAGE_SIZE_CLASSES - 1u)]++;
    return add_event(importing, SEEP_EVENT_ALLOCATION, &importing->blocks[at]);
}

// ---- the end -----------------------------------------------------------------------------------------

static int by_address(const void *left, const void *right) {
    const struct seep_block *a = left, *b = right;
    return (a->address > b->address) - (a->address < b->address);
}

static int by_offset(const void *left, const void *right) {
    const struct seep_symbol_name *a = left, *b = right;
    return (a->offset > b->offset) - (a->offset < b->offset);
}

static int by_place(const void *left, const void *right) {
    const struct seep_symbol_place *a = left, *b = right;
    return (a->offset > b->offset) - (a->offset < b->offset);
}

static void set_blocks(struct seep_importing *importing) {
    size_t nr = 0;
    for (size_t i = 0; i < importing->nr_blocks; i++)
        if (importing->blocks[i].address)
            importing->blocks[nr++] = importing->blocks[i];
    for (size_t i = 0; i < nr; i++)
        importing->blocks[i].age_ns = importing->at_ns - importing->blocks[i].age_ns;
    if (nr)
        qsort(importing->blocks, nr, sizeof(*importing->blocks), by_address);
    importing->profile->blocks = importing->blocks; // borrowed: the profile does not outlive us
    importing->profile->nr_blocks = nr;
}

static void set_names(struct seep_importing *importing) {
    struct seep_profile *profile = importing->profile;
    for (uint32_t i = 1; i < profile->nr_modules && i < importing->names_capacity; i++) {
        struct seep_import_names *names = &importing->names[i];
        if (!names->nr)
            continue;
        qsort(names->names, names->nr, sizeof(*names->names), by_offset);
        uint32_t nr = 0;
        for (size_t j = 0; j < names->nr; j++)
            if (!nr || names->names[nr - 1].offset != names->names[j].offset)
                names->names[nr++] = names->names[j];
        profile->modules[i].names = names->names;
        profile->modules[i].nr_names = nr;
        if (!names->nr_places)
            continue;
        qsort(names->places, names->nr_places, sizeof(*names->places), by_place);
        nr = 0;
        for (size_t j = 0; j < names->nr_places; j++)
            if (!nr || names->places[nr - 1].offset != names->places[j].offset)
                names->places[nr++] = names->places[j];
        profile->modules[i].places = names->places;
        profile->modules[i].nr_places = nr;
    }
}

struct seep_imported_lines_text seep_imported_lines_text(const struct seep_imported_lines *lines) {
    struct seep_imported_lines_text text;
    uint64_t nr = SEEP_MIN(lines->nr, (uint64_t)SEEP_IMPORTED_LINES);
    bool more = lines->nr > nr;
    size_t used = (size_t)snprintf(text.text, sizeof(text.text), "line%s", nr > 1 ? "s" : "");
    for (uint64_t i = 0; i < nr; i++) {
        const char *before = !i ? " " : i + 1 < nr || more ? ", " : " and ";
        used += (size_t)snprintf(text.text + used, sizeof(text.text) - used, "%s%" PRIu64, before,
                                 lines->first[i]);
    }
    if (more)
        snprintf(text.text + used, sizeof(text.text) - used, " and others");
    return text;
}

struct seep_error *seep_importing_end(struct seep_importing *importing, const char *output) {
    struct seep_profile *profile = importing->profile;
    struct seep_error *error = write_chunk(importing);
    set_blocks(importing);
    set_names(importing);
    profile->process.duration_ns = importing->at_ns;
    seep_profile_derive(profile);
    profile->totals.peak_bytes = (uint64_t)importing->peak_bytes;
    profile->totals.peak_exact = true;
    const struct seep_imported_lines *frees = &importing->counts.unknown_frees,
                                     *again = &importing->counts.handed_again,
                                     *foreign = &importing->counts.foreign;
    if (!error && frees->nr)
        error =
            seep_profile_note(profile, SEEP_NOTE_EVENTS_STRANGE,
                              "frees of blocks that the file does not allocate are left out: %" PRIu64 ", %s",
                              frees->nr, seep_imported_lines_text(frees).text);
    if (!error && again->nr)
        error = seep_profile_note(profile, SEEP_NOTE_EVENTS_STRANGE,
                                  "blocks that are handed out again without a free count as freed: %" PRIu64
                                  ", %s; several processes wrote the file, or lines are missing",
                                  again->nr, seep_imported_lines_text(again).text);
    if (!error && foreign->nr)
        error = seep_profile_note(profile, SEEP_NOTE_EVENTS_STRANGE,
                                  "lines that are not of the imported format are left out: %" PRIu64 ", %s",
                                  foreign->nr, seep_imported_lines_text(foreign).text);
    if (!error && importing->counts.cut_line)
        error =
            seep_profile_note(profile, SEEP_NOTE_TRACE_CUT,
                              "the file may be cut: its last line, %" PRIu64 ", has no end and is left out",
                              importing->counts.cut_line);
    struct seep_session session = {.profiles = &profile, .nr_profiles = 1};
    return error ? error : seep_session_save_behind(&session, output, importing->writer);
}
