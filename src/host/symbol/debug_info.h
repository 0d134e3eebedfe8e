// SPDX-License-Identifier: BSD-2-Clause
//
// Functions, inlined functions and lines of a module by its DWARF.
//
// All indexes are made here, from the units' own address ranges: .debug_aranges is not trusted to be
// there or to be complete. They are made when they are first needed, unit by unit.
#ifndef SEEP_SYMBOL_DEBUG_INFO_H
#define SEEP_SYMBOL_DEBUG_INFO_H

#include "symbol/module_file.h"
#include "symbol/names.h"
#include "symbol/symbols.h"

#define SEEP_INLINED_MAX 255u

struct seep_place {
    struct seep_symbol_frame frames[SEEP_INLINED_MAX + 1]; // innermost first, the last is not inlined
    unsigned nr_frames;                                    // 0: nothing is known
    bool has_function;                                     // else there is one frame, without a function
    bool is_plain;           // the last function's name has no linkage name: the symbol table may know more
    uint64_t function_start; // of the last function, the part of it that covers the address
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

#endif
