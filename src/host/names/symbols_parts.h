// SPDX-License-Identifier: BSD-2-Clause
//
// What the files behind symbols.h share: the table of modules, and how one is opened.
#ifndef SEEP_NAMES_SYMBOLS_PARTS_H
#define SEEP_NAMES_SYMBOLS_PARTS_H

#include <elfutils/libdw.h>

#include "base/map.h"
#include "names/debug_info.h"
#include "names/debug_layouts.h"
#include "names/debug_variables.h"
#include "names/untrusted_symbols.h"
#include "names/module_file.h"
#include "names/names.h"
#include "names/symbol_table.h"
#include "names/symbols.h"

struct seep_symbols_module {
    const char *path;
    struct seep_build_id id;
    bool found;  // its files were looked for
    bool closed; // and closed: only its variables are left
    bool opened; // functions and lines were read
    bool named;  // its functions were given, no file is asked
    bool lined;  // and lines
    bool asked_runtime;
    bool has_cxx_runtime; // known once asked_runtime
    bool is_far;          // a file of it is another user's: see untrusted_symbols.h
    struct seep_untrusted_module far;
    enum seep_symbols_quality quality;
    const char *trouble; // static text
    struct seep_module_files files;
    struct seep_debug_info *debug_info;
    struct seep_symbol_table table;
    bool has_variables; // they have been read
    struct seep_ranges variables;
    struct seep_debug_variables *debug_variables; // made when they are first asked for
    struct seep_debug_layouts *debug_layouts;     // the same
    struct seep_call_frames *frames;              // the same
    bool has_frames;
    struct seep_map results[2]; // by `exact`: offset to const struct seep_symbol *
    struct seep_map imports;    // slot of the global offset table to the name of its function
};

struct seep_symbols {
    struct seep_names names; // its arena also has the modules and the results
    struct seep_file_search search;
    struct seep_map ids; // kept text of path and build-id, as an address, to index in modules
    struct seep_symbols_module **modules;
    size_t nr_modules;
    size_t modules_capacity;
    size_t latest;           // of modules: what was asked for last, and most often is again
    struct seep_place place; // of the frame being looked up: too large for the stack
    struct seep_untrusted_symbols *far;
    bool met_untrusted; // from then on the reader of untrusted files reads all that it may
};

// What a variable, a member or a class is: an entry of the debug information, or its number at the reader of
// untrusted files.
struct seep_type {
    struct seep_debug_info *info;
    unsigned generation; // of info, that the entry is of
    Dwarf_Die entry;
    struct seep_untrusted_type far; // where info is NULL
};

// ---- symbols.c ----

// The module with its files, without functions and lines. SEEP_E_NOT_FOUND: there is no such module.
SEEP_MUST_CHECK struct seep_error *seep_symbols_find_module_files(struct seep_symbols *symbols,
                                                                  unsigned module_id,
                                                                  struct seep_symbols_module **ret_module);
// Reads functions and lines of the module, once.
SEEP_MUST_CHECK struct seep_error *seep_symbols_open_module(struct seep_symbols *symbols,
                                                            struct seep_symbols_module *module);
// The module with functions and lines. SEEP_E_NOT_FOUND: there is no such module.
SEEP_MUST_CHECK struct seep_error *seep_symbols_find_module(struct seep_symbols *symbols, unsigned module_id,
                                                            struct seep_symbols_module **ret_module);

// ---- symbols_types.c ----

// Keeps a type as long as the symbols. *ret_type is NULL if `far` has no number.
SEEP_MUST_CHECK struct seep_error *seep_symbols_keep_type(struct seep_symbols *symbols,
                                                          struct seep_debug_info *info, Dwarf_Die *entry,
                                                          const struct seep_type **ret_type);
SEEP_MUST_CHECK struct seep_error *seep_symbols_keep_far_type(struct seep_symbols *symbols,
                                                              const struct seep_untrusted_type *far,
                                                              const struct seep_type **ret_type);

#endif
