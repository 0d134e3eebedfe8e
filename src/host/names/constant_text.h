// SPDX-License-Identifier: BSD-2-Clause
//
// The text that a function of a file returns, read without running it: only functions that do nothing
// but return the address of a constant are understood.
#ifndef SEEP_NAMES_CONSTANT_TEXT_H
#define SEEP_NAMES_CONSTANT_TEXT_H

#include "names/symbol_file.h"

#define SEEP_CONSTANT_TEXT_MAX ((size_t)1 << 20)

// The address of a function that the file defines, by its name in .symtab or .dynsym. false: none.
bool seep_function_find(const struct seep_symbol_file *file, const char *name, uint64_t *ret_address);

// false: the function at `address` does more, or the text has no end. *ret_text points into the file.
bool seep_constant_text(const struct seep_symbol_file *file, uint64_t address, const char **ret_text,
                        size_t *ret_nr_bytes);

#endif
