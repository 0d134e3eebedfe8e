// SPDX-License-Identifier: BSD-2-Clause
// Global and local variables by DWARF, see debug_variables.h.
#include <stdlib.h>
#include <string.h>

#include <dwarf.h>

#include "base/map.h"
#include "names/debug_types.h"
#include "names/debug_variables.h"

#define DEPTH_MAX   64u
#define ENTRIES_MAX ((uint64_t)16 << 20) // looked at for the global variables of a module
#define PLACES_MAX  16u                  // locations of one variable that hold at the same time

struct global {
    Dwarf_Die entry;
    const char *function; // that it is local to
};

struct seep_debug_variables {
    struct seep_debug_info *info;
    unsigned generation;
    struct seep_map by_start; // address to index in globals, + 1
    struct global *globals;
    size_t nr_globals;
    size_t capacity;
    size_t nr_units[2]; // units that were read: 0 without functions, 1 with them
    uint64_t budget;
};

struct seep_error *seep_debug_variables_create(struct seep_debug_info *info,
                                               struct seep_debug_variables **ret_variables) {
    struct seep_debug_variables *variables = calloc(1, sizeof(*variables));
    if (!variables)
        return seep_error_no_memory();
    variables->info = info;
    variables->generation = seep_debug_info_generation(info);
    variables->budget = ENTRIES_MAX;
    *ret_variables = variables;
    return NULL;
}

void seep_debug_variables_destroy(struct seep_debug_variables *variables) {
    if (!variables)
        return;
    seep_map_deinit(&variables->by_start);
    free(variables->globals);
    free(variables);
}

// ---- global variables ----

// The address of a variable that has one for all its life.
static bool fixed_address(Dwarf_Die *entry, uint64_t *ret_address) {
    Dwarf_Attribute attribute, address;
    Dwarf_Op *ops;
    size_t nr;
    if (!dwarf_attr(entry, DW_AT_location, &attribute) || dwarf_getlocation(&attribute, &ops, &nr) != 0 ||
        nr != 1)
        return false;
    if (ops[0].atom == DW_OP_addr) {
        *ret_address = ops[0].number;
        return true;
    }
    Dwarf_Addr value;
    bool found = (ops[0].atom == DW_OP_addrx || ops[0].atom == DW_OP_GNU_addr_index) &&
                 dwarf_getlocation_attr(&attribute, &ops[0], &address) == 0 &&
                 dwarf_formaddr(&address, &value) == 0;
    if (found)
        *ret_address = value;
    return found;
}

static struct seep_error *add_global(struct seep_debug_variables *variables, Dwarf_Die *entry,
                                     const char *function) {
    uint64_t start;
    if (!fixed_address(entry, &start) || !start)
        return NULL;
    uint64_t *known = seep_map_at(&variables->by_start, start, NULL);
    if (!known || !seep_grow(&variables->globals, &variables->capacity, variables->nr_globals + 1,
                             sizeof(struct global)))
        return seep_error_no_memory();
    if (*known)
        return NULL;
    variables->globals[variables->nr_globals++] = (struct global){*entry, function};
    *known = variables->nr_globals;
    return NULL;
}

static bool holds_variables(int tag, bool functions) {
    enum seep_debug_scope scope = seep_debug_scope(tag);
    return scope == SEEP_DEBUG_SCOPE_NAMES || (scope == SEEP_DEBUG_SCOPE_CODE && functions);
}

static struct seep_error *add_globals(struct seep_debug_variables *variables, Dwarf_Die *parent,
                                      bool functions, const char *function, uint64_t *budget,
                                      unsigned depth) {
    Dwarf_Die child;
    struct seep_error *error = NULL;
    int got = depth < DEPTH_MAX ? dwarf_child(parent, &child) : 1;
    for (; !error && got == 0 && *budget && variables->budget; got = dwarf_siblingof(&child, &child)) {
        (*budget)--;
        variables->budget--;
        int tag = dwarf_tag(&child);
        if (tag == DW_TAG_variable)
            error = add_global(variables, &child, function);
        else if (holds_variables(tag, functions) && dwarf_haschildren(&child) > 0)
            error =
                add_globals(variables, &child, functions,
                            tag == DW_TAG_subprogram ? dwarf_diename(&child) : function, budget, depth + 1);
    }
    return error;
}

// What was read before libdw was started afresh is gone.
static void forget_old(struct seep_debug_variables *variables) {
    unsigned now = seep_debug_info_generation(variables->info);
    if (variables->generation == now)
        return;
    variables->generation = now;
    seep_map_deinit(&variables->by_start);
    variables->by_start = (struct seep_map)SEEP_MAP_INIT;
    variables->nr_globals = 0;
    variables->nr_units[0] = variables->nr_units[1] = 0;
}

struct seep_error *seep_debug_variables_global(struct seep_debug_variables *variables, uint64_t start,
                                               bool *ret_found, Dwarf_Die *ret_entry,
                                               const char **ret_function) {
    forget_old(variables);
    const uint64_t *known = seep_map_find(&variables->by_start, start);
    for (unsigned functions = 0; !known && functions <= 1; functions++) {
        Dwarf_Die unit;
        uint64_t budget;
        while (!known &&
               seep_debug_info_unit(variables->info, variables->nr_units[functions], &unit, &budget)) {
            variables->nr_units[functions]++;
            struct seep_error *error =
                unit.addr ? add_globals(variables, &unit, functions, NULL, &budget, 0) : NULL;
            if (error)
                return error;
            known = seep_map_find(&variables->by_start, start);
        }
    }
    *ret_found = known != NULL && *known;
    if (*ret_found) {
        *ret_entry = variables->globals[*known - 1].entry;
        *ret_function = variables->globals[*known - 1].function;
    }
    return NULL;
}

// ---- local variables ----

struct search {
    const struct seep_call_frame *frame;
    const struct seep_thread_stack *stack;
    const struct seep_wanted_word *wanted;
    uint64_t base; // of the frame
    bool has_base;
    uint64_t budget;
    bool found;
    Dwarf_Die entry;
    Dwarf_Die function;
    uint64_t off;
};

static void find_base(struct search *search, Dwarf_Die *function) {
    Dwarf_Attribute attribute;
    Dwarf_Op *ops;
    size_t nr;
    if (!dwarf_attr_integrate(function, DW_AT_frame_base, &attribute) ||
        dwarf_getlocation_addr(&attribute, search->frame->address, &ops, &nr, 1) != 1)
        return;
    struct seep_location at = seep_location_find(ops, nr, search->frame, search->stack, NULL);
    if (at.kind == SEEP_LOCATION_MEMORY) {
        search->base = at.value;
        search->has_base = true;
    } else if (at.kind == SEEP_LOCATION_REGISTER && at.value < SEEP_FRAME_REGISTERS &&
               (search->frame->known >> at.value & 1)) {
        search->base = search->frame->registers[at.value]; // the register's content
        search->has_base = true;
    }
}

// Whether `location` has the word that is asked for.
static bool has_word(const struct search *search, struct seep_location location, Dwarf_Die *entry,
                     uint64_t *ret_off) {
    const struct seep_call_frame *frame = search->frame;
    const struct seep_wanted_word *wanted = search->wanted;
    *ret_off = 0;
    if (location.kind == SEEP_LOCATION_MEMORY && wanted->address) {
        Dwarf_Die type;
        uint64_t bytes = seep_type_of(entry, &type) ? seep_type_bytes(&type) : 0;
        *ret_off = wanted->address - location.value;
        return wanted->address >= location.value && *ret_off < SEEP_MAX(bytes, (uint64_t)1);
    }
    uint64_t number = location.value;
    if (location.kind != SEEP_LOCATION_REGISTER || number >= SEEP_FRAME_REGISTERS ||
        !(frame->known >> number & 1))
        return false;
    if (wanted->address)
        return frame->saved_at[number] == wanted->address;
    return !frame->saved_at[number] && frame->registers[number] == wanted->value;
}

static void look_at(struct search *search, Dwarf_Die *entry, Dwarf_Die *function) {
    Dwarf_Attribute attribute;
    Dwarf_Op *ops[PLACES_MAX];
    size_t nr_ops[PLACES_MAX];
    if (!dwarf_attr(entry, DW_AT_location, &attribute))
        return;
    int nr = dwarf_getlocation_addr(&attribute, search->frame->address, ops, nr_ops, PLACES_MAX);
    for (int i = 0; i < nr; i++) {
        if (!ops[i] || !nr_ops[i] || ops[i][0].atom == DW_OP_addr || ops[i][0].atom == DW_OP_addrx)
            continue; // static
        struct seep_location location = seep_location_find(ops[i], nr_ops[i], search->frame, search->stack,
                                                           search->has_base ? &search->base : NULL);
        uint64_t off;
        if (!has_word(search, location, entry, &off))
            continue;
        // The innermost wins: of an inlined function, not of its caller, which has the same value.
        search->found = true;
        search->entry = *entry;
        search->function = *function;
        search->off = off;
    }
}

static void search_below(struct search *search, Dwarf_Die *parent, Dwarf_Die *function, unsigned depth) {
    Dwarf_Die child;
    int got = depth < DEPTH_MAX ? dwarf_child(parent, &child) : 1;
    for (; got == 0 && search->budget; got = dwarf_siblingof(&child, &child)) {
        search->budget--;
        int tag = dwarf_tag(&child);
        if (tag == DW_TAG_variable || tag == DW_TAG_formal_parameter)
            look_at(search, &child, function);
        else if (tag == DW_TAG_lexical_block &&
                 (dwarf_haspc(&child, search->frame->address) > 0 ||
                  !(dwarf_hasattr(&child, DW_AT_low_pc) || dwarf_hasattr(&child, DW_AT_ranges))))
            search_below(search, &child, function, depth + 1);
        else if (tag == DW_TAG_inlined_subroutine && dwarf_haspc(&child, search->frame->address) > 0)
            search_below(search, &child, &child, depth + 1);
    }
}

struct seep_error *seep_debug_variables_local(struct seep_debug_variables *variables,
                                              const struct seep_call_frame *frame,
                                              const struct seep_thread_stack *stack,
                                              const struct seep_wanted_word *wanted, bool *ret_found,
                                              Dwarf_Die *ret_entry, Dwarf_Die *ret_function,
                                              uint64_t *ret_off) {
    struct seep_function_entry function;
    bool found;
    *ret_found = false;
    struct seep_error *error = seep_debug_info_function(variables->info, frame->address, &found, &function);
    if (error || !found)
        return error;
    struct search search = {.frame = frame, .stack = stack, .wanted = wanted, .budget = function.budget};
    find_base(&search, &function.entry);
    search_below(&search, &function.entry, &function.entry, 0);
    *ret_found = search.found;
    if (search.found) {
        *ret_entry = search.entry;
        *ret_function = search.function;
        *ret_off = search.off;
    }
    return NULL;
}
