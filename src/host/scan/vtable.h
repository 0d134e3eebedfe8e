// SPDX-License-Identifier: BSD-2-Clause
//
// Tables of virtual functions: in memory of a file that is not written, and their first entry leads to code.
// A core leaves out what the file that was mapped has unchanged, so of a core such memory is read from there.
#ifndef SEEP_SCAN_VTABLE_H
#define SEEP_SCAN_VTABLE_H

#include "scan/memory.h"

// Whether there may be one at `word`; quick.
bool seep_vtable_may_be(const struct seep_memory *memory, uint64_t word);
// Where that is so: whether there is one.
bool seep_vtable_is(const struct seep_memory *memory, uint64_t word);

#endif
