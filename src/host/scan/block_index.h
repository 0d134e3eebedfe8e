// SPDX-License-Identifier: BSD-2-Clause
//
// Which block an address leads into, in a few loads and no search for the usual heap.
//
// Blocks lie in clusters: spans in which no two starts are far apart. The few clusters are found by halving,
// and remembered by a part of the address, also that it lies between two of them. A cluster is cut into
// chunks of 4 KiB. A chunk with many starts has a map: a bit for each 8 bytes, set where a block starts, so
// that a block's number is the number of bits before it. One with few starts is searched. Where two blocks
// start within 8 bytes, which no allocator does, halving serves alone.
// Memory: 8 bytes for 4 KiB from the first to the last start of a cluster, 80 for a chunk with a map; at
// most 30 bytes a block where blocks are smaller than 4 KiB.
#ifndef SEEP_SCAN_BLOCK_INDEX_H
#define SEEP_SCAN_BLOCK_INDEX_H

#include "model/profile.h"

#define SEEP_INDEX_REMEMBERED 256u

struct seep_block_cluster {
    uint64_t low; // of its first block
    uint64_t high;
    uint32_t first; // block
    uint32_t last;  // behind the last block
    size_t chunk;   // its first one, in those of all clusters
};

struct seep_block_index {
    const struct seep_block *blocks; // borrowed; sorted by address
    uint32_t nr_blocks;
    bool aligned; // all start at multiples of 8
    bool collide; // two start within 8 bytes
    uint64_t low; // of all blocks
    uint64_t high;
    struct seep_block_cluster *clusters;
    size_t nr_clusters;
    struct seep_block_chunk {
        uint32_t first; // block that starts here or behind
        uint32_t map;   // UINT32_MAX: none
    } * chunks;         // of all clusters, each with one more at its end; NULL: halving
    struct seep_block_map {
        uint64_t bits[8];
        uint16_t before[8]; // starts in the words before
    } * maps;
    size_t nr_maps;
    struct seep_index_place { // answers for [low, low + extent)
        uint64_t low;
        uint64_t extent;
        uint32_t cluster; // UINT32_MAX: none
    } * remembered;
};

// false: out of memory.
SEEP_MUST_CHECK bool seep_block_index_init(struct seep_block_index *index, const struct seep_block *blocks,
                                           uint32_t nr_blocks);
void seep_block_index_deinit(struct seep_block_index *index);

// A block of size 0 has one byte. Not thread-safe: it remembers.
bool seep_block_index_find(const struct seep_block_index *index, uint64_t address, uint32_t *ret_block,
                           uint64_t *ret_off);

// The same in steps, for several addresses at once: asks the memory for what _upto needs; then the number of
// blocks that start at or before the address, 0 where it is in none, and the memory is asked for the last of
// them, which may have it. Where *ret_is_start the address is where that one starts, and it need not be
// looked at.
void seep_block_index_ask(const struct seep_block_index *index, uint64_t address);
uint32_t seep_block_index_upto(const struct seep_block_index *index, uint64_t address, bool *ret_is_start);
bool seep_block_has(const struct seep_block *block, uint64_t address);

// The index of the first block at or behind `address`.
uint32_t seep_block_index_from(const struct seep_block_index *index, uint64_t address);

#endif
