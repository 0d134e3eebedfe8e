// SPDX-License-Identifier: BSD-2-Clause
//
// The memory of musl's allocator: its groups of slots, found from its context in the data of libc, which has
// no name for it. A slot is free, or a block of the program, or has a group of smaller slots in it, or is
// libc's own: thread-local storage of the first thread and of libraries that were opened, arguments of exit
// handlers, and what else it allocates past the hooks. Only libc's own may hold something.
// Source: struct malloc_context, meta_area, meta and group of src/malloc/mallocng/meta.h of musl 1.2.1 to
// 1.2.5, 64-bit.
#ifndef SEEP_SCAN_MUSL_AREAS_H
#define SEEP_SCAN_MUSL_AREAS_H

#include "scan/block_index.h"
#include "scan/memory.h"
#include "scan/spans.h"

// Adds the groups to `groups`, and to `no_roots` what of them holds nothing; nothing where there is no musl.
// `blocks` are those of the index. false: out of memory.
SEEP_MUST_CHECK bool seep_musl_areas_find(const struct seep_memory *memory,
                                          const struct seep_block_index *index,
                                          const struct seep_block *blocks, uint32_t nr_blocks,
                                          struct seep_spans *groups, struct seep_spans *no_roots);

#endif
