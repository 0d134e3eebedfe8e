// SPDX-License-Identifier: BSD-2-Clause
//
// What an entry of DWARF is declared in: its namespaces, its classes and the function around it.
//
// The way there is searched from the unit inward. Each step goes to an entry behind the one before, so
// damaged or hostile DWARF ends the search, and `budget` limits what many searches take together.
#ifndef SEEP_NAMES_DEBUG_SCOPES_H
#define SEEP_NAMES_DEBUG_SCOPES_H

#include <elfutils/libdw.h>
#include <stdint.h>

#include "core/attr.h"

#define SEEP_DEBUG_SCOPES_MAX 64u

struct seep_debug_scopes {
    Dwarf_Die entries[SEEP_DEBUG_SCOPES_MAX]; // outermost first; namespaces, types and functions
    unsigned nr;
};

// The scopes of `function`, by its declaration where that is apart. `budget` is what may be looked at, and
// loses what was. false: they are not known.
SEEP_MUST_CHECK bool seep_debug_scopes_of(Dwarf_Die *function, uint64_t *budget,
                                          struct seep_debug_scopes *ret_scopes);
// What a scope that is no function is called, as demanglers write it.
const char *seep_debug_scope_name(Dwarf_Die *scope, const char *function);
// Whether the entry's unit is one of C++, whose local functions have no linkage name.
bool seep_debug_is_cxx(Dwarf_Die *entry);

#endif
