// SPDX-License-Identifier: BSD-2-Clause
//
// Where memory is that no root may be read from: ranges, and what is left of a range without them.
// And the memory of glibc's allocator: the arenas with all their heaps, its main arena (which points
// to free chunks, and those addresses lie in the last 8 bytes of the blocks before them), and chunks
// with a mapping of their own. Found by the shape of its structures, since libc has no names for them.
// Source: the layout of struct malloc_state and heap_info, malloc/malloc.c and malloc/arena.c of glibc
// 2.27 to 2.41, 64-bit.
#ifndef SEEP_SCAN_HEAP_AREAS_H
#define SEEP_SCAN_HEAP_AREAS_H

#include "scan/memory.h"

struct seep_span {
    uint64_t start;
    uint64_t end;
};

struct seep_spans {
    struct seep_span *items;
    size_t nr_items;
    size_t capacity;
};
void seep_spans_deinit(struct seep_spans *spans);
// [start, end), in any order until the spans are settled. false: out of memory.
SEEP_MUST_CHECK bool seep_spans_add(struct seep_spans *spans, uint64_t start, uint64_t end);
// Sorts; spans may touch and overlap.
void seep_spans_settle(struct seep_spans *spans);
// The index of the first of settled spans that ends behind `address`.
size_t seep_spans_from(const struct seep_spans *spans, uint64_t address);
// The settled span that has `address`, or NULL.
const struct seep_span *seep_spans_find(const struct seep_spans *spans, uint64_t address);

// Adds glibc's arenas and their heaps; nothing where there is no glibc. false: out of memory.
SEEP_MUST_CHECK bool seep_heap_areas_find(struct seep_memory *memory, struct seep_spans *spans);

// Adds the mapping of the glibc chunk whose block is at `address`. *ret_is_one: it was such a chunk.
SEEP_MUST_CHECK bool seep_heap_areas_chunk(struct seep_memory *memory, uint64_t address,
                                           struct seep_spans *spans, bool *ret_is_one);

#endif
