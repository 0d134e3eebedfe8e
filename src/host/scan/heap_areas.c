// SPDX-License-Identifier: BSD-2-Clause
// Spans, and the memory of glibc's allocator, see heap_areas.h.
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "scan/heap_areas.h"

// struct malloc_state: fastbinsY, top, bins[254], next.
enum { STATE_FASTBINS = 16, STATE_TOP = 96, STATE_BINS = 112, STATE_NEXT = 2160, BIN_LAST = 252 * 8 };
#define HEAP_BYTES (UINT64_C(64) << 20) // HEAP_MAX_SIZE: heaps of other arenas lie at multiples of it
#define ARENAS_MAX 4096
#define HEAPS_MAX  65536
#define DATA_MAX   ((uint64_t)1 << 20) // of a libc

void seep_spans_deinit(struct seep_spans *spans) {
    free(spans->items);
    *spans = (struct seep_spans){NULL, 0, 0};
}

bool seep_spans_add(struct seep_spans *spans, uint64_t start, uint64_t end) {
    if (start >= end)
        return true;
    if (!seep_grow(&spans->items, &spans->capacity, spans->nr_items + 1, sizeof(*spans->items)))
        return false;
    spans->items[spans->nr_items++] = (struct seep_span){start, end};
    return true;
}

static int compare_spans(const void *left, const void *right) {
    const struct seep_span *a = left, *b = right;
    return (a->start > b->start) - (a->start < b->start);
}

void seep_spans_settle(struct seep_spans *spans) {
    if (!spans->nr_items)
        return;
    qsort(spans->items, spans->nr_items, sizeof(*spans->items), compare_spans);
    size_t kept = 1;
    for (size_t i = 1; i < spans->nr_items; i++) {
        struct seep_span *last = &spans->items[kept - 1];
        if (spans->items[i].start <= last->end)
            last->end = SEEP_MAX(last->end, spans->items[i].end);
        else
            spans->items[kept++] = spans->items[i];
    }
    spans->nr_items = kept;
}

size_t seep_spans_from(const struct seep_spans *spans, uint64_t address) {
    size_t low = 0, high = spans->nr_items;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (spans->items[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct seep_span *seep_spans_find(const struct seep_spans *spans, uint64_t address) {
    size_t i = seep_spans_from(spans, address);
    return i < spans->nr_items && spans->items[i].start <= address ? &spans->items[i] : NULL;
}

// ---- glibc ----

// An empty bin points to where its own header would begin, 16 bytes before it. The last bin (127) is
// never used, so it is the last place with that shape. 0: not in these bytes.
static uint64_t find_main_arena(const unsigned char *bytes, size_t nr_bytes, uint64_t address) {
    for (size_t at = nr_bytes / 8 * 8; at >= 16 + STATE_BINS + BIN_LAST; at -= 8) {
        uint64_t bin = address + at - 16;
        uint64_t words[2];
        memcpy(words, bytes + at - 16, sizeof(words));
        if (words[0] != bin - 16 || words[1] != bin - 16)
            continue;
        size_t state = at - 16 - BIN_LAST - STATE_BINS;
        uint64_t next;
        if (state + STATE_NEXT + 8 > nr_bytes)
            continue;
        memcpy(&next, bytes + state + STATE_NEXT, sizeof(next));
        if (next == address + state || (next && next % HEAP_BYTES < 4096))
            return address + state;
    }
    return 0;
}

static bool is_libc(const char *path) {
    const char *name = strrchr(path, '/');
    return name && (strncmp(name, "/libc.so", 8) == 0 || strncmp(name, "/libc-2.", 8) == 0);
}

// The heaps of another arena: the one of its top, and those before it.
static bool add_heaps(struct seep_memory *memory, uint64_t arena, struct seep_spans *spans) {
    uint64_t top;
    if (!seep_memory_read(memory, arena + STATE_TOP, &top, sizeof(top)))
        return true;
    uint64_t heap = top / HEAP_BYTES * HEAP_BYTES;
    for (int i = 0; heap && i < HEAPS_MAX; i++) {
        struct {
            uint64_t arena;
            uint64_t previous;
            uint64_t size;
        } info;
        if (!seep_memory_read(memory, heap, &info, sizeof(info)) || info.arena != arena ||
            info.size > HEAP_BYTES)
            return true;
        if (!seep_spans_add(spans, heap, heap + info.size))
            return false;
        heap = info.previous % HEAP_BYTES ? 0 : info.previous;
    }
    return true;
}

static bool add_arenas(struct seep_memory *memory, uint64_t main_arena, struct seep_spans *spans) {
    // Its locks, counts and thread lists are no pointers to blocks either, but look like none.
    if (!seep_spans_add(spans, main_arena + STATE_FASTBINS, main_arena + STATE_BINS + BIN_LAST + 16))
        return false;
    uint64_t arena = main_arena;
    for (int i = 0; i < ARENAS_MAX; i++) {
        if (!seep_memory_read(memory, arena + STATE_NEXT, &arena, sizeof(arena)) || !arena ||
            arena == main_arena)
            return true;
        if (!add_heaps(memory, arena, spans))
            return false;
    }
    return true;
}

bool seep_heap_areas_find(struct seep_memory *memory, struct seep_spans *spans) {
    for (size_t i = 0; i < memory->nr_mappings; i++) {
        const struct seep_memory_area *mapping = &memory->mappings[i];
        if (!mapping->writable || !mapping->readable || !is_libc(mapping->path))
            continue;
        size_t nr_bytes = (size_t)SEEP_MIN(mapping->end - mapping->start, DATA_MAX);
        unsigned char *bytes = malloc(nr_bytes);
        if (!bytes)
            return false;
        uint64_t found = seep_memory_read(memory, mapping->start, bytes, nr_bytes)
                             ? find_main_arena(bytes, nr_bytes, mapping->start)
                             : 0;
        free(bytes);
        if (found && !add_arenas(memory, found, spans))
            return false;
    }
    return true;
}

bool seep_heap_areas_chunk(struct seep_memory *memory, uint64_t address, struct seep_spans *spans,
                           bool *ret_is_one) {
    uint64_t head[2]; // what precedes the chunk in its mapping; size and flags, of which 2 is "mapped"
    *ret_is_one = false;
    if (address < 16 || !seep_memory_read(memory, address - 16, head, sizeof(head)) || !(head[1] & 2))
        return true;
    uint64_t size = head[1] & ~UINT64_C(7);
    uint64_t start = address - 16 - head[0];
    const struct seep_memory_area *mapping = seep_memory_find(memory, address);
    if (head[0] > address - 16 || start % 4096 || !mapping || start < mapping->start ||
        size > mapping->end - (address - 16))
        return true;
    *ret_is_one = true;
    return seep_spans_add(spans, start, address - 16 + size);
}
