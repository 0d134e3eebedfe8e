// SPDX-License-Identifier: BSD-2-Clause
//
// Whether a scan must expect memory that no hook has seen and that may hold blocks, as that of the
// interpreters of redis does. See process/beside_malloc.h.
#ifndef SEEP_SCAN_JEMALLOC_OWN_H
#define SEEP_SCAN_JEMALLOC_OWN_H

#include "scan/memory.h"

// Whether a module beside the allocator itself names such a function. True also if the modules
// have more names than are read. Proof: tests/live/test_reachability.py.
bool seep_is_beside_malloc(const struct seep_memory *memory);

#endif
