// SPDX-License-Identifier: BSD-2-Clause
// Clusters, chunks and bitmaps, see block_index.h.
#include <stdlib.h>
#include <string.h>

#include "base/large.h"
#include "base/map.h"
#include "base/search.h"
#include "scan/block_index.h"

#define APART_BYTES ((uint64_t)64 << 10) // starts that are further apart are in two clusters
#define NO_START    0x7fffu

static uint64_t end_of(const struct seep_block *block) {
    uint64_t end;
    if (__builtin_add_overflow(block->address, block->size ? block->size : 1, &end))
        end = UINT64_MAX;
    return end;
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
            index->collide |=
                i && blocks[i].address >> SEEP_UNIT_SHIFT == blocks[i - 1].address >> SEEP_UNIT_SHIFT;
        } while (++i < index->nr_blocks && blocks[i].address - blocks[i - 1].address <= APART_BYTES);
        cluster.last = i;
        if (i < index->nr_blocks) // only a damaged image has overlapping blocks
            cluster.high = SEEP_MIN(cluster.high, blocks[i].address);
        if (!seep_grow(&index->clusters, &capacity, index->nr_clusters + 1, sizeof(*index->clusters)))
            return false;
        index->clusters[index->nr_clusters] = cluster;
    }
    index->aligned = bits % (1u << SEEP_UNIT_SHIFT) == 0;
    return true;
}

static uint64_t chunk_of(const struct seep_block_cluster *cluster, uint64_t address) {
    return (address >> SEEP_CHUNK_SHIFT) - (cluster->low >> SEEP_CHUNK_SHIFT);
}

static uint64_t in_chunk(uint64_t address) {
    return address & ((1u << SEEP_CHUNK_SHIFT) - 1);
}

// Up to the one with the last start.
static size_t nr_chunks(const struct seep_block_index *index, const struct seep_block_cluster *cluster) {
    return (size_t)chunk_of(cluster, index->blocks[cluster->last - 1].address) + 1;
}

static void fill_bitmap(const struct seep_block_index *index, uint32_t first, uint32_t last,
                        struct seep_block_bitmap *bitmap) {
    *bitmap = (struct seep_block_bitmap){{0}};
    for (uint32_t i = first; i < last; i++) {
        uint64_t address = index->blocks[i].address;
        bitmap->bits[address >> SEEP_WORD_SHIFT & 7] |= UINT64_C(1) << (address >> SEEP_UNIT_SHIFT & 63);
    }
    for (size_t w = 1; w < SEEP_ARRAY_SIZE(bitmap->bits); w++)
        bitmap->before[w] = (uint16_t)(bitmap->before[w - 1] + seep_count_bits(bitmap->bits[w - 1]));
}

// At most SEEP_CHUNK_STARTS.
static uint64_t pack_starts(const struct seep_block_index *index, uint32_t first, uint32_t last) {
    uint64_t starts = SEEP_EACH16(NO_START);
    for (uint32_t i = last; i-- > first;)
        starts = starts << 16 | in_chunk(index->blocks[i].address);
    return starts;
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
            chunks[at] = (struct seep_block_chunk){first, SEEP_NO_BITMAP, SEEP_EACH16(NO_START)};
            if (i - first <= SEEP_CHUNK_STARTS) {
                chunks[at].starts = pack_starts(index, first, i);
                continue;
            }
            if (index->nr_bitmaps == capacity &&
                !seep_large_grow(&index->bitmaps, &capacity, sizeof(*index->bitmaps)))
                return false;
            chunks[at].bitmap = (uint32_t)index->nr_bitmaps;
            fill_bitmap(index, first, i, &index->bitmaps[index->nr_bitmaps++]);
        }
    }
    return true;
}

static bool make_chunks(struct seep_block_index *index) {
    size_t sum = 0;
    for (size_t c = 0; c < index->nr_clusters; c++) {
        index->clusters[c].chunk = sum;
        sum += nr_chunks(index, &index->clusters[c]);
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
    free(index->bitmaps);
    free(index->remembered);
    *index = (struct seep_block_index){NULL};
}

// ---- finding ----

// A cluster, its end behind the last chunk, or a hole between two: what has the address, which is in [low,
// high).
static struct seep_index_place look_up(const struct seep_block_index *index, uint64_t address) {
    const size_t low = SEEP_FIRST_WHERE(at, index->nr_clusters, index->clusters[at].high > address);
    const struct seep_block_cluster *cluster = &index->clusters[low];
    if (address < cluster->low)
        return (struct seep_index_place){
            .low = cluster[-1].high, .extent = cluster->low - cluster[-1].high, .cluster = SEEP_NO_CLUSTER};
    struct seep_index_place place = {
        .low = cluster->low, .extent = cluster->high - cluster->low, .cluster = (uint32_t)low};
    if (!index->chunks)
        return place;
    place.bias = cluster->chunk - (cluster->low >> SEEP_CHUNK_SHIFT);
    uint64_t chunks_end = ((cluster->low >> SEEP_CHUNK_SHIFT) + nr_chunks(index, cluster))
                          << SEEP_CHUNK_SHIFT;
    if (chunks_end - 1 >= cluster->high - 1) // the last chunk may end where addresses do
        return place;
    if (address < chunks_end) {
        place.extent = chunks_end - place.low;
        return place;
    }
    place.low = chunks_end;
    place.extent = cluster->high - chunks_end;
    place.upto = cluster->last;
    return place;
}

void seep_block_index_remember(const struct seep_block_index *index, uint64_t address,
                               struct seep_index_place *ret_place) {
    *ret_place = look_up(index, address);
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

uint32_t seep_block_index_halve(const struct seep_block_index *index, const struct seep_index_place *place,
                                uint64_t address) {
    const struct seep_block_cluster *cluster = &index->clusters[place->cluster];
    return halve(index, cluster->first, cluster->last, address);
}

uint32_t seep_block_index_from(const struct seep_block_index *index, uint64_t address) {
    return address ? halve(index, 0, index->nr_blocks, address - 1) : 0;
}
