// SPDX-License-Identifier: BSD-2-Clause
//
// Functions, inlined functions and lines of a module by its DWARF.
//
// All indexes are made here, from the units' own address ranges: .debug_aranges is not trusted to be
// there or to be complete. They are made when they are first needed, unit by unit.
#ifndef SEEP_NAMES_DEBUG_INFO_H
#define SEEP_NAMES_DEBUG_INFO_H

#include <elfutils/libdw.h>

#include "names/module_file.h"
#include "names/names.h"
#include "names/symbols.h"

#define SEEP_INLINED_MAX 255u

struct seep_place {
    struct seep_symbol_frame frames[SEEP_INLINED_MAX + 1]; // innermost first, the last is not inlined
    unsigned nr_frames;                                    // 0: nothing is known
    bool has_function;                                     // else there is one frame, without a function
    bool is_plain;           // the last function's name has no linkage name: the symbol table may know more
    uint64_t function_start; // of the last function, the part of it that covers the address
};

// A function whose code covers an address.
struct seep_function_entry {
    Dwarf_Die entry;
    uint64_t budget; // entries that a walk below it may look at
};

struct seep_debug_info;

// *ret_info is NULL where the file has no debug information that can be read. Borrows all it is given.
SEEP_MUST_CHECK struct seep_error *seep_debug_info_create(struct seep_symbol_file *file,
                                                          struct seep_file_search *search,
                                                          struct seep_names *names,
                                                          struct seep_debug_info **ret_info);
void seep_debug_info_destroy(struct seep_debug_info *info); // takes NULL

// `ret_place` is filled also where nothing is known.
SEEP_MUST_CHECK struct seep_error *seep_debug_info_find(struct seep_debug_info *info, uint64_t address,
                                                        struct seep_place *ret_place);

// ---- for the other files of this room that read DWARF ----

// What an entry with children is a scope of: what a walk has to look into for what it seeks.
enum seep_debug_scope {
    SEEP_DEBUG_SCOPE_NONE,
    SEEP_DEBUG_SCOPE_NAMES,
    SEEP_DEBUG_SCOPE_CODE,
    SEEP_DEBUG_SCOPE_TYPE
};
enum seep_debug_scope seep_debug_scope(int tag);
// The language of the entry's unit, DW_LANG_* of <dwarf.h>; -1: not known.
int seep_debug_language(Dwarf_Die *entry);

// Entries that were given out are valid as long as this stays the same.
unsigned seep_debug_info_generation(const struct seep_debug_info *info);
// Unit `index` (false: there is none): its entry that holds variables and functions, and how many entries a
// walk below it may look at. *ret_entry.addr is NULL where it cannot be read.
bool seep_debug_info_unit(struct seep_debug_info *info, size_t index, Dwarf_Die *ret_entry,
                          uint64_t *ret_budget);
// Whether there are types that no unit leads to: in units of their own, or in a file that others share.
bool seep_debug_info_has_other_types(struct seep_debug_info *info);
// The function, not inlined, that covers `address`; *ret_found is false where none is known.
SEEP_MUST_CHECK struct seep_error *seep_debug_info_function(struct seep_debug_info *info, uint64_t address,
                                                            bool *ret_found,
                                                            struct seep_function_entry *ret_function);
// The readable name of a function's entry, inlined or not; lives as long as the names.
SEEP_MUST_CHECK struct seep_error *seep_debug_info_function_name(struct seep_debug_info *info,
                                                                 Dwarf_Die *function, const char **ret_name);
// The file and line where `entry` was declared; NULL and 0 where that is not known.
SEEP_MUST_CHECK struct seep_error *seep_debug_info_declared(struct seep_debug_info *info, Dwarf_Die *entry,
                                                            const char **ret_file, unsigned *ret_line);

#endif
