// SPDX-License-Identifier: BSD-2-Clause
//
// The memory of glibc's allocator: the arenas with all their heaps, its main arena (which points
// to free chunks, and those addresses lie in the last 8 bytes of the blocks before them), and chunks
// with a mapping of their own. Found by the shape of its structures, since libc has no names for them.
// Source: the layout of struct malloc_state and heap_info, malloc/malloc.c and malloc/arena.c of glibc
// 2.27 to 2.41, 64-bit.
#ifndef SEEP_SCAN_HEAP_AREAS_H
#define SEEP_SCAN_HEAP_AREAS_H

#include "scan/memory.h"
#include "scan/spans.h"

// Adds glibc's arenas and their heaps; nothing where there is no glibc. false: out of memory.
SEEP_MUST_CHECK bool seep_heap_areas_find(struct seep_memory *memory, struct seep_spans *spans);

// Adds the mapping of the glibc chunk whose block is at `address`. *ret_is_one: it was such a chunk.
SEEP_MUST_CHECK bool seep_heap_areas_chunk(struct seep_memory *memory, uint64_t address,
                                           struct seep_spans *spans, bool *ret_is_one);

#endif
