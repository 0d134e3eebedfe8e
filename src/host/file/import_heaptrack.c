// SPDX-License-Identifier: BSD-2-Clause
// What heaptrack_interpret writes, version 0 to 3, see import_format.h. Each line begins with a letter:
// texts, instructions and traces come before the allocations that name them.
#include <stdlib.h>
#include <string.h>

#include "file/import_format.h"
#include "names/symbols.h"

struct instruction {
    struct seep_symbol_place place; // nr_frames 0: the file of the module is asked
    uint32_t module;
};

struct info {
    uint64_t size;
    size_t trace;
    uint64_t *live; // addresses that stand for its live blocks
    size_t nr_live, live_capacity;
};

// Ids begin with 1, except those of infos.
struct heaptrack {
    char **strings;
    size_t nr_strings, strings_capacity;
    struct instruction *instructions;
    size_t nr_instructions, instructions_capacity;
    uint32_t *traces; // node
    size_t nr_traces, traces_capacity;
    struct info *infos; // ids begin with 0
    size_t nr_infos, infos_capacity;
    uint64_t nr_addresses; // that were given
    unsigned version;
};

static struct seep_error *read_string(struct seep_import_reading *reading, char *at) {
    struct heaptrack *file = reading->state;
    uint64_t length;
    if (file->version >= 3 && seep_import_take_hex(&at, &length) && *at == ' ')
        at++;
    if (!seep_grow(&file->strings, &file->strings_capacity, file->nr_strings + 1, sizeof(*file->strings)))
        return seep_error_no_memory();
    char *copy = seep_arena_strdup(&reading->importing.profile->arena, at);
    file->strings[file->nr_strings++] = copy;
    return copy ? NULL : seep_error_no_memory();
}

static const char *text_of(const struct heaptrack *file, uint64_t id) {
    return id && id <= file->nr_strings ? file->strings[id - 1] : "";
}

// "FUNCTION FILE LINE" of the innermost function, then of those that it was inlined into; a
// function may lack file and line. If the last function has no name, nothing is taken.
static bool read_frames(struct seep_import_reading *reading, char *at, struct seep_symbol_place *place) {
    struct heaptrack *file = reading->state;
    struct seep_symbol_frame frames[SEEP_PLACE_FRAMES_MAX];
    uint32_t nr = 0;
    uint64_t function, path_id = 0, line = 0;
    while (nr < SEEP_PLACE_FRAMES_MAX && seep_import_take_hex(&at, &function)) {
        bool has_line =
            seep_import_take_hex(&at, &path_id) && seep_import_take_hex(&at, &line) && line <= INT32_MAX;
        const char *name = text_of(file, function), *path = text_of(file, has_line ? path_id : 0);
        if (nr)
            frames[nr - 1].inlined = true;
        frames[nr++] = (struct seep_symbol_frame){
            .function = *name ? name : NULL, .file = *path ? path : NULL, .line = *path ? (unsigned)line : 0};
    }
    if (!nr || !frames[nr - 1].function)
        return true;
    struct seep_symbol_frame *copy = seep_arena_alloc(&reading->importing.profile->arena, nr, sizeof(*copy));
    if (!copy)
        return false;
    memcpy(copy, frames, nr * sizeof(*copy));
    place->frames = copy;
    place->nr_frames = nr;
    return true;
}

static struct seep_error *read_instruction(struct seep_import_reading *reading, char *at) {
    struct heaptrack *file = reading->state;
    uint64_t address = 0, module = 0;
    bool more = seep_import_take_hex(&at, &address) && seep_import_take_hex(&at, &module);
    if (!seep_grow(&file->instructions, &file->instructions_capacity, file->nr_instructions + 1,
                   sizeof(*file->instructions)))
        return seep_error_no_memory();
    struct instruction *to = &file->instructions[file->nr_instructions++];
    *to = (struct instruction){.place.offset = address & ((UINT64_C(1) << 47) - 1)};
    const char *path = text_of(file, module);
    if (more && !read_frames(reading, at, &to->place))
        return seep_error_no_memory();
    return seep_import_module(&reading->importing, path, strlen(path), &to->module) ? NULL
                                                                                    : seep_error_no_memory();
}

static struct seep_error *read_trace(struct seep_import_reading *reading, char *at, uint64_t line) {
    struct heaptrack *file = reading->state;
    uint64_t instruction, parent;
    if (!seep_import_take_hex(&at, &instruction) || !seep_import_take_hex(&at, &parent) ||
        parent > file->nr_traces || instruction > file->nr_instructions)
        return seep_import_damaged(reading, line);
    if (!seep_grow(&file->traces, &file->traces_capacity, file->nr_traces + 1, sizeof(*file->traces)))
        return seep_error_no_memory();
    uint32_t node = parent ? file->traces[parent - 1] : 0;
    const struct instruction *of = instruction ? &file->instructions[instruction - 1] : NULL;
    if (of && !seep_import_node(&reading->importing, node, of->module, of->place.offset,
                                of->module && of->place.nr_frames ? &of->place : NULL, &node))
        return seep_error_no_memory();
    file->traces[file->nr_traces++] = node;
    return NULL;
}

static struct seep_error *read_info(struct seep_import_reading *reading, char *at, uint64_t line) {
    struct heaptrack *file = reading->state;
    uint64_t size, trace;
    if (!seep_import_take_hex(&at, &size) || !seep_import_take_hex(&at, &trace) || trace > file->nr_traces)
        return seep_import_damaged(reading, line);
    if (!seep_grow(&file->infos, &file->infos_capacity, file->nr_infos + 1, sizeof(*file->infos)))
        return seep_error_no_memory();
    file->infos[file->nr_infos++] = (struct info){.size = size, .trace = (size_t)trace};
    return NULL;
}

// From version 1 on the file has no addresses of blocks: each block gets an address that no other block has.
static struct seep_error *read_allocation(struct seep_import_reading *reading, char *at, uint64_t line) {
    struct heaptrack *file = reading->state;
    uint64_t id, trace, address;
    if (!seep_import_take_hex(&at, &id))
        return seep_import_damaged(reading, line);
    if (file->version < 1) { // "+ SIZE TRACE ADDRESS"
        if (!seep_import_take_hex(&at, &trace) || !seep_import_take_hex(&at, &address) ||
            trace > file->nr_traces)
            return seep_import_damaged(reading, line);
        return seep_import_allocation(&reading->importing, address, id, trace ? file->traces[trace - 1] : 0,
                                      SEEP_VIA_MALLOC);
    }
    if (id >= file->nr_infos)
        return seep_import_damaged(reading, line);
    struct info *info = &file->infos[id];
    if (!seep_grow(&info->live, &info->live_capacity, info->nr_live + 1, sizeof(*info->live)))
        return seep_error_no_memory();
    address = (++file->nr_addresses) * 16 + 0x10000;
    info->live[info->nr_live++] = address;
    return seep_import_allocation(&reading->importing, address, info->size,
                                  info->trace ? file->traces[info->trace - 1] : 0, SEEP_VIA_MALLOC);
}

static struct seep_error *read_free(struct seep_import_reading *reading, char *at, uint64_t line) {
    struct heaptrack *file = reading->state;
    uint64_t id;
    if (!seep_import_take_hex(&at, &id) || (file->version >= 1 && id >= file->nr_infos))
        return seep_import_damaged(reading, line);
    if (file->version < 1)
        return seep_import_free(&reading->importing, id, SEEP_RELEASE_FREE);
    struct info *info = &file->infos[id];
    uint64_t address = info->nr_live ? info->live[--info->nr_live] : 1; // 1: a block that there is not
    return seep_import_free(&reading->importing, address, SEEP_RELEASE_FREE);
}

static struct seep_error *read_command(struct seep_import_reading *reading, char *at) {
    struct seep_process *process = &reading->importing.profile->process;
    struct seep_arena *arena = &reading->importing.profile->arena;
    while (*at == ' ')
        at++;
    size_t length = strcspn(at, " ");
    const char **args = seep_arena_alloc(arena, 1, sizeof(*args));
    process->exe = seep_arena_strndup(arena, at, length);
    if (!args || !process->exe || !(args[0] = seep_arena_strdup(arena, at)))
        return seep_error_no_memory();
    process->args = args;
    process->nr_args = process->nr_args_all = 1;
    return NULL;
}

static struct seep_error *read_line(struct seep_import_reading *reading, char *at, uint64_t line) {
    struct heaptrack *file = reading->state;
    uint64_t value;
    char what = *at;
    at += what != 0;
    if (line == 1 && what != 'v')
        return seep_error_hint(seep_error_create(SEEP_E_FORMAT, "%s: does not begin as heaptrack's files do",
                                                 reading->importing.name),
                               "a raw file (heaptrack.*.raw) goes through heaptrack_interpret first");
    switch (what) {
    case 'v':
        if (!seep_import_take_hex(&at, &value))
            return seep_import_damaged(reading, line);
        file->version = seep_import_take_hex(&at, &value) ? (unsigned)SEEP_MIN(value, UINT64_C(1000)) : 0;
        if (file->version > 3)
            return seep_error_create(SEEP_E_VERSION,
                                     "%s: version %u of heaptrack's file, and this seep reads 3",
                                     reading->importing.name, file->version);
        return NULL;
    case 'X':
        return read_command(reading, at);
    case 's':
        return read_string(reading, at + (*at == ' '));
    case 'i':
        return read_instruction(reading, at);
    case 't':
        return read_trace(reading, at, line);
    case 'a':
        return read_info(reading, at, line);
    case '+':
        return read_allocation(reading, at, line);
    case '-':
        return read_free(reading, at, line);
    case 'c':
        if (!seep_import_take_hex(&at, &value))
            return seep_import_damaged(reading, line);
        value = SEEP_MIN(value, (uint64_t)INT64_MAX / 1000000) * 1000000;
        reading->importing.at_ns = SEEP_MAX(reading->importing.at_ns, (int64_t)value);
        return NULL;
    case 'R':  // resident memory
    case 'S':  // a suppression
    case 'I':  // the size of pages
    case 'A':  // attached
    case '#':  // a remark
    case '\0': // nothing
        reading->importing.counts.nr_skipped++;
        return NULL;
    default:
        seep_import_foreign(&reading->importing);
        return NULL;
    }
}

static void free_all(void *state) {
    struct heaptrack *file = state;
    for (size_t i = 0; i < file->nr_infos; i++)
        free(file->infos[i].live);
    free(file->strings);
    free(file->instructions);
    free(file->traces);
    free(file->infos);
}

const struct seep_import_format seep_import_heaptrack = {
    .name = "heaptrack", .state_bytes = sizeof(struct heaptrack), .line = read_line, .end = free_all};
