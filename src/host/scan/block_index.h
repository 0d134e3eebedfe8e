// SPDX-License-Identifier: BSD-2-Clause
//
// Which block an address leads into, in a few loads and no search for the usual heap.
//
// Blocks lie in clusters: spans in which no two starts are far apart. A binary search finds the cluster. A
// cache keyed by a part of the address remembers it, or that the address lies between two clusters. A cluster
// is cut into chunks of 4 KiB. A chunk with many starts has a bitmap: a bit for each 8 bytes, set where a
// block starts, so a block's number is the number of bits before it. A chunk with few starts lists them. A
// search compares with all of them at once, without unpredictable branches. Where two blocks start within 8
// bytes, which no allocator does, only binary search is used. Memory: 16 bytes for 4 KiB from the first to
// the last start of a cluster, 80 for a chunk with a bitmap; at most 30 bytes a block where blocks are
// smaller than 4 KiB.
#ifndef SEEP_SCAN_BLOCK_INDEX_H
#define SEEP_SCAN_BLOCK_INDEX_H

#include "profile/profile.h"

#define SEEP_INDEX_REMEMBERED 256u
#define SEEP_CHUNK_STARTS     4u // that a chunk names

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
        uint32_t first;  // block that starts here or behind
        uint32_t bitmap; // UINT32_MAX: none
        uint64_t starts; // without a bitmap: 16 bits each, bytes from its begin, in order; 0x7fff: no more
    } * chunks;          // of all clusters, each with one more at its end; NULL: halving
    struct seep_block_bitmap {
        uint64_t bits[8];
        uint16_t before[8]; // starts in the words before
    } * bitmaps;
    size_t nr_bitmaps;
    struct seep_index_place { // answers for [low, low + extent)
        uint64_t low;
        uint64_t extent;
        uint64_t bias;    // where there are chunks: from the number of the 4 KiB to the chunk, modulo 2^64
        uint32_t cluster; // UINT32_MAX: none
        uint32_t upto;    // of all addresses; 0: see the chunks
    } * remembered;
};

// false: out of memory.
SEEP_MUST_CHECK bool seep_block_index_init(struct seep_block_index *index, const struct seep_block *blocks,
                                           uint32_t nr_blocks);
void seep_block_index_deinit(struct seep_block_index *index);

// The index of the first block at or behind `address`.
uint32_t seep_block_index_from(const struct seep_block_index *index, uint64_t address);

// ---- finding: the scan's innermost loop, so all of it stands here -------------------------------------
//
// Most words that look like addresses lead between two clusters (into memory that the program mapped itself),
// or into a block in some chunk: some 12 and some 60 instructions, and no branch that cannot be foretold.

enum { SEEP_CHUNK_SHIFT = 12, SEEP_UNIT_SHIFT = 3, SEEP_WORD_SHIFT = SEEP_UNIT_SHIFT + 6 };
#define SEEP_NO_CLUSTER UINT32_MAX
#define SEEP_NO_BITMAP  UINT32_MAX
// Four numbers of 16 bits.
#define SEEP_EACH16(number) ((uint64_t)(number)*UINT64_C(0x0001000100010001))

// Parts of what follows: the answer for a place that is not remembered, and the number of blocks where there
// are no chunks.
void seep_block_index_remember(const struct seep_block_index *index, uint64_t address,
                               struct seep_index_place *ret_place);
uint32_t seep_block_index_halve(const struct seep_block_index *index, const struct seep_index_place *place,
                                uint64_t address);

// __builtin_popcountll is a call where the CPU is not known to have the instruction.
static inline unsigned seep_count_bits(uint64_t bits) {
    bits -= bits >> 1 & UINT64_C(0x5555555555555555);
    bits = (bits & UINT64_C(0x3333333333333333)) + (bits >> 2 & UINT64_C(0x3333333333333333));
    bits = (bits + (bits >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (unsigned)(bits * UINT64_C(0x0101010101010101) >> 56);
}

// What has the address; NULL: in no cluster. Not thread-safe: it remembers.
static inline const struct seep_index_place *seep_block_index_place(const struct seep_block_index *index,
                                                                    uint64_t address) {
    if (address - index->low >= index->high - index->low)
        return NULL;
    struct seep_index_place *place = &index->remembered[address >> 21 & (SEEP_INDEX_REMEMBERED - 1)];
    if (SEEP_UNLIKELY(address - place->low >= place->extent))
        seep_block_index_remember(index, address, place);
    return place->cluster == SEEP_NO_CLUSTER ? NULL : place;
}

// The chunk of an address that is in `place`.
static inline const struct seep_block_chunk *seep_block_index_chunk(const struct seep_block_index *index,
                                                                    const struct seep_index_place *place,
                                                                    uint64_t address) {
    return &index->chunks[(size_t)((address >> SEEP_CHUNK_SHIFT) + place->bias)];
}

static inline uint32_t seep_block_bitmap_upto(const struct seep_block_index *index,
                                              const struct seep_block_chunk *chunk, uint64_t address,
                                              bool *ret_is_start) {
    const struct seep_block_bitmap *bitmap = &index->bitmaps[chunk->bitmap];
    size_t word = address >> SEEP_WORD_SHIFT & 7;
    uint64_t upto_here = ~UINT64_C(0) >> (63 - (address >> SEEP_UNIT_SHIFT & 63));
    uint32_t nr = chunk->first + bitmap->before[word] + seep_count_bits(bitmap->bits[word] & upto_here);
    // The bit of a block at an odd address stands for bytes before it, too.
    bool here = bitmap->bits[word] >> (address >> SEEP_UNIT_SHIFT & 63) & 1;
    if (SEEP_LIKELY(index->aligned)) {
        *ret_is_start = here && address % (1u << SEEP_UNIT_SHIFT) == 0;
        return nr;
    }
    return nr - (here && index->blocks[nr - 1].address > address);
}

// Numbers of 15 bits are compared by what their difference leaves of the bit above them.
static inline uint32_t seep_block_chunk_upto(const struct seep_block_chunk *chunk, uint64_t address,
                                             bool *ret_is_start) {
    uint64_t off = address & ((1u << SEEP_CHUNK_SHIFT) - 1);
    uint64_t passed = ((SEEP_EACH16(0x8000) | SEEP_EACH16(off)) - chunk->starts) >> 15 & SEEP_EACH16(1);
    uint32_t nr = (uint32_t)(SEEP_EACH16(passed) >> 48);
    // Where it is none of them the last one is compared, which is not here then.
    *ret_is_start = (chunk->starts >> ((nr - 1) % SEEP_CHUNK_STARTS * 16) & 0xffff) == off;
    return chunk->first + nr;
}

// Asks the memory for what _upto needs, for several addresses at once.
static inline void seep_block_index_ask(const struct seep_block_index *index, uint64_t address) {
    const struct seep_index_place *place = seep_block_index_place(index, address);
    if (!place || place->upto || SEEP_UNLIKELY(!index->chunks))
        return;
    const struct seep_block_chunk *chunk = seep_block_index_chunk(index, place, address);
    if (chunk->bitmap == SEEP_NO_BITMAP)
        return;
    const struct seep_block_bitmap *bitmap = &index->bitmaps[chunk->bitmap];
    __builtin_prefetch(&bitmap->bits[address >> SEEP_WORD_SHIFT & 7]);
    __builtin_prefetch(&bitmap->before[0]);
}

// At least 1: the cluster's first starts where it does.
SEEP_INLINE uint32_t seep_block_place_upto(const struct seep_block_index *index,
                                           const struct seep_index_place *place, uint64_t address,
                                           bool *ret_is_start) {
    *ret_is_start = false;
    if (SEEP_UNLIKELY(place->upto)) // in the last block
        return place->upto;
    if (SEEP_UNLIKELY(!index->chunks))
        return seep_block_index_halve(index, place, address);
    const struct seep_block_chunk *chunk = seep_block_index_chunk(index, place, address);
    return chunk->bitmap == SEEP_NO_BITMAP ? seep_block_chunk_upto(chunk, address, ret_is_start)
                                           : seep_block_bitmap_upto(index, chunk, address, ret_is_start);
}

// The number of blocks that start at or before the address, 0 where it is in none, and the memory is asked
// for the last of them, which may have it. Where *ret_is_start the address is where that one starts, and it
// need not be looked at.
static inline uint32_t seep_block_index_upto(const struct seep_block_index *index, uint64_t address,
                                             bool *ret_is_start) {
    *ret_is_start = false;
    const struct seep_index_place *place = seep_block_index_place(index, address);
    if (!place)
        return 0;
    uint32_t nr = seep_block_place_upto(index, place, address, ret_is_start);
    if (!*ret_is_start)
        __builtin_prefetch(&index->blocks[nr - 1]);
    return nr;
}

// A block of size 0 has one byte.
static inline bool seep_block_has(const struct seep_block *block, uint64_t address) {
    return address - block->address < SEEP_MAX(block->size, (uint64_t)1) && address >= block->address;
}

// The block that has `address` within it, and how far. false: none has. Cost: a few loads in the usual heap,
// see above.
static inline bool seep_block_index_find(const struct seep_block_index *index, uint64_t address,
                                         uint32_t *ret_block, uint64_t *ret_off) {
    const struct seep_index_place *place = seep_block_index_place(index, address);
    if (!place)
        return false;
    bool is_start;
    uint32_t nr = seep_block_place_upto(index, place, address, &is_start);
    if (!seep_block_has(&index->blocks[nr - 1], address))
        return false;
    *ret_block = nr - 1;
    *ret_off = address - index->blocks[nr - 1].address;
    return true;
}

#endif
