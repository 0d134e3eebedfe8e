// SPDX-License-Identifier: BSD-2-Clause
// The index of blocks, and feeding, see graph.h.
#include <stdlib.h>
#include <string.h>

#include "base/large.h"
#include "base/map.h"
#include "base/search.h"
#include "scan/graph.h"
#include "scan/memory.h"

bool seep_graph_find(const struct seep_graph *graph, uint64_t address, uint32_t *ret_block,
                     uint64_t *ret_off) {
    return seep_block_index_find(&graph->index, address, ret_block, ret_off);
}

struct seep_error *seep_graph_create(const struct seep_block *blocks, size_t nr_blocks,
                                     struct seep_graph **ret_graph) {
    if (nr_blocks >= SEEP_NO_BLOCK)
        return seep_error_create(SEEP_E_UNSUPPORTED, "%zu blocks are more than a scan can number", nr_blocks);
    struct seep_graph *graph = calloc(1, sizeof(*graph));
    if (!graph)
        return seep_error_no_memory();
    graph->blocks = blocks;
    graph->nr_blocks = (uint32_t)nr_blocks;
    size_t room = SEEP_MAX(nr_blocks, (size_t)1);
    graph->first_edge = seep_large_alloc(room + 1, sizeof(*graph->first_edge));
    graph->shapes = calloc(room, sizeof(*graph->shapes));
    if (!graph->first_edge || !graph->shapes ||
        !seep_block_index_init(&graph->index, blocks, graph->nr_blocks)) {
        seep_graph_destroy(graph);
        return seep_error_no_memory();
    }
    graph->first_edge[0] = 0;
    *ret_graph = graph;
    return NULL;
}

void seep_graph_may_be_empty_array(struct seep_graph *graph, uint32_t block) {
    graph->shapes[block] = SHAPE_EMPTY;
}

void seep_graph_is_slab(struct seep_graph *graph, uint32_t block) {
    graph->shapes[block] |= SHAPE_SLAB;
}

void seep_graph_destroy(struct seep_graph *graph) {
    if (!graph)
        return;
    seep_block_index_deinit(&graph->index);
    free(graph->roots);
    free(graph->edges);
    free(graph->first_edge);
    free(graph->shapes);
    seep_headers_deinit(&graph->headers);
    free(graph->vtables);
    free(graph->objects);
    free(graph->kinds);
    free(graph->holder);
    free(graph->holder_off);
    free(graph->held_by_root);
    free(graph);
}

// ---- feeding ----

static uint32_t cut32(uint64_t value) {
    return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

static inline uint64_t word_at(const void *bytes, size_t off, unsigned word_bytes) {
    return seep_word_at((const char *)bytes + off, word_bytes);
}

static unsigned word_bytes_of(const struct seep_graph *graph) {
    return graph->narrow ? 4 : 8;
}

static bool add_root(struct seep_graph *graph, uint32_t range, uint64_t address, uint32_t target,
                     uint64_t to_off) {
    if (!seep_grow(&graph->roots, &graph->roots_capacity, graph->nr_roots + 1, sizeof(*graph->roots)))
        return false;
    graph->roots[graph->nr_roots++] =
        (struct seep_root_edge){address, target, cut32(to_off), range, graph->outward};
    return true;
}

SEEP_INLINE bool feed_root_words(struct seep_graph *graph, uint32_t range, uint64_t address,
                                 const void *bytes, size_t nr_bytes, unsigned word_bytes) {
    size_t step = graph->unaligned && address ? 1 : word_bytes;
    uint64_t low = graph->index.low, extent = graph->index.high - graph->index.low;
    for (size_t at = 0; at + word_bytes <= nr_bytes; at += step) {
        uint64_t word = word_at(bytes, at, word_bytes);
        if (SEEP_LIKELY(word - low >= extent))
            continue;
        uint32_t target;
        uint64_t off;
        // Of what leads between the blocks of the heap most leads into what the program mapped itself.
        if (seep_block_index_place(&graph->index, word) && seep_graph_find(graph, word, &target, &off) &&
            !add_root(graph, range, address ? address + at : 0, target, off))
            return false;
    }
    return true;
}

static bool feed_root(struct seep_graph *graph, uint32_t range, uint64_t address, const void *bytes,
                      size_t nr_bytes) {
    return graph->narrow ? feed_root_words(graph, range, address, bytes, nr_bytes, 4)
                         : feed_root_words(graph, range, address, bytes, nr_bytes, 8);
}

// Where a piece follows the one before it: the bytes around the place where they meet, of a word less one on
// each side, in ret_seam. Returns how many there are on a side, or 0.
static size_t take_seam(struct seep_graph *graph, bool of_block, uint32_t owner, uint64_t start,
                        const void *bytes, size_t nr_bytes, unsigned char ret_seam[14]) {
    const size_t half = word_bytes_of(graph) - 1;
    bool meets = graph->unaligned && nr_bytes >= half && graph->carry.of_block == of_block &&
                 graph->carry.owner == owner && graph->carry.end == start && start;
    if (meets) {
        memcpy(ret_seam, graph->carry.bytes, half);
        memcpy(ret_seam + half, bytes, half);
    }
    graph->carry.end = 0;
    if (graph->unaligned && nr_bytes >= half) {
        graph->carry.of_block = of_block;
        graph->carry.owner = owner;
        graph->carry.end = start + nr_bytes;
        memcpy(graph->carry.bytes, (const char *)bytes + nr_bytes - half, half);
    }
    return meets ? half : 0;
}

bool seep_graph_feed_root(struct seep_graph *graph, uint32_t range, uint64_t address, const void *bytes,
                          size_t nr_bytes) {
    unsigned char seam[14];
    size_t half = address ? take_seam(graph, false, range, address, bytes, nr_bytes, seam) : 0;
    if (half && !feed_root(graph, range, address - half, seam, 2 * half))
        return false;
    return feed_root(graph, range, address, bytes, nr_bytes);
}

bool seep_graph_feed_start(struct seep_graph *graph, uint32_t range, uint64_t address, uint64_t word) {
    uint32_t target;
    uint64_t off;
    return !seep_graph_find(graph, word, &target, &off) || add_root(graph, range, address, target, 0);
}

// Of 64-bit programs. The last byte of the class tells who holds the object.
static bool is_exception(const struct seep_graph *graph, uint64_t size, const void *bytes, size_t nr_bytes) {
    static const uint64_t classes[] = {UINT64_C(0x474e5543432b2b00),
                                       UINT64_C(0x434c4e47432b2b00)}; // GNUCC++, CLNGC++
    if (graph->narrow || size < EXCEPTION_OBJECT_OFF || nr_bytes < EXCEPTION_UNWIND_OFF + 8)
        return false;
    uint64_t kind = word_at(bytes, EXCEPTION_UNWIND_OFF, 8) & ~UINT64_C(0xff);
    return kind == classes[0] || kind == classes[1];
}

// A string whose length is in its first byte. A text in a buffer whose size fits its first letter by chance
// ends earlier.
static bool begins_with_length(uint64_t size, const unsigned char *bytes, size_t nr_bytes) {
    // Pascal strings, with up to two bytes more in the header and a zero at the end; short ones of sds.
    bool fits = size - 1 - bytes[0] <= 3 || size - 2 == bytes[0] >> 3u;
    return fits && !memchr(bytes + 1, 0, SEEP_MIN(size - 1, nr_bytes) - 1);
}

static bool begins_with_text(uint64_t size, const unsigned char *bytes, size_t nr_bytes) {
    if (begins_with_length(size, bytes, nr_bytes)) // the length may look like a character
        return false;
    size_t nr = SEEP_MIN(SEEP_MIN(size - 1, nr_bytes), 8u);
    for (size_t i = 0; i < nr; i++)
        if ((bytes[i] < ' ' && bytes[i] != '\t' && bytes[i] != '\n' && bytes[i] != '\r') || bytes[i] == 0x7f)
            return false;
    return true;
}

static uint8_t shape_of(const struct seep_graph *graph, uint64_t size, const void *bytes, size_t nr_bytes) {
    uint8_t shape = 0;
    const unsigned word = word_bytes_of(graph);
    if (nr_bytes < word || size < 2 * word)
        return graph->is_vtable && nr_bytes >= word &&
                       graph->is_vtable(graph->is_vtable_data, word_at(bytes, 0, word))
                   ? SHAPE_VTABLE
                   : 0;
    uint64_t first = word_at(bytes, 0, word);
    if (first && (size - word) / first && (size - word) % first == 0)
        shape |= SHAPE_ARRAY;
    if (first && first <= size - word && size - word - first < word)
        shape |= SHAPE_LENGTH;
    if (size > 3 * word && nr_bytes >= 2 * word) { // a block may begin where a piece of the memory ends
        uint64_t capacity = word_at(bytes, word, word);
        if (first <= capacity && capacity <= size - (3 * word + 1))
            shape |= SHAPE_STRING;
    }
    if (graph->is_vtable && graph->is_vtable(graph->is_vtable_data, first))
        shape |= SHAPE_VTABLE;
    if (is_exception(graph, size, bytes, nr_bytes))
        shape |= SHAPE_EXCEPTION;
    if (begins_with_text(size, bytes, nr_bytes))
        shape |= SHAPE_TEXT;
    return shape;
}

static bool add_vtable(struct seep_graph *graph, uint32_t block, uint64_t off) {
    if (off >= UINT32_MAX)
        return true;
    if (!seep_grow(&graph->vtables, &graph->vtables_capacity, graph->nr_vtables + 1, sizeof(*graph->vtables)))
        return false;
    graph->vtables[graph->nr_vtables++] = (struct seep_map_of_places){block, (uint32_t)off};
    return true;
}

static bool add_object(struct seep_graph *graph, uint32_t block, uint64_t vtable) {
    if (!seep_grow(&graph->objects, &graph->objects_capacity, graph->nr_objects + 1, sizeof(*graph->objects)))
        return false;
    graph->objects[graph->nr_objects++] = (struct seep_object){vtable, block};
    return true;
}

uint64_t seep_graph_vtable_of(const struct seep_graph *graph, uint32_t block) {
    const size_t low = SEEP_FIRST_WHERE(at, graph->nr_objects, graph->objects[at].block >= block);
    return low < graph->nr_objects && graph->objects[low].block == block ? graph->objects[low].vtable : 0;
}

static void feed_upto(struct seep_graph *graph, uint32_t block) {
    while (graph->nr_fed < block)
        graph->first_edge[++graph->nr_fed] = graph->nr_edges;
}

// In three rounds, because each look misses the caches: what one needs is asked for in the round before.
static bool look_up_candidates(struct seep_graph *graph) {
    for (uint32_t i = 0; i < graph->nr_candidates; i++)
        seep_block_index_ask(&graph->index, graph->candidates[i].word);
    uint32_t nr[SEEP_CANDIDATES_MAX];
    bool is_start[SEEP_CANDIDATES_MAX];
    for (uint32_t i = 0; i < graph->nr_candidates; i++)
        nr[i] = seep_block_index_upto(&graph->index, graph->candidates[i].word, &is_start[i]);
    for (uint32_t i = 0; i < graph->nr_candidates; i++) {
        const struct seep_candidate *candidate = &graph->candidates[i];
        if (!nr[i])
            continue;
        const struct seep_block *target = &graph->blocks[nr[i] - 1];
        bool own = nr[i] - 1 == candidate->block && !graph->with_own; // lists of free cells in an arena
        if (own || (!is_start[i] && !seep_block_has(target, candidate->word)))
            continue;
        if (SEEP_UNLIKELY(graph->nr_edges == graph->edges_capacity) &&
            !seep_large_grow(&graph->edges, &graph->edges_capacity, sizeof(*graph->edges)))
            return false;
        feed_upto(graph, candidate->block);
        uint32_t to_off = is_start[i] ? 0 : cut32(candidate->word - target->address);
        graph->edges[graph->nr_edges++] = (struct seep_edge){nr[i] - 1, cut32(candidate->from_off), to_off};
    }
    graph->nr_candidates = 0;
    return true;
}

SEEP_INLINE bool feed_block_words(struct seep_graph *graph, uint32_t block, uint64_t off, const void *bytes,
                                  size_t nr_bytes, unsigned word_bytes) {
    size_t step = graph->unaligned ? 1 : word_bytes;
    bool look_for_vtables = graph->shapes[block] & SHAPE_VTABLE;
    uint64_t low = graph->index.low, extent = graph->index.high - graph->index.low;
    for (size_t at = 0; at + word_bytes <= nr_bytes; at += step) {
        uint64_t word = word_at(bytes, at, word_bytes);
        if (SEEP_UNLIKELY(look_for_vtables) && off + at && word && (off + at) % word_bytes == 0 &&
            graph->is_vtable(graph->is_vtable_data, word) && !add_vtable(graph, block, off + at))
            return false;
        if (SEEP_LIKELY(word - low >= extent))
            continue;
        if (SEEP_UNLIKELY(graph->nr_candidates == SEEP_CANDIDATES_MAX) && !look_up_candidates(graph))
            return false;
        graph->candidates[graph->nr_candidates++] = (struct seep_candidate){word, off + at, block};
    }
    return true;
}

static bool feed_block(struct seep_graph *graph, uint32_t block, uint64_t off, const void *bytes,
                       size_t nr_bytes) {
    return graph->narrow ? feed_block_words(graph, block, off, bytes, nr_bytes, 4)
                         : feed_block_words(graph, block, off, bytes, nr_bytes, 8);
}

bool seep_graph_feed_block(struct seep_graph *graph, uint32_t block, uint64_t off, const void *bytes,
                           size_t nr_bytes) {
    unsigned char seam[14];
    const unsigned word = word_bytes_of(graph);
    if (off == 0)
        graph->shapes[block] =
            (graph->shapes[block] & SHAPE_SLAB) |
            ((graph->shapes[block] & SHAPE_EMPTY && nr_bytes >= word && !word_at(bytes, 0, word))
                 ? SHAPE_EMPTY
                 : shape_of(graph, graph->blocks[block].size, bytes, nr_bytes));
    if (off == 0 && graph->shapes[block] & SHAPE_VTABLE && !add_object(graph, block, word_at(bytes, 0, word)))
        return false;
    size_t half = take_seam(graph, true, block, off, bytes, nr_bytes, seam);
    if (half && !feed_block(graph, block, off - half, seam, 2 * half))
        return false;
    return feed_block(graph, block, off, bytes, nr_bytes);
}

bool seep_graph_close(struct seep_graph *graph) {
    if (!look_up_candidates(graph))
        return false;
    feed_upto(graph, graph->nr_blocks);
    return true;
}
