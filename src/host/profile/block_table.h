// SPDX-License-Identifier: BSD-2-Clause
//
// Live blocks by address: a hash table that forgets what is taken out without leaving a trace of it, for
// millions of blocks that come and go. Open addressing; a removal moves back what its gap would hide.
#ifndef SEEP_PROFILE_BLOCK_TABLE_H
#define SEEP_PROFILE_BLOCK_TABLE_H

#include "core/attr.h"

struct seep_heap_block {
    uint64_t address; // 0: an empty slot
    uint64_t size;    // bytes
    int64_t born_ns;  // since the start of the tracing
    uint32_t site;    // id
    uint32_t thread;  // index
};

struct seep_block_table {
    struct seep_heap_block *slots;
    size_t nr_slots; // power of two, or 0
    size_t nr_used;
};

void seep_block_table_deinit(struct seep_block_table *table);

// The place of the block at `address`, empty (address 0) where it is new: then the caller fills it.
// Valid until the next call. NULL: out of memory. `address` is not 0.
SEEP_MUST_CHECK struct seep_heap_block *seep_block_table_at(struct seep_block_table *table, uint64_t address);

// NULL: it is not there.
const struct seep_heap_block *seep_block_table_find(const struct seep_block_table *table, uint64_t address);

// Takes it out. false: it is not there.
bool seep_block_table_take(struct seep_block_table *table, uint64_t address,
                           struct seep_heap_block *ret_block);

#endif
