// SPDX-License-Identifier: BSD-2-Clause
// Clusters, chunks and maps, see block_index.h.
#include <stdlib.h>
#include <string.h>

#include "base/large.h"
#include "base/map.h"
#include "scan/block_index.h"

enum { CHUNK_SHIFT = 12, UNIT_SHIFT = 3, WORD_SHIFT = UNIT_SHIFT + 6 };
#define APART_BYTES ((uint64_t)64 << 10) // starts that are further apart are in two clusters
#define FEW         4u                   // starts of a chunk that are searched
#define NONE        UINT32_MAX

static uint64_t end_of(const struct seep_block *block) {
    uint64_t end;
    if (__builtin_add_overflow(block->address, block->size ? block->size : 1, &end))
        end = UINT64_MAX;
    return end;
}

// __builtin_popcountll is a call where the CPU is not known to have the instruction.
static unsigned count_bits(uint64_t bits) {
    bits -= bits >> 1 & UINT64_C(0x5555555555555555);
    bits = (bits & UINT64_C(0x3333333333333333)) + (bits >> 2 & UINT64_C(0x3333333333333333));
    bits = (bits + (bits >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (unsigned)(bits * UINT64_C(0x0101010101010101) >> 56);
}

// ---- making ----

// Cluster after cluster. On the way: how the starts lie. false: out of memory.
static bool find_clusters(struct seep_block_index *index) {
    size_t capacity = 0;
    const struct seep_block *blocks = index->blocks;
    uint64_t bits = 0;
    for (uint32_t i = 0; i < index->nr_blocks; index->nr_clusters++) {
        struct seep_block_cluster cluster = {.low = blocks[i].address, .first = i};
        do {
            uint64_t end = end_of(&blocks[i]);
            cluster.high = SEEP_MAX(cluster.high, end);
            bits |= blocks[i].address;
            index->collide |= i && blocks[i].address >> UNIT_SHIFT == blocks[i - 1].address >> UNIT_SHIFT;
        } while (++i < index->nr_blocks && blocks[i].address - blocks[i - 1].address <= APART_BYTES);
        cluster.last = i;
        if (i < index->nr_blocks) // only a damaged image has overlapping blocks
            cluster.high = SEEP_MIN(cluster.high, blocks[i].address);
        if (!seep_grow(&index->clusters, &capacity, index->nr_clusters + 1, sizeof(*index->clusters)))
            return false;
        index->clusters[index->nr_clusters] = cluster;
    }
    index->aligned = bits % (1u << UNIT_SHIFT) == 0;
    return true;
}

static uint64_t chunk_of(const struct seep_block_cluster *cluster, uint64_t address) {
    return (address >> CHUNK_SHIFT) - (cluster->low >> CHUNK_SHIFT);
}

// Up to the one with the last start.
static size_t nr_chunks(const struct seep_block_index *index, const struct seep_block_cluster *cluster) {
    return (size_t)chunk_of(cluster, index->blocks[cluster->last - 1].address) + 1;
}

static void fill_map(const struct seep_block_index *index, uint32_t first, uint32_t last,
                     struct seep_block_map *map) {
    *map = (struct seep_block_map){{0}};
    for (uint32_t i = first; i < last; i++) {
        uint64_t address = index->blocks[i].address;
        map->bits[address >> WORD_SHIFT & 7] |= UINT64_C(1) << (address >> UNIT_SHIFT & 63);
    }
    for (size_t w = 1; w < SEEP_ARRAY_SIZE(map->bits); w++)
        map->before[w] = (uint16_t)(map->before[w - 1] + count_bits(map->bits[w - 1]));
}

// Chunks of all clusters. false: out of memory.
static bool fill_chunks(struct seep_block_index *index) {
    size_t capacity = 0;
    for (size_t c = 0; c < index->nr_clusters; c++) {
        const struct seep_block_cluster *cluster = &index->clusters[c];
        struct seep_block_chunk *chunks = &index->chunks[cluster->chunk];
        size_t nr = nr_chunks(index, cluster);
        for (uint32_t i = cluster->first, at = 0; at < nr; at++) {
            uint32_t first = i;
            while (i < cluster->last && chunk_of(cluster, index->blocks[i].address) == at)
                i++;
            chunks[at] = (struct seep_block_chunk){first, NONE};
            if (i - first <= FEW)
                continue;
            if (index->nr_maps == capacity && !seep_large_grow(&index->maps, &capacity, sizeof(*index->maps)))
                return false;
            chunks[at].map = (uint32_t)index->nr_maps;
            fill_map(index, first, i, &index->maps[index->nr_maps++]);
        }
        chunks[nr] = (struct seep_block_chunk){cluster->last, NONE};
    }
    return true;
}

static bool make_chunks(struct seep_block_index *index) {
    size_t sum = 0;
    for (size_t c = 0; c < index->nr_clusters; c++) {
        index->clusters[c].chunk = sum;
        sum += nr_chunks(index, &index->clusters[c]) + 1;
    }
    index->chunks = seep_large_alloc(sum, sizeof(*index->chunks));
    return index->chunks && fill_chunks(index);
}

bool seep_block_index_init(struct seep_block_index *index, const struct seep_block *blocks,
                           uint32_t nr_blocks) {
    *index = (struct seep_block_index){.blocks = blocks, .nr_blocks = nr_blocks};
    index->remembered = calloc(SEEP_INDEX_REMEMBERED, sizeof(*index->remembered));
    if (!nr_blocks)
        return index->remembered != NULL;
    if (!index->remembered || !find_clusters(index))
        return false;
    index->low = index->clusters[0].low;
    index->high = index->clusters[index->nr_clusters - 1].high;
    return index->collide || make_chunks(index);
}

void seep_block_index_deinit(struct seep_block_index *index) {
    free(index->clusters);
    free(index->chunks);
    free(index->maps);
    free(index->remembered);
    *index = (struct seep_block_index){NULL};
}

// ---- finding ----

// Which cluster, or hole between two, has the address, which is in [low, high).
static struct seep_index_place look_up(const struct seep_block_index *index, uint64_t address) {
    size_t low = 0, high = index->nr_clusters;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (index->clusters[middle].high <= address)
            low = middle + 1;
        else
            high = middle;
    }
    const struct seep_block_cluster *cluster = &index->clusters[low];
    if (cluster->low <= address)
        return (struct seep_index_place){cluster->low, cluster->high - cluster->low, (uint32_t)low};
    return (struct seep_index_place){cluster[-1].high, cluster->low - cluster[-1].high, NONE};
}

// The blocks among [low, high) that start at or before the address, and those before them.
static uint32_t halve(const struct seep_block_index *index, uint32_t low, uint32_t high, uint64_t address) {
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (index->blocks[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static uint32_t upto(const struct seep_block_index *index, const struct seep_block_cluster *cluster,
                     uint64_t address, bool *ret_is_start) {
    if (SEEP_UNLIKELY(!index->chunks))
        return halve(index, cluster->first, cluster->last, address);
    uint64_t at = chunk_of(cluster, address);
    if (at > chunk_of(cluster, index->blocks[cluster->last - 1].address)) // in the last block
        return cluster->last;
    const struct seep_block_chunk *chunk = &index->chunks[cluster->chunk + (size_t)at];
    if (chunk->map == NONE)
        return halve(index, chunk[0].first, chunk[1].first, address);
    const struct seep_block_map *map = &index->maps[chunk->map];
    size_t word = address >> WORD_SHIFT & 7;
    uint64_t upto_here = ~UINT64_C(0) >> (63 - (address >> UNIT_SHIFT & 63));
    uint32_t nr = chunk->first + map->before[word] + count_bits(map->bits[word] & upto_here);
    // The bit of a block at an odd address stands for bytes before it, too.
    bool here = map->bits[word] >> (address >> UNIT_SHIFT & 63) & 1;
    if (SEEP_LIKELY(index->aligned)) {
        *ret_is_start = here && address % (1u << UNIT_SHIFT) == 0;
        return nr;
    }
    return nr - (here && index->blocks[nr - 1].address > address);
}

// NULL: in no cluster.
static const struct seep_block_cluster *cluster_of(const struct seep_block_index *index, uint64_t address) {
    if (address - index->low >= index->high - index->low)
        return NULL;
    struct seep_index_place *place = &index->remembered[address >> 21 & (SEEP_INDEX_REMEMBERED - 1)];
    if (SEEP_UNLIKELY(address - place->low >= place->extent))
        *place = look_up(index, address);
    return place->cluster == NONE ? NULL : &index->clusters[place->cluster];
}

void seep_block_index_ask(const struct seep_block_index *index, uint64_t address) {
    const struct seep_block_cluster *cluster = cluster_of(index, address);
    if (!cluster || !index->chunks)
        return;
    uint64_t at = chunk_of(cluster, address);
    if (at > chunk_of(cluster, index->blocks[cluster->last - 1].address))
        return;
    const struct seep_block_chunk *chunk = &index->chunks[cluster->chunk + (size_t)at];
    if (chunk->map == NONE)
        return;
    const struct seep_block_map *map = &index->maps[chunk->map];
    __builtin_prefetch(&map->bits[address >> WORD_SHIFT & 7]);
    __builtin_prefetch(&map->before[0]);
}

uint32_t seep_block_index_upto(const struct seep_block_index *index, uint64_t address, bool *ret_is_start) {
    *ret_is_start = false;
    const struct seep_block_cluster *cluster = cluster_of(index, address);
    if (!cluster)
        return 0;
    // At least 1: the cluster's first starts where it does.
    uint32_t nr = upto(index, cluster, address, ret_is_start);
    if (!*ret_is_start)
        __builtin_prefetch(&index->blocks[nr - 1]);
    return nr;
}

bool seep_block_has(const struct seep_block *block, uint64_t address) {
    return address >= block->address && address < end_of(block);
}

bool seep_block_index_find(const struct seep_block_index *index, uint64_t address, uint32_t *ret_block,
                           uint64_t *ret_off) {
    bool is_start;
    uint32_t nr = seep_block_index_upto(index, address, &is_start);
    if (!nr || !seep_block_has(&index->blocks[nr - 1], address))
        return false;
    *ret_block = nr - 1;
    *ret_off = address - index->blocks[nr - 1].address;
    return true;
}

uint32_t seep_block_index_from(const struct seep_block_index *index, uint64_t address) {
    return address ? halve(index, 0, index->nr_blocks, address - 1) : 0;
}
