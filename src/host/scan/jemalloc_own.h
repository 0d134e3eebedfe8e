// SPDX-License-Identifier: BSD-2-Clause
//
// jemalloc, tcmalloc and mimalloc have functions of their own beside malloc (mallocx, tc_malloc, mi_malloc).
// What they hand out is in no map of blocks, and may hold blocks that are (the interpreters of redis do).
#ifndef SEEP_SCAN_JEMALLOC_OWN_H
#define SEEP_SCAN_JEMALLOC_OWN_H

#include "scan/memory.h"

// Whether a module beside the allocator itself names such a function.
bool seep_is_beside_malloc(const struct seep_memory *memory);

#endif
