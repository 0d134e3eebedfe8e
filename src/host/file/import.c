// SPDX-License-Identifier: BSD-2-Clause
// Reads the files of other tools, see import.h.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map_line.h"
#include "file/import.h"
#include "file/import_build.h"
#include "file/lines.h"
#include "names/symbols.h"

// Numbers beside the events, of one format.
struct reading {
    struct seep_importing importing;
    const struct seep_import_options *options;
    // mmleak: areas of the maps, by address.
    struct area {
        uint64_t start, end, bias;
        uint32_t module;
    } * areas;
    size_t nr_areas, areas_capacity;
    // heaptrack
    char **strings; // from 1 on
    size_t nr_strings, strings_capacity;
    struct instruction {
        struct seep_symbol_place place; // nr_frames 0: the file of the module is asked
        uint32_t module;
    } * instructions; // from 1 on
    size_t nr_instructions, instructions_capacity;
    uint32_t *traces; // node; from 1 on
    size_t nr_traces, traces_capacity;
    struct info {
        uint64_t size;
        size_t trace;
        uint64_t *live; // addresses that stand for its live blocks
        size_t nr_live, live_capacity;
    } * infos;
    size_t nr_infos, infos_capacity;
    uint64_t next_address;
    unsigned version;
    // mtrace: what a realloc takes
    uint64_t moving;
};

static struct seep_error *damaged(const struct reading *reading, uint64_t line) {
    return seep_error_hint(
        seep_error_create(SEEP_E_FORMAT, "%s: line %" PRIu64 " is not of the imported format",
                          reading->importing.name, line),
        reading->importing.counts.nr_events
            ? "the file is damaged there, or several processes wrote it; cut the file before that line"
            : "name its format with --format");
}

// A hexadecimal number and what follows it; "(nil)" is 0. false: it is none.
static bool take_hex(char **at, uint64_t *ret_value) {
    while (**at == ' ' || **at == '\t')
        ++*at;
    if (strncmp(*at, "(nil)", 5) == 0) {
        *at += 5;
        *ret_value = 0;
        return true;
    }
    char *end;
    *ret_value = strtoull(*at, &end, 16);
    bool good = end != *at && **at != '-' && **at != '+';
    *at = end;
    return good;
}

static bool take_number(char **at, uint64_t *ret_value) {
    while (**at == ' ' || **at == '\t')
        ++*at;
    char *end;
    *ret_value = strtoull(*at, &end, 10);
    bool good = end != *at && **at >= '0' && **at <= '9';
    *at = end;
    return good;
}

// Lines have no time: each is a microsecond.
static void pass_time(struct reading *reading, uint64_t line) {
    reading->importing.at_ns = (int64_t)SEEP_MIN(line, (uint64_t)INT64_MAX / 1000) * 1000;
}

// ---- mtrace of glibc: "@ prog:(main+0x14)[0x401150] + 0x1234 0x64" -----------------------------------

static struct seep_error *mtrace_place(struct reading *reading, char **at, uint32_t *ret_node) {
    *ret_node = 0;
    if (strncmp(*at, "@ ", 2) != 0)
        return NULL;
    char *where = *at + 2;
    char *end = strchr(where, ' ');
    char *colon = NULL; // the last one before the place in it
    for (char *c = where; end && c < end; c++)
        if (*c == ':')
            colon = c;
    if (!end)
        return NULL;
    *at = end + 1;
    if (!colon)
        return NULL;
    uint64_t offset = 0;
    char *plus = strstr(colon, "(+"), *bracket = strchr(colon, '[');
    char *number = plus && plus < end ? plus + 2 : bracket && bracket < end ? bracket + 1 : NULL;
    uint32_t module;
    if (!number || !take_hex(&number, &offset))
        return NULL;
    if (!seep_import_module(&reading->importing, where, (size_t)(colon - where), &module) ||
        !seep_import_node(&reading->importing, 0, module, offset, NULL, ret_node))
        return seep_error_no_memory();
    return NULL;
}

static struct seep_error *mtrace_line(struct reading *reading, char *at, uint64_t line) {
    struct seep_importing *importing = &reading->importing;
    uint32_t node;
    pass_time(reading, line);
    if (*at == '=' || !*at) { // "= Start"
        importing->counts.nr_skipped++;
        return NULL;
    }
    struct seep_error *error = mtrace_place(reading, &at, &node);
    char what = *at;
    uint64_t address = 0, size = 0;
    if (error)
        return error;
    at += what != 0;
    if (!what || !strchr("+-<>!", what) || !take_hex(&at, &address) ||
        (strchr("+>!", what) && !take_hex(&at, &size)))
        return damaged(reading, line);
    switch (what) {
    case '+':
        return seep_import_allocation(importing, address, size, node, SEEP_VIA_MALLOC);
    case '-':
        return seep_import_free(importing, address, SEEP_RELEASE_FREE);
    case '<':
        reading->moving = address;
        return seep_import_free(importing, address, SEEP_RELEASE_REALLOC);
    case '>':
        return seep_import_allocation(importing, address, size, node, SEEP_VIA_REALLOC);
    default: // a realloc that failed
        importing->profile->totals.failed++;
        return NULL;
    }
}

// ---- mmleak: "ADDRESS CALLER SIZE", and without a size a free ------------------------------------------

static int by_start(const void *a, const void *b) {
    const struct area *left = a, *right = b;
    return (left->start > right->start) - (left->start < right->start);
}

static int find_area(const void *caller, const void *of_areas) {
    uint64_t address = *(const uint64_t *)caller;
    const struct area *area = of_areas;
    return address < area->start ? -1 : address >= area->end;
}

static struct seep_error *read_maps(struct reading *reading) {
    struct seep_lines *lines = NULL;
    struct seep_error *error = seep_lines_open(reading->options->maps, &lines);
    while (!error) {
        char *text;
        struct seep_map_line line;
        error = seep_lines_next(lines, &text);
        if (error || !text)
            break;
        if (!seep_map_line_read(text, &line) || line.path[0] != '/')
            continue;
        size_t length = strcspn(line.path, "\n");
        uint32_t module;
        if (!seep_grow(&reading->areas, &reading->areas_capacity, reading->nr_areas + 1,
                       sizeof(*reading->areas)) ||
            !seep_import_module(&reading->importing, line.path, length, &module))
            error = seep_error_no_memory();
        else {
            reading->areas[reading->nr_areas].start = line.start;
            reading->areas[reading->nr_areas].end = line.end;
            reading->areas[reading->nr_areas].bias = line.start - line.file_off;
            reading->areas[reading->nr_areas++].module = module;
        }
    }
    seep_lines_close(lines);
    if (reading->nr_areas)
        qsort(reading->areas, reading->nr_areas, sizeof(*reading->areas), by_start);
    return error;
}

static bool mmleak_node(struct reading *reading, uint64_t caller, uint32_t *ret_node) {
    const struct area *area = reading->nr_areas ? bsearch(&caller, reading->areas, reading->nr_areas,
                                                          sizeof(*reading->areas), find_area)
                                                : NULL;
    if (area)
        return seep_import_node(&reading->importing, 0, area->module, caller - area->bias, NULL, ret_node);
    return seep_import_node(&reading->importing, 0, 0, caller & ((UINT64_C(1) << 47) - 1), NULL, ret_node);
}

static struct seep_error *mmleak_line(struct reading *reading, char *at, uint64_t line) {
    uint64_t address, caller, size;
    uint32_t node;
    pass_time(reading, line);
    if (!*at) {
        reading->importing.counts.nr_skipped++;
        return NULL;
    }
    if (!take_hex(&at, &address) || !take_hex(&at, &caller))
        return damaged(reading, line);
    if (!*at)
        return seep_import_free(&reading->importing, address, SEEP_RELEASE_FREE);
    if (!take_number(&at, &size) || *at)
        return damaged(reading, line);
    if (!mmleak_node(reading, caller, &node))
        return seep_error_no_memory();
    return seep_import_allocation(&reading->importing, address, size, node, SEEP_VIA_MALLOC);
}

// ---- mprof: "malloc<TAB>SIZE<TAB>RESULT", all hexadecimal; and our own log: "malloc<TAB>100<TAB>0x55..."
// ------------

static const struct {
    const char *name;
    uint32_t via;
    unsigned nr_sizes; // its size is the product of these
    bool takes_block;  // before them
    bool aligned;      // an alignment comes before the size
} calls[] = {
    {"malloc", SEEP_VIA_MALLOC, 1, false, false},
    {"calloc", SEEP_VIA_CALLOC, 2, false, false},
    {"realloc", SEEP_VIA_REALLOC, 1, true, false},
    {"reallocarray", SEEP_VIA_REALLOCARRAY, 2, true, false},
    {"posix_memalign", SEEP_VIA_POSIX_MEMALIGN, 1, false, true},
    {"aligned_alloc", SEEP_VIA_ALIGNED_ALLOC, 1, false, true},
    {"memalign", SEEP_VIA_MEMALIGN, 1, false, true},
    {"valloc", SEEP_VIA_VALLOC, 1, false, false},
    {"pvalloc", SEEP_VIA_PVALLOC, 1, false, false},
    {"operator new", SEEP_VIA_NEW, 1, false, false},
    {"operator new[]", SEEP_VIA_NEW_ARRAY, 1, false, false},
};

static bool take_size(char **at, bool is_hex, uint64_t *ret_size) {
    return is_hex ? take_hex(at, ret_size) : take_number(at, ret_size);
}

// A recording keeps neither alignments nor the size of a realloc that failed, so `seep export --events log`
// writes "?".
static bool take_unknown(char **at) {
    size_t blanks = strspn(*at, " \t");
    bool is_unknown = (*at)[blanks] == '?';
    *at += is_unknown ? blanks + 1 : 0;
    return is_unknown;
}

static bool take_no_result(char **at) {
    bool is_none = strncmp(*at, "\t-", 2) == 0;
    *at += is_none ? 2 : 0;
    return is_none;
}

// Our log has more columns behind the result where --log-columns asked for them.
static bool is_end_of_field(const char *at) {
    return !*at || *at == '\t';
}

static struct seep_error *call_line(struct reading *reading, char *text, uint64_t line, bool is_hex) {
    struct seep_importing *importing = &reading->importing;
    char *at = strchr(text, '\t');
    pass_time(reading, line);
    if (!at) { // what the program itself wrote there
        seep_import_foreign(importing);
        return NULL;
    }
    *at++ = 0;
    uint64_t block = 0, size = 1, factor, result = 0;
    if (strcmp(text, "free") == 0 || strncmp(text, "operator delete", 15) == 0) {
        if (!take_hex(&at, &block) || (!is_hex && !take_no_result(&at)) || !is_end_of_field(at))
            return damaged(reading, line);
        uint32_t release = strcmp(text, "free") == 0 ? SEEP_RELEASE_FREE
                           : strstr(text, "[]")      ? SEEP_RELEASE_DELETE_ARRAY
                                                     : SEEP_RELEASE_DELETE;
        return seep_import_free(importing, block, release);
    }
    size_t call = 0;
    while (call < SEEP_ARRAY_SIZE(calls) && strcmp(text, calls[call].name) != 0)
        call++;
    if (call == SEEP_ARRAY_SIZE(calls)) {
        seep_import_foreign(importing);
        return NULL;
    }
    bool good = !calls[call].takes_block || take_hex(&at, &block);
    if (good && calls[call].aligned && !take_unknown(&at))
        good = take_size(&at, is_hex, &factor);
    bool is_unknown = good && calls[call].takes_block && take_unknown(&at);
    for (unsigned i = 0; good && !is_unknown && i < calls[call].nr_sizes; i++) {
        good = take_size(&at, is_hex, &factor);
        if (good && __builtin_mul_overflow(size, factor, &size))
            size = UINT64_MAX;
    }
    if (!good || *at != '\t' || !take_hex(&at, &result) || !is_end_of_field(at) || (is_unknown && result))
        return damaged(reading, line);
    struct seep_error *error =
        block && (result || !size) ? seep_import_free(importing, block, SEEP_RELEASE_REALLOC) : NULL;
    return error ? error : seep_import_allocation(importing, result, size, 0, calls[call].via);
}

static struct seep_error *mprof_line(struct reading *reading, char *at, uint64_t line) {
    return call_line(reading, at, line, true);
}

static struct seep_error *log_line(struct reading *reading, char *at, uint64_t line) {
    return call_line(reading, at, line, false);
}

// ---- heaptrack: what heaptrack_interpret has written -----------------------------------------------------

static struct seep_error *heaptrack_string(struct reading *reading, char *at) {
    uint64_t length;
    if (reading->version >= 3 && take_hex(&at, &length) && *at == ' ')
        at++;
    if (!seep_grow(&reading->strings, &reading->strings_capacity, reading->nr_strings + 1,
                   sizeof(*reading->strings)))
        return seep_error_no_memory();
    char *copy = seep_arena_strdup(&reading->importing.profile->arena, at);
    reading->strings[reading->nr_strings++] = copy;
    return copy ? NULL : seep_error_no_memory();
}

static const char *heaptrack_text(const struct reading *reading, uint64_t id) {
    return id && id <= reading->nr_strings ? reading->strings[id - 1] : "";
}

// "FUNCTION FILE LINE" of the innermost function, then of those that it was inlined into; a
// function may lack file and line. If the last function has no name, nothing is taken.
static bool heaptrack_frames(struct reading *reading, char *at, struct seep_symbol_place *place) {
    struct seep_symbol_frame frames[SEEP_PLACE_FRAMES_MAX];
    uint32_t nr = 0;
    uint64_t function, file = 0, line = 0;
    while (nr < SEEP_PLACE_FRAMES_MAX && take_hex(&at, &function)) {
        bool has_line = take_hex(&at, &file) && take_hex(&at, &line) && line <= INT32_MAX;
        const char *name = heaptrack_text(reading, function),
                   *path = heaptrack_text(reading, has_line ? file : 0);
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

static struct seep_error *heaptrack_instruction(struct reading *reading, char *at) {
    uint64_t address = 0, module = 0;
    bool more = take_hex(&at, &address) && take_hex(&at, &module);
    if (!seep_grow(&reading->instructions, &reading->instructions_capacity, reading->nr_instructions + 1,
                   sizeof(*reading->instructions)))
        return seep_error_no_memory();
    struct instruction *to = &reading->instructions[reading->nr_instructions++];
    *to = (struct instruction){.place.offset = address & ((UINT64_C(1) << 47) - 1)};
    const char *path = heaptrack_text(reading, module);
    if (more && !heaptrack_frames(reading, at, &to->place))
        return seep_error_no_memory();
    return seep_import_module(&reading->importing, path, strlen(path), &to->module) ? NULL
                                                                                    : seep_error_no_memory();
}

static struct seep_error *heaptrack_trace(struct reading *reading, char *at, uint64_t line) {
    uint64_t instruction, parent;
    if (!take_hex(&at, &instruction) || !take_hex(&at, &parent) || parent > reading->nr_traces ||
        instruction > reading->nr_instructions)
        return damaged(reading, line);
    if (!seep_grow(&reading->traces, &reading->traces_capacity, reading->nr_traces + 1,
                   sizeof(*reading->traces)))
        return seep_error_no_memory();
    uint32_t node = parent ? reading->traces[parent - 1] : 0;
    const struct instruction *of = instruction ? &reading->instructions[instruction - 1] : NULL;
    if (of && !seep_import_node(&reading->importing, node, of->module, of->place.offset,
                                of->module && of->place.nr_frames ? &of->place : NULL, &node))
        return seep_error_no_memory();
    reading->traces[reading->nr_traces++] = node;
    return NULL;
}

static struct seep_error *heaptrack_info(struct reading *reading, char *at, uint64_t line) {
    uint64_t size, trace;
    if (!take_hex(&at, &size) || !take_hex(&at, &trace) || trace > reading->nr_traces)
        return damaged(reading, line);
    if (!seep_grow(&reading->infos, &reading->infos_capacity, reading->nr_infos + 1, sizeof(*reading->infos)))
        return seep_error_no_memory();
    reading->infos[reading->nr_infos++] = (struct info){.size = size, .trace = (size_t)trace};
    return NULL;
}

// It has no addresses: blocks get some that no other has.
static struct seep_error *heaptrack_allocation(struct reading *reading, char *at, uint64_t line) {
    uint64_t id, trace, address;
    if (!take_hex(&at, &id))
        return damaged(reading, line);
    if (reading->version < 1) { // "+ SIZE TRACE ADDRESS"
        if (!take_hex(&at, &trace) || !take_hex(&at, &address) || trace > reading->nr_traces)
            return damaged(reading, line);
        return seep_import_allocation(&reading->importing, address, id,
                                      trace ? reading->traces[trace - 1] : 0, SEEP_VIA_MALLOC);
    }
    if (id >= reading->nr_infos)
        return damaged(reading, line);
    struct info *info = &reading->infos[id];
    if (!seep_grow(&info->live, &info->live_capacity, info->nr_live + 1, sizeof(*info->live)))
        return seep_error_no_memory();
    address = reading->next_address += 16;
    info->live[info->nr_live++] = address;
    return seep_import_allocation(&reading->importing, address, info->size,
                                  info->trace ? reading->traces[info->trace - 1] : 0, SEEP_VIA_MALLOC);
}

static struct seep_error *heaptrack_free(struct reading *reading, char *at, uint64_t line) {
    uint64_t id;
    if (!take_hex(&at, &id) || (reading->version >= 1 && id >= reading->nr_infos))
        return damaged(reading, line);
    if (reading->version < 1)
        return seep_import_free(&reading->importing, id, SEEP_RELEASE_FREE);
    struct info *info = &reading->infos[id];
    uint64_t address = info->nr_live ? info->live[--info->nr_live] : 1; // 1: a block that there is not
    return seep_import_free(&reading->importing, address, SEEP_RELEASE_FREE);
}

static struct seep_error *heaptrack_command(struct reading *reading, char *at) {
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

static struct seep_error *heaptrack_line(struct reading *reading, char *at, uint64_t line) {
    uint64_t value;
    char what = *at;
    at += what != 0;
    if (line == 1 && what != 'v')
        return seep_error_hint(seep_error_create(SEEP_E_FORMAT, "%s: does not begin as heaptrack's files do",
                                                 reading->importing.name),
                               "a raw file (heaptrack.*.raw) goes through heaptrack_interpret first");
    switch (what) {
    case 'v':
        if (!take_hex(&at, &value))
            return damaged(reading, line);
        reading->version = take_hex(&at, &value) ? (unsigned)SEEP_MIN(value, UINT64_C(1000)) : 0;
        if (reading->version > 3)
            return seep_error_create(SEEP_E_VERSION,
                                     "%s: version %u of heaptrack's file, and this seep reads 3",
                                     reading->importing.name, reading->version);
        return NULL;
    case 'X':
        return heaptrack_command(reading, at);
    case 's':
        return heaptrack_string(reading, at + (*at == ' '));
    case 'i':
        return heaptrack_instruction(reading, at);
    case 't':
        return heaptrack_trace(reading, at, line);
    case 'a':
        return heaptrack_info(reading, at, line);
    case '+':
        return heaptrack_allocation(reading, at, line);
    case '-':
        return heaptrack_free(reading, at, line);
    case 'c':
        if (!take_hex(&at, &value))
            return damaged(reading, line);
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

// ---- the formats -------------------------------------------------------------------------------------

static const struct {
    const char *name;
    struct seep_error *(*line)(struct reading *reading, char *at, uint64_t line);
} formats[] = {
    {"heaptrack", heaptrack_line}, {"mmleak", mmleak_line}, {"mtrace", mtrace_line},
    {"mprof", mprof_line},         {"log", log_line},
};

const char *const seep_import_formats[] = {"heaptrack", "mmleak", "mtrace", "mprof", "log", NULL};

static void reading_deinit(struct reading *reading) {
    for (size_t i = 0; i < reading->nr_infos; i++)
        free(reading->infos[i].live);
    free(reading->areas);
    free(reading->strings);
    free(reading->instructions);
    free(reading->traces);
    free(reading->infos);
    seep_importing_deinit(&reading->importing);
}

static struct seep_error *read_lines(struct reading *reading, const char *path, size_t format) {
    struct seep_lines *lines = NULL;
    struct seep_error *error = seep_lines_open(path, &lines);
    while (!error) {
        char *line;
        error = seep_lines_next(lines, &line);
        if (error || !line)
            break;
        size_t length = strlen(line);
        if (length && line[length - 1] == '\r')
            line[length - 1] = 0;
        reading->importing.line = seep_lines_number(lines);
        if (seep_lines_is_cut(lines)) { // a number in it may lack digits
            reading->importing.counts.cut_line = reading->importing.line;
            break;
        }
        error = formats[format].line(reading, line, reading->importing.line);
    }
    seep_lines_close(lines);
    return error;
}

struct seep_error *seep_import(const char *path, const char *format,
                               const struct seep_import_options *options, const char *output,
                               struct seep_imported *ret_imported) {
    struct reading reading = {.options = options, .next_address = 0x10000};
    size_t at = 0;
    while (strcmp(formats[at].name, format) != 0)
        at++;
    struct seep_error *error = seep_importing_begin(&reading.importing, path, output);
    if (!error && options->maps)
        error = read_maps(&reading);
    if (!error)
        error = read_lines(&reading, path, at);
    if (!error && !reading.importing.counts.nr_events)
        error = seep_error_hint(
            seep_error_create(SEEP_E_FORMAT, "%s: no allocation in it%s", path,
                              reading.importing.counts.cut_line
                                  ? "; its last line has no end and is left out: it may be cut"
                                  : ""),
            "name its format with --format");
    if (!error)
        error = seep_importing_end(&reading.importing, output);
    if (!error)
        *ret_imported = reading.importing.counts;
    reading_deinit(&reading);
    return error;
}
