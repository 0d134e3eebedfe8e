// SPDX-License-Identifier: BSD-2-Clause
//
// What a process has mapped as code, and making tables, probes and modules agree with it. See
// attach_parts.h.
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/live_thread.h"
#include "process/memory_copy.h"
#include "process/process_map.h"
#include "source/attach/attach_parts.h"
#include "source/attach/traced_process.h"

struct layout {
    struct seep_heap_area *areas;
    struct seep_bpf_mapping *mappings;
    size_t *objects;               // of each mapping
    struct seep_bpf_mapping *code; // these mappings, and code without a file, which has no rows
    size_t nr_areas;
    size_t nr_mappings;
    size_t nr_code;
};

// The code of a library is copied from its first to its last probe, but no more than this.
#define PROBED_BYTES_MAX (UINT64_C(4) << 20)

// The part of the mapping that has the probes, as offsets in the file. false: it has none.
static bool find_probed(const struct seep_attach_object *object, const struct seep_code_area *area,
                        uint64_t *ret_first, uint64_t *ret_end) {
    uint64_t first = UINT64_MAX, end = 0, area_end = area->file_off + (area->end - area->start);
    for (size_t kind = 0; kind < SEEP_PROBE_NR; kind++) {
        const struct seep_probe_places *places = &object->allocator.places[kind];
        for (size_t i = 0; i < places->nr; i++) {
            if (places->offsets[i] < area->file_off || places->offsets[i] >= area_end)
                continue;
            first = SEEP_MIN(first, places->offsets[i]);
            end = SEEP_MAX(end, places->offsets[i] + 1);
        }
    }
    *ret_first = first;
    *ret_end = SEEP_MIN(end, first + PROBED_BYTES_MAX);
    return end != 0;
}

// Whether in the process there is a breakpoint where the file has none: another tracer's.
static bool has_breakpoint(const struct seep_attach_object *object, pid_t pid,
                           const struct seep_code_area *area) {
    uint64_t first, end;
    if (!find_probed(object, area, &first, &end))
        return false;
    int memory =
        seep_memory_copy(pid, area->start + (first - area->file_off), area->start + (end - area->file_off));
    bool found = false;
    for (size_t kind = 0; kind < SEEP_PROBE_NR && memory >= 0; kind++) {
        const struct seep_probe_places *places = &object->allocator.places[kind];
        for (size_t i = 0; i < places->nr; i++) {
            uint8_t mapped, in_file;
            found |= places->offsets[i] >= first && places->offsets[i] < end &&
                     pread(memory, &mapped, 1, (off_t)(places->offsets[i] - first)) == 1 && mapped == 0xcc &&
                     pread(object->fd, &in_file, 1, (off_t)places->offsets[i]) == 1 && in_file != 0xcc;
        }
    }
    if (memory >= 0)
        close(memory);
    return found;
}

// Before our own are there. A child has copies of its parent's, which the kernel takes away in time.
static struct seep_error *warn_of_breakpoints(const struct seep_attach_object *object,
                                              struct seep_traced_process *process,
                                              const struct seep_code_area *area) {
    if (object->fd < 0 || object->probed || process->forked_from || process->heap.nr_areas ||
        !has_breakpoint(object, process->heap.pid, area))
        return NULL;
    return seep_traced_process_note(
        process, SEEP_NOTE_BREAKPOINTS,
        "another tracer has breakpoints in the allocator functions of %s: both see "
        "the calls, and each call costs more",
        object->path);
}

static struct seep_error *add_module(const struct seep_attached *attached,
                                     struct seep_traced_process *process,
                                     const struct seep_attach_object *object,
                                     const struct seep_code_area *area, struct seep_heap_area *ret_area,
                                     uint64_t *ret_bias) {
    uint64_t address;
    if (object->unreadable || !seep_elf_address(&object->elf, area->file_off, &address))
        address = area->file_off;
    struct seep_heap_module module = {
        .module = {.path = area->path,
                   .bias_rt = area->start - address,
                   .start_rt = area->start,
                   .end_rt = area->end,
                   .first_seen_ns = attached->now_ns,
                   .unloaded_ns = -1,
                   .build_id_bytes = object->build_id_bytes},
        .operators = object->allocator.operators,
        .nr_operators = object->allocator.nr_operators,
    };
    memcpy(module.module.build_id, object->build_id, sizeof(module.module.build_id));
    *ret_bias = module.module.bias_rt;
    *ret_area = (struct seep_heap_area){.start = area->start, .end = area->end};
    return seep_heap_add_module(&process->heap, &module, &ret_area->module);
}

static struct seep_bpf_mapping mapping_of(const struct seep_attach_object *object,
                                          const struct seep_code_area *area, uint64_t bias) {
    return (struct seep_bpf_mapping){
        .start = area->start,
        .end = area->end,
        .base = bias + object->base,
        .first_page = object->place.first_page,
        .nr_pages = object->place.nr_pages,
    };
}

static struct seep_error *add_area(struct seep_attached *attached, struct seep_traced_process *process,
                                   const struct seep_code_area *area, struct layout *layout) {
    size_t index;
    uint64_t bias;
    struct seep_error *err = seep_attach_find_object(attached, process->heap.pid, area, &index);
    if (!err && !*area->path)
        layout->code[layout->nr_code++] = (struct seep_bpf_mapping){.start = area->start, .end = area->end};
    if (err || !*area->path)
        return err;
    const struct seep_attach_object *object = attached->objects[index];
    err = add_module(attached, process, object, area, &layout->areas[layout->nr_areas], &bias);
    if (err)
        return err;
    layout->nr_areas++;
    layout->objects[layout->nr_mappings] = index;
    layout->code[layout->nr_code++] = mapping_of(object, area, bias);
    layout->mappings[layout->nr_mappings++] = mapping_of(object, area, bias);
    return warn_of_breakpoints(object, process, area);
}

// Some code that was there is gone, or is something else now.
static bool lost_code(const struct seep_heap *heap, const struct layout *layout) {
    for (size_t i = 0; i < heap->nr_areas; i++) {
        bool kept = false;
        for (size_t j = 0; j < layout->nr_areas; j++)
            kept |= heap->areas[i].start == layout->areas[j].start &&
                    heap->areas[i].module == layout->areas[j].module;
        if (!kept)
            return true;
    }
    return false;
}

// Whether the process still runs the program of these events: after an exec it has the same pid and another
// stack.
static bool is_same_life(struct seep_traced_process *process, const struct seep_process_map *map) {
    if (!map->stack_end_rt)
        return true;
    if (!process->stack_rt)
        process->stack_rt = map->stack_end_rt - 1;
    return process->stack_rt >= map->stack_start_rt && process->stack_rt <= map->stack_end_rt;
}

struct seep_error *seep_attach_update_process(struct seep_attached *attached,
                                              struct seep_traced_process *process) {
    struct seep_process_map map;
    uint32_t pid = (uint32_t)process->heap.pid, moved = seep_bpf_tables_moved(&attached->tables, pid);
    struct seep_error *err = seep_process_map_init(process->heap.pid, &map);
    if (err)
        return err;
    if (!map.nr_areas || !is_same_life(process, &map)) { // it has ended: keep its last layout
        seep_process_map_deinit(&map);
        return NULL;
    }
    struct layout layout = {.areas = calloc(map.nr_areas + 1, sizeof(*layout.areas)),
                            .mappings = calloc(map.nr_areas + 1, sizeof(*layout.mappings)),
                            .objects = calloc(map.nr_areas + 1, sizeof(*layout.objects)),
                            .code = calloc(map.nr_areas + 1, sizeof(*layout.code))};
    if (!layout.areas || !layout.mappings || !layout.objects || !layout.code)
        err = seep_error_no_memory();
    for (size_t i = 0; i < map.nr_areas && !err; i++)
        err = add_area(attached, process, &map.areas[i], &layout);
    // If the loader has changed mappings meanwhile, these mappings belong to a later event. That event calls
    // this function again.
    bool later = seep_bpf_tables_moved(&attached->tables, pid) != moved;
    attached->generation += !err && !later && lost_code(&process->heap, &layout);
    if (!err && !later)
        err = seep_bpf_tables_set_process(&attached->tables, pid, layout.mappings, layout.nr_mappings,
                                          attached->generation,
                                          process->is_loading ? SEEP_BPF_PROCESS_LOADING : 0);
    if (!err && !later)
        err = seep_attach_set_code(process, layout.code, layout.nr_code,
                                   (uint32_t[]){moved, attached->generation});
    if (!err && !later)
        err = seep_heap_set_areas(&process->heap, layout.areas, layout.nr_areas, attached->now_ns);
    // The probes come last, because their first stacks need all tables.
    for (size_t i = 0; i < layout.nr_mappings && !err; i++)
        err = seep_attach_probes(attached, layout.objects[i], process->heap.pid);
    free(layout.code);
    free(layout.objects);
    free(layout.areas);
    free(layout.mappings);
    seep_process_map_deinit(&map);
    return err;
}

static struct seep_error *add_code(struct seep_traced_process *process,
                                   const struct seep_attach_object *object, const struct seep_code_area *area,
                                   uint64_t bias) {
    struct seep_bpf_mapping mapping = mapping_of(object, area, bias);
    return seep_attach_add_code(process, &mapping);
}

struct seep_error *seep_attach_took_code(struct seep_attached *attached, struct seep_traced_process *process,
                                         const struct seep_bpf_code *code) {
    for (size_t i = 0; i < attached->nr_objects; i++) {
        const struct seep_attach_object *object = attached->objects[i];
        if (object->device != code->file.device || object->inode != code->file.inode)
            continue;
        struct seep_code_area area = {.start = code->event.address,
                                      .end = code->end,
                                      .file_off = code->file.page_off << 12,
                                      .path = object->path};
        struct seep_heap_area traced;
        uint64_t bias;
        struct seep_error *err = add_module(attached, process, object, &area, &traced, &bias);
        if (!err)
            err = add_code(process, object, &area, bias);
        return err ? err : seep_heap_add_area(&process->heap, &traced);
    }
    return NULL;
}

// ---- files that were closed again ---------------------------------------------------------------------

#define CLOSED_PATH_BYTES (512 + SEEP_BPF_NAMES_MAX * SEEP_BPF_NAME_BYTES) // a mount and the path in it

// The path within the file system. Returns whether it is whole.
static bool path_of(const char (*names)[SEEP_BPF_NAME_BYTES], size_t nr, char *path, size_t capacity) {
    size_t first = 0, length = 0;
    while (first < nr && *names[first])
        first++;
    for (size_t i = first; i-- > 0;)
        length += (size_t)snprintf(path + length, capacity - length, "/%.*s", (int)SEEP_BPF_NAME_BYTES - 1,
                                   names[i]);
    path[length] = 0;
    return first > 0 && first < nr;
}

// Where that is mounted and opens as the file that it was. false: nowhere, and the path stays.
// Source: proc_pid_mountinfo(5).
static bool find_mounted(const struct seep_traced_process *process, struct seep_code_area *area, char *path,
                         size_t capacity) {
    char name[64], line[2048], top[512], mount[512], inside[CLOSED_PATH_BYTES];
    snprintf(inside, sizeof(inside), "%s", path);
    snprintf(name, sizeof(name), "/proc/%d/mountinfo", (int)seep_live_thread(process->heap.pid));
    FILE *file = fopen(name, "re");
    if (!file)
        file = fopen("/proc/self/mountinfo", "re"); // it has ended
    bool found = false;
    while (file && !found && fgets(line, sizeof(line), file)) {
        unsigned major_number, minor_number;
        if (sscanf(line, "%*s %*s %u:%u %511s %511s", &major_number, &minor_number, top, mount) != 4 ||
            seep_kernel_device(major_number, minor_number) != area->device)
            continue;
        size_t nr_top = strcmp(top, "/") == 0 ? 0 : strlen(top);
        if (strncmp(inside, top, nr_top) != 0 || inside[nr_top] != '/')
            continue;
        int length = snprintf(path, capacity, "%s%s", strcmp(mount, "/") == 0 ? "" : mount, inside + nr_top);
        int fd = length > 0 && (size_t)length < capacity ? seep_code_area_open(process->heap.pid, area) : -1;
        found = fd >= 0;
        if (found)
            close(fd);
    }
    if (file)
        fclose(file);
    if (!found)
        snprintf(path, capacity, "%s", inside);
    return found;
}

static struct seep_error *add_closed(struct seep_attached *attached, struct seep_traced_process *process,
                                     const struct seep_code_area *area, bool is_there, uint32_t *ret_module) {
    static const struct seep_attach_object nothing = {.unreadable = true};
    const struct seep_attach_object *object = &nothing;
    struct seep_heap_area unused;
    uint64_t bias;
    struct seep_error *err = NULL;
    for (size_t i = 0; i < attached->nr_objects && object == &nothing; i++)
        if (attached->objects[i]->device == area->device && attached->objects[i]->inode == area->inode)
            object = attached->objects[i];
    if (object == &nothing && is_there) {
        size_t index;
        err = seep_attach_find_object(attached, process->heap.pid, area, &index);
        if (!err)
            object = attached->objects[index];
    }
    if (!err)
        err = add_module(attached, process, object, area, &unused, &bias);
    if (!err && !object->unreadable)
        err = add_code(process, object, area, bias);
    if (!err)
        *ret_module = unused.module;
    return err;
}

struct seep_error *seep_attach_took_unread(struct seep_attached *attached,
                                           struct seep_traced_process *process,
                                           const struct seep_bpf_unread *unread, size_t nr_bytes) {
    char path[CLOSED_PATH_BYTES];
    struct seep_code_area area = {.start = unread->start,
                                  .end = unread->end,
                                  .file_off = unread->file.page_off << 12,
                                  .device = unread->file.device,
                                  .inode = unread->file.inode,
                                  .path = path};
    size_t nr = SEEP_MIN((nr_bytes - offsetof(struct seep_bpf_unread, names)) / SEEP_BPF_NAME_BYTES,
                         (size_t)SEEP_BPF_NAMES_MAX);
    bool whole = path_of(unread->names, nr, path, sizeof(path));
    if (!*path)
        return NULL; // it stays code of which nothing is known
    bool is_there = whole && find_mounted(process, &area, path, sizeof(path));
    uint32_t module;
    struct seep_error *err = add_closed(attached, process, &area, is_there, &module);
    return err ? err : seep_heap_last_module(&process->heap, unread->event.address, module);
}

const char *seep_attach_program_of(struct seep_traced_process *process, const struct seep_bpf_exec *exec) {
    char path[CLOSED_PATH_BYTES];
    struct seep_code_area area = {.device = exec->file.device, .inode = exec->file.inode, .path = path};
    bool is_there = path_of(exec->names, SEEP_BPF_NAMES_MAX, path, sizeof(path)) &&
                    find_mounted(process, &area, path, sizeof(path));
    return seep_arena_strdup(&process->heap.arena, is_there ? path : exec->path);
}
