// SPDX-License-Identifier: BSD-2-Clause
//
// What the code of a file says about a call: read from the file, not run.
#ifndef SEEP_NAMES_CALL_TARGET_H
#define SEEP_NAMES_CALL_TARGET_H

#include "names/symbol_file.h"

// Where the loader puts the address of the function of another file that the instruction before the return
// address calls: through the procedure linkage table, or through the global offset table. false: it calls
// something else, or that is not known (known are the instructions of x86-64 and aarch64).
bool seep_call_slot(const struct seep_symbol_file *file, uint64_t return_address, uint64_t *ret_slot);
// The function whose address the loader puts there; NULL: none. Points into the file. O(relocations).
const char *seep_slot_import(const struct seep_symbol_file *file, uint64_t slot);

#endif
