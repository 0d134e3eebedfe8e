// SPDX-License-Identifier: BSD-2-Clause
//
// The functions that the symbol tables of a module name (.symtab, .dynsym). Names point into the
// files, which must outlive the table.
#ifndef SEEP_NAMES_SYMBOL_TABLE_H
#define SEEP_NAMES_SYMBOL_TABLE_H

#include "names/ranges.h"
#include "names/symbol_file.h"

struct seep_symbol_table {
    struct seep_ranges sized;   // value: the name
    struct seep_ranges unsized; // labels of assembly: value is the name, high the end of the section
};

void seep_symbol_table_deinit(struct seep_symbol_table *table);

// Adds the symbols of all tables of that type. Seal after the last.
SEEP_MUST_CHECK struct seep_error *seep_symbol_table_add(struct seep_symbol_table *table,
                                                         const struct seep_symbol_file *file,
                                                         uint32_t section_type);
void seep_symbol_table_seal(struct seep_symbol_table *table);

// Adds the variables of all tables of that type: value is the name. Seal after the last.
SEEP_MUST_CHECK struct seep_error *seep_symbol_variables_add(struct seep_ranges *variables,
                                                             const struct seep_symbol_file *file,
                                                             uint32_t section_type);

// The function that covers `address`: of several the one that starts last, then by rank (functions
// before labels, global before weak before local, fewer leading underscores, shorter). A label
// without a size covers what follows it in its section up to the next symbol. NULL: none.
const char *seep_symbol_table_find(const struct seep_symbol_table *table, uint64_t address,
                                   uint64_t *ret_start);

#endif
