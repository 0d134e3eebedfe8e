// SPDX-License-Identifier: BSD-2-Clause
//
// Functions, inlined functions and lines by DWARF, see debug_info.h.
//
// Damaged or hostile DWARF can make a walk over DIEs (debugging information entries) see the same
// entries over and over. In a sound unit every entry is seen once and takes at least one byte, so a
// walk ends after as many entries as its unit has bytes.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>

#include "base/map.h"
#include "base/room.h"
#include "confine/untrusted.h"
#include "confine/worker_rights.h"
#include "names/debug_info.h"
#include "names/debug_scopes.h"
#include "names/demangle.h"
#include "names/ranges.h"

#define DEPTH_MAX            256u
#define RANGES_PER_ENTRY_MAX 65536u
#define NESTED_MAX           8u                   // functions in functions, whose names a name has in it
#define SCOPES_BUDGET        ((uint64_t)16 << 20) // entries looked at for scopes; names have none after that
// libdw keeps what it decoded, about 50 bytes a line: beyond this many it is made to start afresh.
#ifndef LINES_KEPT_MAX // a test sets it low
#define LINES_KEPT_MAX ((uint64_t)6 << 20)
#endif
#define SPLIT_UNIT_BYTES ((uint64_t)64 << 20) // entries looked at in a .dwo file: its size is not at hand

struct unit {
    Dwarf_Off entry_off; // of the unit's own DIE
    uint64_t nr_bytes;
    struct seep_ranges functions; // value: offset of the DIE, in the .dwo file if there is one
    bool has_ranges;
    bool indexed;
    bool indexed_deep; // with functions inside types and other functions
    bool not_split;    // its .dwo file could be a stranger's: it is not looked for
    bool lines_counted;
};

struct function_names { // in the arena of the names
    const char *readable;
    const char *linkage;
};

struct seep_debug_info {
    struct seep_symbol_file *file; // borrowed
    struct seep_symbol_file *alt_file;
    Dwarf *dwarf; // NULL: could not be opened again
    Dwarf *alt;
    struct seep_names *names; // borrowed
    struct seep_file_search *search;
    char *split_folder; // of .dwo files, that was looked at last, and whether it is ours
    bool split_is_ours;
    struct unit *units;
    size_t nr_units;
    size_t units_capacity;
    struct seep_ranges unit_ranges; // value: index in units
    bool has_type_units;            // which are not in units
    bool looked_inside;             // units that do not say what they cover were asked for their functions
    struct seep_map function_names; // memory address of a DIE to struct function_names *
    uint64_t nr_lines;              // that libdw has decoded
    uint64_t scopes_budget;
    unsigned generation; // how often it was started afresh
};

// ---- units ----

// libdw crashes where an allocation of its own fails: abbreviations and lines of a unit are decoded only
// where there is room for them. Of lines it keeps some 70 bytes for each, which the file has in 3 or 4, and
// there are a few times fewer bytes of them than of entries.
static struct seep_error *check_room(uint64_t unit_bytes) {
    const uint64_t least = UINT64_C(4) << 20;
    return seep_room_check(least + SEEP_MIN(unit_bytes, UINT64_C(1) << 40) * 8);
}

static struct seep_error *add_ranges(struct seep_ranges *ranges, Dwarf_Die *entry, uint64_t value,
                                     bool *ret_any) {
    Dwarf_Addr base, low, high;
    ptrdiff_t at = 0;
    for (unsigned i = 0; i < RANGES_PER_ENTRY_MAX; i++) {
        at = dwarf_ranges(entry, at, &base, &low, &high);
        if (at <= 0)
            break;
        if (low <= 1)
            continue; // code that the linker threw away
        if (!seep_ranges_add(ranges, low, high, value, 0))
            return seep_error_no_memory();
        *ret_any = true;
    }
    return NULL;
}

// Where libdw looks for the .dwo file of a unit, malloc'ed; NULL: the unit is whole, or it looks nowhere.
static char *split_path(Dwarf_Die *unit) {
    Dwarf_Attribute attribute;
    uint8_t type;
    if (dwarf_cu_info(unit->cu, NULL, &type, NULL, NULL, NULL, NULL, NULL) != 0 || type != DW_UT_skeleton)
        return NULL;
    const char *name = dwarf_formstring(dwarf_attr(unit, DW_AT_dwo_name, &attribute));
    if (!name)
        name = dwarf_formstring(dwarf_attr(unit, DW_AT_GNU_dwo_name, &attribute));
    const char *folder = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute));
    char *path = NULL;
    if (name && name[0] == '/')
        return strdup(name);
    return name && folder && asprintf(&path, "%s/%s", folder, name) >= 0 ? path : NULL;
}

// libdw opens .dwo files by itself and does not check who owns them. The units of a program have them in few
// folders.
static bool may_be_split(struct seep_debug_info *info, Dwarf_Die *unit) {
    char *path = info->search->giver ? NULL : split_path(unit);
    char *end = path ? strrchr(path, '/') : NULL;
    if (!end) {
        free(path);
        return true; // the tool opens files for the worker
    }
    *end = 0;
    if (!info->split_folder || strcmp(path, info->split_folder) != 0) {
        free(info->split_folder);
        info->split_folder = strdup(path);
        info->split_is_ours = info->split_folder && seep_folder_is_ours(path);
    }
    *end = '/';
    bool is = info->split_is_ours && seep_file_is_ours(path);
    info->search->met_untrusted |= !is;
    free(path);
    return is;
}

static struct seep_error *add_unit(struct seep_debug_info *info, Dwarf_Off entry_off, uint64_t nr_bytes) {
    Dwarf_Die entry;
    struct seep_error *error = check_room(0);
    if (error)
        return error;
    if (!dwarf_offdie(info->dwarf, entry_off, &entry))
        return NULL;
    int tag = dwarf_tag(&entry);
    info->has_type_units |= tag == DW_TAG_type_unit;
    if (tag != DW_TAG_compile_unit && tag != DW_TAG_skeleton_unit && tag != DW_TAG_partial_unit)
        return NULL;
    if (!seep_grow(&info->units, &info->units_capacity, info->nr_units + 1, sizeof(*info->units)))
        return seep_error_no_memory();
    struct unit *unit = &info->units[info->nr_units];
    *unit =
        (struct unit){.entry_off = entry_off, .nr_bytes = nr_bytes, .not_split = !may_be_split(info, &entry)};
    error = add_ranges(&info->unit_ranges, &entry, info->nr_units, &unit->has_ranges);
    if (error)
        return error;
    // A partial unit without code is what dwz shares between units: nothing to look into.
    unit->has_ranges |= tag == DW_TAG_partial_unit;
    info->nr_units++;
    return NULL;
}

static struct seep_error *add_units(struct seep_debug_info *info) {
    Dwarf_Off at = 0, next;
    size_t header_bytes;
    while (dwarf_nextcu(info->dwarf, at, &next, &header_bytes, NULL, NULL, NULL) == 0 && next > at) {
        struct seep_error *error = add_unit(info, at + header_bytes, next - at);
        if (error)
            return error;
        at = next;
    }
    seep_ranges_seal(&info->unit_ranges);
    return NULL;
}

// The DIE that holds the line table, and the one that holds the functions: the same, unless the
// functions are in a .dwo file that can be found.
static int open_split(void *context, const char *path) {
    const struct seep_debug_info *info = context;
    const char *trouble;
    char *directory = NULL;
    const struct seep_file_giver *giver = info->search->giver;
    char *plain = strdup(path); // without "..": such a path is refused
    if (plain)
        seep_names_normalise(plain);
    int fd = plain ? giver->open(giver->context, true, plain, &trouble, &directory) : -1;
    free(plain);
    free(directory);
    return fd;
}

static bool unit_entries(struct seep_debug_info *info, const struct unit *unit, Dwarf_Die *ret_lines,
                         Dwarf_Die *ret_functions, bool *ret_split) {
    if (!dwarf_offdie(info->dwarf, unit->entry_off, ret_lines))
        return false;
    *ret_functions = *ret_lines;
    *ret_split = false;
    uint8_t type;
    Dwarf_Die split;
    if (dwarf_cu_info(ret_lines->cu, NULL, &type, NULL, NULL, NULL, NULL, NULL) != 0 ||
        type != DW_UT_skeleton || unit->not_split)
        return true;
    if (info->search->giver)
        seep_worker_let_open(open_split, info);
    if (dwarf_cu_info(ret_lines->cu, NULL, NULL, NULL, &split, NULL, NULL, NULL) == 0 && split.addr) {
        *ret_functions = split;
        *ret_split = true;
    }
    seep_worker_let_open(NULL, NULL);
    return true;
}

// ---- functions of a unit ----

struct index_walk {
    struct seep_ranges *ranges;
    uint64_t budget;
    bool deep;
    bool to_unit; // the ranges stand for the unit, not for its functions
    uint64_t unit_index;
};

int seep_debug_language(Dwarf_Die *entry) {
    Dwarf_Die unit;
    return dwarf_diecu(entry, &unit, NULL, NULL) ? dwarf_srclang(&unit) : -1;
}

enum seep_debug_scope seep_debug_scope(int tag) {
    switch (tag) {
    case DW_TAG_namespace:
    case DW_TAG_module:
        return SEEP_DEBUG_SCOPE_NAMES;
    case DW_TAG_subprogram:
    case DW_TAG_lexical_block:
    case DW_TAG_inlined_subroutine:
        return SEEP_DEBUG_SCOPE_CODE;
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
    case DW_TAG_interface_type:
    case DW_TAG_enumeration_type:
        return SEEP_DEBUG_SCOPE_TYPE;
    default:
        return SEEP_DEBUG_SCOPE_NONE;
    }
}

static bool holds_functions(int tag, bool deep) {
    enum seep_debug_scope scope = seep_debug_scope(tag);
    return scope == SEEP_DEBUG_SCOPE_NAMES || (scope != SEEP_DEBUG_SCOPE_NONE && deep);
}

static struct seep_error *index_children(struct index_walk *walk, Dwarf_Die *parent, unsigned depth) {
    Dwarf_Die child;
    int got = depth < DEPTH_MAX ? dwarf_child(parent, &child) : 1;
    for (; got == 0 && walk->budget; got = dwarf_siblingof(&child, &child)) {
        walk->budget--;
        int tag = dwarf_tag(&child);
        struct seep_error *error = NULL;
        bool any = false;
        if (tag == DW_TAG_subprogram)
            error = add_ranges(walk->ranges, &child,
                               walk->to_unit ? walk->unit_index : dwarf_dieoffset(&child), &any);
        if (!error && holds_functions(tag, walk->deep) && dwarf_haschildren(&child) > 0)
            error = index_children(walk, &child, depth + 1);
        if (error)
            return error;
    }
    return NULL;
}

static struct seep_error *index_functions(struct unit *unit, Dwarf_Die *functions, bool split, bool deep) {
    if (unit->indexed && (unit->indexed_deep || !deep))
        return NULL;
    unit->functions.nr = 0;
    struct index_walk walk = {
        .ranges = &unit->functions, .budget = split ? SPLIT_UNIT_BYTES : unit->nr_bytes, .deep = deep};
    struct seep_error *error = index_children(&walk, functions, 0);
    if (error)
        return error;
    seep_ranges_seal(&unit->functions);
    unit->indexed = true;
    unit->indexed_deep = deep;
    return NULL;
}

// Units that do not say which addresses they cover, as some compilers write them.
static struct seep_error *look_inside_units(struct seep_debug_info *info) {
    info->looked_inside = true;
    for (size_t i = 0; i < info->nr_units; i++) {
        struct unit *unit = &info->units[i];
        Dwarf_Die lines, functions;
        bool split;
        if (unit->has_ranges)
            continue;
        struct seep_error *error = check_room(unit->nr_bytes);
        if (error)
            return error;
        if (!unit_entries(info, unit, &lines, &functions, &split))
            continue;
        struct index_walk walk = {.ranges = &info->unit_ranges,
                                  .budget = split ? SPLIT_UNIT_BYTES : unit->nr_bytes,
                                  .to_unit = true,
                                  .unit_index = i};
        error = index_children(&walk, &functions, 0);
        if (error)
            return error;
    }
    seep_ranges_seal(&info->unit_ranges);
    return NULL;
}

// ---- one address ----

struct site {
    Dwarf_Die lines;     // the unit
    Dwarf_Die functions; // the unit, or its half in the .dwo file
    struct unit *unit;   // NULL: no unit covers the address
    Dwarf_Die function;
    bool has_function;
    uint64_t function_start;
    uint64_t budget;
};

static struct seep_error *find_function(struct seep_debug_info *info, struct unit *unit, uint64_t address,
                                        bool deep, struct site *site) {
    bool split;
    struct site found = {.unit = unit};
    struct seep_error *error = check_room(unit->nr_bytes);
    if (error)
        return error;
    if (!unit_entries(info, unit, &found.lines, &found.functions, &split))
        return NULL;
    error = index_functions(unit, &found.functions, split, deep);
    if (error)
        return error;
    size_t at = seep_ranges_upto(&unit->functions, address);
    const struct seep_range *range = seep_ranges_next(&unit->functions, address, &at);
    found.budget = split ? SPLIT_UNIT_BYTES : unit->nr_bytes;
    if (range) {
        found.function_start = range->low;
        found.has_function =
            dwarf_offdie(dwarf_cu_getdwarf(found.functions.cu), range->value, &found.function) != NULL;
    }
    // Without a function the first unit that covers the address still has the line.
    if (found.has_function || !site->unit)
        *site = found;
    return NULL;
}

static struct seep_error *find_site(struct seep_debug_info *info, uint64_t address, struct site *site) {
    for (int deep = 0; deep <= 1 && !site->has_function; deep++) {
        size_t at = seep_ranges_upto(&info->unit_ranges, address);
        const struct seep_range *range;
        while (!site->has_function && (range = seep_ranges_next(&info->unit_ranges, address, &at))) {
            struct seep_error *error = find_function(info, &info->units[range->value], address, deep, site);
            if (error)
                return error;
        }
    }
    if (site->unit || info->looked_inside)
        return NULL;
    struct seep_error *error = look_inside_units(info);
    return error ? error : find_site(info, address, site);
}

// The functions that were inlined at an address, outermost first.
struct chain {
    uint64_t address;
    uint64_t budget;
    unsigned nr;
    Dwarf_Die entries[SEEP_INLINED_MAX];
};

static bool may_hold_inlined(int tag) {
    return tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine || tag == DW_TAG_try_block ||
           tag == DW_TAG_catch_block || tag == DW_TAG_with_stmt;
}

static bool says_where(Dwarf_Die *entry) {
    return dwarf_hasattr(entry, DW_AT_low_pc) || dwarf_hasattr(entry, DW_AT_ranges);
}

// true: an inlined function was found below `parent`.
static bool follow_inlined(struct chain *chain, Dwarf_Die *parent, unsigned depth) {
    Dwarf_Die child;
    int got = depth < DEPTH_MAX ? dwarf_child(parent, &child) : 1;
    for (; got == 0 && chain->budget; got = dwarf_siblingof(&child, &child)) {
        chain->budget--;
        int tag = dwarf_tag(&child);
        if (!may_hold_inlined(tag))
            continue;
        if (tag == DW_TAG_lexical_block && !says_where(&child)) {
            if (follow_inlined(chain, &child, depth + 1))
                return true;
            continue;
        }
        if (dwarf_haspc(&child, chain->address) <= 0)
            continue;
        bool inlined = tag == DW_TAG_inlined_subroutine && chain->nr < SEEP_INLINED_MAX;
        if (inlined)
            chain->entries[chain->nr++] = child;
        if (dwarf_haschildren(&child) > 0 && follow_inlined(chain, &child, depth + 1))
            return true;
        if (inlined)
            return true;
    }
    return false;
}

static const char *text_attribute(Dwarf_Die *entry, unsigned name) {
    Dwarf_Attribute attribute;
    return dwarf_formstring(dwarf_attr_integrate(entry, name, &attribute));
}

static const char *linkage_name(Dwarf_Die *entry) {
    const char *name = text_attribute(entry, DW_AT_linkage_name);
    return name ? name : text_attribute(entry, DW_AT_MIPS_linkage_name);
}

static struct seep_error *function_name(struct seep_debug_info *info, Dwarf_Die *entry, unsigned depth,
                                        struct seep_symbol_frame *frame);

// Appends `more`, behind "::" where there is something. false: there is no room.
static bool put_scope(char text[SEEP_DEMANGLED_BYTES], const char *more) {
    size_t used = strlen(text), nr = strlen(more);
    const char *between = used ? "::" : "";
    if (nr >= SEEP_DEMANGLED_BYTES - used - strlen(between))
        return false;
    stpcpy(stpcpy(text + used, between), more);
    return true;
}

// A function of C++ that only its own file sees has no linkage name: a lambda, or one in an anonymous
// namespace. Its name is put together as demanglers do it, without the types of its arguments. NULL: it has
// no scopes, or they are not known.
static struct seep_error *scoped_name(struct seep_debug_info *info, Dwarf_Die *function, const char *own,
                                      unsigned depth, const char **ret_name) {
    struct seep_debug_scopes scopes;
    char text[SEEP_DEMANGLED_BYTES] = "";
    bool scoped = false, fits = true;
    *ret_name = NULL;
    if (depth == NESTED_MAX || info->names->no_demangle || !seep_debug_is_cxx(function) ||
        !seep_debug_scopes_of(function, &info->scopes_budget, &scopes))
        return NULL;
    for (unsigned i = 0; fits && i < scopes.nr; i++) {
        Dwarf_Die *scope = &scopes.entries[i];
        if (dwarf_tag(scope) != DW_TAG_subprogram) {
            fits = put_scope(text, seep_debug_scope_name(scope, i + 1 == scopes.nr ? own : ""));
            scoped = true;
            continue;
        }
        struct seep_symbol_frame around = {NULL};
        struct seep_error *error = function_name(info, scope, depth + 1, &around);
        if (error)
            return error;
        text[0] = 0; // the function's name has the scopes outside of it
        fits = !around.function || put_scope(text, around.function);
    }
    return scoped && fits && put_scope(text, own) ? seep_names_keep(info->names, text, ret_name) : NULL;
}

static struct seep_error *make_names(struct seep_debug_info *info, Dwarf_Die *function, unsigned depth,
                                     struct function_names *made) {
    const char *linkage = linkage_name(function), *own = text_attribute(function, DW_AT_name);
    const char *scoped = NULL;
    struct seep_error *error = NULL;
    if (!linkage && own)
        error = scoped_name(info, function, own, depth, &scoped);
    if (!error)
        error = seep_names_function(info->names, linkage, scoped ? scoped : own, &made->readable);
    if (!error && scoped) // by which other tools know it
        return seep_names_keep(info->names, own, &made->linkage);
    return error ? error : seep_names_linkage(info->names, linkage, &made->linkage);
}

// All inlined copies of a function refer to one abstract DIE: its names are made once. `depth`: of functions
// in whose scopes it lies.
static struct seep_error *function_name(struct seep_debug_info *info, Dwarf_Die *entry, unsigned depth,
                                        struct seep_symbol_frame *frame) {
    Dwarf_Attribute attribute;
    Dwarf_Die origin;
    Dwarf_Attribute *reference = dwarf_attr(entry, DW_AT_abstract_origin, &attribute);
    if (!reference || !dwarf_formref_die(reference, &origin))
        origin = *entry;
    const uint64_t *known = seep_map_find(&info->function_names, (uintptr_t)origin.addr);
    struct function_names *made = known ? (struct function_names *)(uintptr_t)*known : NULL;
    if (!made) {
        made = seep_arena_alloc(&info->names->arena, 1, sizeof(*made));
        if (!made)
            return seep_error_no_memory();
        struct seep_error *error = make_names(info, &origin, depth, made);
        if (error)
            return error;
        uint64_t *slot = seep_map_at(&info->function_names, (uintptr_t)origin.addr, NULL);
        if (!slot)
            return seep_error_no_memory();
        *slot = (uintptr_t)made;
    }
    frame->function = made->readable;
    frame->linkage = made->linkage;
    return NULL;
}

static struct seep_error *file_name(struct seep_debug_info *info, Dwarf_Die *unit, const char *file,
                                    const char **ret_file) {
    if (!file || !strcmp(file, "???")) {
        *ret_file = NULL;
        return NULL;
    }
    return seep_names_file(info->names, text_attribute(unit, DW_AT_comp_dir), file, ret_file);
}

static struct seep_error *line_of_address(struct seep_debug_info *info, struct site *site, uint64_t address,
                                          struct seep_symbol_frame *frame) {
    Dwarf_Lines *lines;
    size_t nr_lines;
    if (dwarf_getsrclines(&site->lines, &lines, &nr_lines) != 0 || !nr_lines)
        return NULL;
    if (!site->unit->lines_counted)
        info->nr_lines += nr_lines;
    site->unit->lines_counted = true;
    Dwarf_Line *line = dwarf_getsrc_die(&site->lines, address);
    int number;
    if (!line || dwarf_lineno(line, &number) != 0)
        return NULL;
    frame->line = number > 0 ? (unsigned)number : 0;
    return file_name(info, &site->lines, dwarf_linesrc(line, NULL, NULL), &frame->file);
}

// Where the function that `inlined` stands for was called.
static struct seep_error *line_of_call(struct seep_debug_info *info, struct site *site, Dwarf_Die *inlined,
                                       struct seep_symbol_frame *frame) {
    Dwarf_Attribute attribute;
    Dwarf_Word number;
    if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attribute), &number) == 0 &&
        number <= INT32_MAX)
        frame->line = (unsigned)number;
    Dwarf_Files *files;
    size_t nr_files;
    if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attribute), &number) != 0 ||
        dwarf_getsrcfiles(&site->functions, &files, &nr_files) != 0 || number >= nr_files)
        return NULL;
    return file_name(info, &site->lines, dwarf_filesrc(files, number, NULL, NULL), &frame->file);
}

// The functions of seep.h, which their author marks as part of the line that calls them.
static bool is_annotation(Dwarf_Die *inlined) {
    Dwarf_Attribute attribute;
    const char *name = text_attribute(inlined, DW_AT_name);
    return name && strncmp(name, "seep_", 5) == 0 && dwarf_hasattr(inlined, DW_AT_call_line) &&
           dwarf_attr_integrate(inlined, DW_AT_artificial, &attribute);
}

static struct seep_error *fill_frames(struct seep_debug_info *info, struct site *site, struct chain *chain,
                                      struct seep_place *place) {
    unsigned nr_hidden = chain->nr && is_annotation(&chain->entries[chain->nr - 1]);
    for (unsigned i = nr_hidden; i <= chain->nr; i++) {
        // Frame 0 is the last of the chain; the last frame is the function itself.
        struct seep_symbol_frame *frame = &place->frames[i - nr_hidden];
        *frame = (struct seep_symbol_frame){.inlined = i < chain->nr};
        Dwarf_Die entry = i < chain->nr ? chain->entries[chain->nr - 1 - i] : site->function;
        struct seep_error *error = function_name(info, &entry, 0, frame);
        if (!error && i == 0) {
            error = line_of_address(info, site, chain->address, frame);
        } else if (!error) {
            Dwarf_Die callee = chain->entries[chain->nr - i];
            error = line_of_call(info, site, &callee, frame);
        }
        if (error)
            return error;
    }
    place->nr_frames = chain->nr + 1 - nr_hidden;
    place->has_function = true;
    place->is_plain = !linkage_name(&site->function);
    place->function_start = site->function_start;
    return NULL;
}

static void open_dwarf(struct seep_debug_info *info) {
    info->dwarf = dwarf_begin_elf(info->file->elf, DWARF_C_READ, NULL);
    if (info->dwarf && info->alt)
        dwarf_setalt(info->dwarf, info->alt);
}

// Frees what libdw decoded. The indexes stay: they hold offsets only.
static void start_afresh(struct seep_debug_info *info) {
    dwarf_end(info->dwarf);
    open_dwarf(info);
    info->generation++;
    info->nr_lines = 0;
    for (size_t i = 0; i < info->nr_units; i++)
        info->units[i].lines_counted = false;
    seep_map_deinit(&info->function_names);
}

struct seep_error *seep_debug_info_find(struct seep_debug_info *info, uint64_t address,
                                        struct seep_place *ret_place) {
    ret_place->nr_frames = 0;
    ret_place->has_function = false;
    ret_place->is_plain = false;
    if (info->nr_lines > LINES_KEPT_MAX)
        start_afresh(info);
    if (!info->dwarf)
        return NULL;
    struct site site = {.unit = NULL};
    struct seep_error *error = find_site(info, address, &site);
    if (error || !site.unit)
        return error;
    if (site.has_function) {
        struct chain chain = {.address = address, .budget = site.budget};
        follow_inlined(&chain, &site.function, 0);
        return fill_frames(info, &site, &chain, ret_place);
    }
    ret_place->frames[0] = (struct seep_symbol_frame){NULL};
    error = line_of_address(info, &site, address, &ret_place->frames[0]);
    if (!error)
        ret_place->nr_frames = ret_place->frames[0].file ? 1 : 0;
    return error;
}

// ---- for the other files of the room ----

unsigned seep_debug_info_generation(const struct seep_debug_info *info) {
    return info->generation;
}

bool seep_debug_info_has_other_types(struct seep_debug_info *info) {
    Dwarf_Off next, at = 0;
    size_t header_bytes;
    uint64_t signature;
    Dwarf_Off type;
    if (info->alt || info->has_type_units)
        return true;
    return info->dwarf && dwarf_next_unit(info->dwarf, at, &next, &header_bytes, NULL, NULL, NULL, NULL,
                                          &signature, &type) == 0;
}

bool seep_debug_info_unit(struct seep_debug_info *info, size_t index, Dwarf_Die *ret_entry,
                          uint64_t *ret_budget) {
    Dwarf_Die lines;
    bool split;
    if (!info->dwarf || index >= info->nr_units)
        return false;
    *ret_budget = 0;
    *ret_entry = (Dwarf_Die){.addr = NULL};
    struct seep_error *error = check_room(info->units[index].nr_bytes);
    if (error) // then it is a unit that says nothing
        seep_error_destroy(error);
    else if (unit_entries(info, &info->units[index], &lines, ret_entry, &split))
        *ret_budget = split ? SPLIT_UNIT_BYTES : info->units[index].nr_bytes;
    return true;
}

struct seep_error *seep_debug_info_function(struct seep_debug_info *info, uint64_t address, bool *ret_found,
                                            struct seep_function_entry *ret_function) {
    struct site site = {.unit = NULL};
    *ret_found = false;
    struct seep_error *error = info->dwarf ? find_site(info, address, &site) : NULL;
    if (error || !site.has_function)
        return error;
    *ret_found = true;
    *ret_function = (struct seep_function_entry){site.function, site.budget};
    return NULL;
}

struct seep_error *seep_debug_info_function_name(struct seep_debug_info *info, Dwarf_Die *function,
                                                 const char **ret_name) {
    struct seep_symbol_frame frame = {NULL};
    struct seep_error *error = function_name(info, function, 0, &frame);
    if (!error)
        *ret_name = frame.function;
    return error;
}

struct seep_error *seep_debug_info_declared(struct seep_debug_info *info, Dwarf_Die *entry,
                                            const char **ret_file, unsigned *ret_line) {
    Dwarf_Attribute attribute;
    Dwarf_Word number, line;
    Dwarf_Die unit;
    Dwarf_Files *files;
    size_t nr_files;
    *ret_file = NULL;
    *ret_line = 0;
    // Both from the entry that has them: file numbers are those of its own unit.
    Dwarf_Attribute *line_at = dwarf_attr_integrate(entry, DW_AT_decl_line, &attribute);
    if (dwarf_formudata(line_at, &line) != 0 || line > INT32_MAX)
        return NULL;
    Dwarf_Attribute *file_at = dwarf_attr_integrate(entry, DW_AT_decl_file, &attribute);
    if (!file_at || dwarf_formudata(file_at, &number) != 0 ||
        !dwarf_cu_die(file_at->cu, &unit, NULL, NULL, NULL, NULL, NULL, NULL) ||
        dwarf_getsrcfiles(&unit, &files, &nr_files) != 0 || number >= nr_files)
        return NULL;
    *ret_line = (unsigned)line;
    return file_name(info, &unit, dwarf_filesrc(files, number, NULL, NULL), ret_file);
}

static struct seep_error *find_alt(struct seep_debug_info *info, struct seep_file_search *search) {
    const char *name;
    const void *id;
    ssize_t nr_bytes = dwelf_dwarf_gnu_debugaltlink(info->dwarf, &name, &id);
    if (nr_bytes <= 0)
        return NULL;
    struct seep_error *error = seep_alt_file_find(
        search, info->file, name, (struct seep_build_id){id, (size_t)nr_bytes}, &info->alt_file);
    if (error || !info->alt_file)
        return error;
    info->alt = dwarf_begin_elf(info->alt_file->elf, DWARF_C_READ, NULL);
    if (info->alt)
        dwarf_setalt(info->dwarf, info->alt);
    return NULL;
}

struct seep_error *seep_debug_info_create(struct seep_symbol_file *file, struct seep_file_search *search,
                                          struct seep_names *names, struct seep_debug_info **ret_info) {
    struct seep_debug_info *info = calloc(1, sizeof(*info));
    if (!info)
        return seep_error_no_memory();
    info->file = file;
    info->names = names;
    info->scopes_budget = SCOPES_BUDGET;
    info->search = search;
    open_dwarf(info);
    struct seep_error *error = info->dwarf ? find_alt(info, search) : NULL;
    if (!error && info->dwarf)
        error = add_units(info);
    if (error || !info->nr_units) {
        seep_debug_info_destroy(info);
        info = NULL;
    }
    if (!error)
        *ret_info = info;
    return error;
}

void seep_debug_info_destroy(struct seep_debug_info *info) {
    if (!info)
        return;
    dwarf_end(info->dwarf);
    dwarf_end(info->alt);
    seep_symbol_file_close(info->alt_file);
    for (size_t i = 0; i < info->nr_units; i++)
        seep_ranges_deinit(&info->units[i].functions);
    free(info->units);
    seep_ranges_deinit(&info->unit_ranges);
    seep_map_deinit(&info->function_names);
    free(info->split_folder);
    free(info);
}
