// SPDX-License-Identifier: BSD-2-Clause
// Namespaces, classes and functions around an entry of DWARF, see debug_scopes.h.
#include <string.h>

#include <dwarf.h>

#include "names/debug_info.h"
#include "names/debug_scopes.h"

// Source: the language codes of DWARF 6, https://dwarfstd.org/languages.html; <dwarf.h> does not have these.
#define LANG_CXX_17 0x2a
#define LANG_CXX_20 0x2b

bool seep_debug_is_cxx(Dwarf_Die *entry) {
    switch (seep_debug_language(entry)) {
    case DW_LANG_C_plus_plus:
    case DW_LANG_C_plus_plus_03:
    case DW_LANG_C_plus_plus_11:
    case DW_LANG_C_plus_plus_14:
    case LANG_CXX_17:
    case LANG_CXX_20:
        return true;
    default:
        return false;
    }
}

// A member that is defined outside of its class has its scopes where it is declared.
static Dwarf_Die declaration_of(Dwarf_Die *function) {
    Dwarf_Attribute attribute;
    Dwarf_Die declaration;
    Dwarf_Attribute *reference = dwarf_attr(function, DW_AT_specification, &attribute);
    return reference && dwarf_formref_die(reference, &declaration) ? declaration : *function;
}

// The last child of `parent` that does not begin behind `goal`: the goal, or what it lies in.
static bool step_inward(Dwarf_Die *parent, Dwarf_Off goal, uint64_t *budget, Dwarf_Die *ret_child) {
    Dwarf_Off last = dwarf_dieoffset(parent);
    Dwarf_Die child;
    bool any = false;
    for (int got = dwarf_child(parent, &child); got == 0; got = dwarf_siblingof(&child, &child)) {
        Dwarf_Off at = dwarf_dieoffset(&child);
        if (at > goal || at <= last || !*budget)
            break;
        --*budget;
        last = at;
        *ret_child = child;
        any = true;
    }
    return any;
}

static bool is_named_scope(int tag) {
    enum seep_debug_scope scope = seep_debug_scope(tag);
    return scope == SEEP_DEBUG_SCOPE_NAMES || scope == SEEP_DEBUG_SCOPE_TYPE || tag == DW_TAG_subprogram;
}

bool seep_debug_scopes_of(Dwarf_Die *function, uint64_t *budget, struct seep_debug_scopes *ret_scopes) {
    Dwarf_Die at, goal = declaration_of(function);
    ret_scopes->nr = 0;
    if (!dwarf_diecu(&goal, &at, NULL, NULL))
        return false;
    while (step_inward(&at, dwarf_dieoffset(&goal), budget, &at)) {
        if (at.addr == goal.addr)
            return true;
        if (!is_named_scope(dwarf_tag(&at)))
            continue;
        if (ret_scopes->nr == SEEP_DEBUG_SCOPES_MAX)
            return false;
        ret_scopes->entries[ret_scopes->nr++] = at;
    }
    return false;
}

// GCC gives the type of a lambda no name, or one that begins so.
const char *seep_debug_scope_name(Dwarf_Die *scope, const char *function) {
    const char *name = dwarf_diename(scope);
    if (seep_debug_scope(dwarf_tag(scope)) == SEEP_DEBUG_SCOPE_NAMES)
        return name ? name : "(anonymous namespace)";
    if (name ? strncmp(name, "<lambda", 7) == 0 : strcmp(function, "operator()") == 0)
        return "{lambda}";
    return name ? name : "{unnamed type}";
}
