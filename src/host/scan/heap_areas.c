// SPDX-License-Identifier: BSD-2-Clause
// The memory of glibc's allocator, see heap_areas.h.
#include <stdlib.h>
#include <string.h>

#include "scan/heap_areas.h"

// struct malloc_state: three ints, fastbinsY, top, last_remainder, bins[254], a map of four ints, next.
// Source: glibc 2.26 to 2.41, malloc/malloc.c.
struct state {
    unsigned fastbins;
    unsigned top;
    unsigned bins;
    unsigned next;
    unsigned word;
};
enum { BINS = 254, BIN_LAST = 252, MAP_BYTES = 16 };

static struct state state_with(unsigned word, unsigned nr_fastbins) {
    unsigned fastbins = word == 8 ? 16 : 12, top = fastbins + nr_fastbins * word, bins = top + 2 * word;
    return (struct state){fastbins, top, bins, bins + BINS * word + MAP_BYTES, word};
}

// By word size and alignment of blocks: 64 bits; 32 bits with blocks at multiples of 16 (i386), and of 8.
static const struct {
    unsigned word;
    unsigned nr_fastbins;
} shapes[] = {{8, 10}, {4, 11}, {4, 10}};

// HEAP_MAX_SIZE: heaps of other arenas lie at multiples of it.
static uint64_t heap_bytes(unsigned word) {
    return word == 8 ? UINT64_C(64) << 20 : UINT64_C(1) << 20;
}

// Limits for one process, because its lists may form loops.
#define LIBCS_MAX  64
#define ARENAS_MAX 4096
#define HEAPS_MAX  65536

// How many of each are left.
struct limits {
    unsigned libcs;
    unsigned arenas;
    unsigned heaps;
};
#define DATA_MAX ((uint64_t)1 << 20) // data bytes of a libc

// An empty bin points to where its own header would begin, two words before it. The last bin (127) is
// never used, so it is the last place with that shape. 0: not in these bytes.
static uint64_t find_main_arena(const unsigned char *bytes, size_t nr_bytes, uint64_t address,
                                const struct state *state) {
    const unsigned word = state->word;
    const size_t last = state->bins + BIN_LAST * word, ends = last + 2 * word;
    for (size_t at = nr_bytes / word * word; at >= ends; at -= word) {
        uint64_t bin = address + at - 2 * word;
        if (seep_word_at(bytes + at - 2 * word, word) != bin - 2 * word ||
            seep_word_at(bytes + at - word, word) != bin - 2 * word)
            continue;
        size_t start = at - ends;
        if (start + state->next + word > nr_bytes)
            continue;
        uint64_t next = seep_word_at(bytes + start + state->next, word);
        if (next == address + start || (next && next % heap_bytes(word) < 4096))
            return address + start;
    }
    return 0;
}

static bool is_libc(const char *path) {
    const char *name = strrchr(path, '/');
    return name && (strncmp(name, "/libc.so", 8) == 0 || strncmp(name, "/libc-2.", 8) == 0);
}

// The heaps of another arena: the one of its top, and those before it.
static bool add_heaps(struct seep_memory *memory, uint64_t arena, const struct state *state,
                      struct limits *limits, struct seep_spans *spans) {
    const uint64_t most = heap_bytes(state->word);
    uint64_t top;
    if (!seep_memory_read_words(memory, arena + state->top, &top, 1))
        return true;
    uint64_t heap = top / most * most;
    for (; heap && limits->heaps; limits->heaps--) {
        enum { ARENA, PREVIOUS, SIZE, NR };
        uint64_t info[NR];
        if (!seep_memory_read_words(memory, heap, info, NR) || info[ARENA] != arena || info[SIZE] > most)
            return true;
        if (!seep_spans_add(spans, heap, heap + info[SIZE]))
            return false;
        heap = info[PREVIOUS] % most ? 0 : info[PREVIOUS];
    }
    return true;
}

static bool add_arenas(struct seep_memory *memory, uint64_t main_arena, const struct state *state,
                       struct limits *limits, struct seep_spans *spans) {
    // Its locks, counts and thread lists are no pointers to blocks either, but look like none.
    if (!seep_spans_add(spans, main_arena + state->fastbins, main_arena + state->bins + BINS * state->word))
        return false;
    uint64_t arena = main_arena;
    for (; limits->arenas; limits->arenas--) {
        if (!seep_memory_read_words(memory, arena + state->next, &arena, 1) || !arena || arena == main_arena)
            return true;
        if (!add_heaps(memory, arena, state, limits, spans))
            return false;
    }
    return true;
}

bool seep_heap_areas_find(struct seep_memory *memory, struct seep_spans *spans) {
    struct limits limits = {LIBCS_MAX, ARENAS_MAX, HEAPS_MAX};
    for (size_t i = 0; i < memory->nr_mappings && limits.libcs; i++) {
        const struct seep_memory_area *mapping = &memory->mappings[i];
        if (!mapping->writable || !mapping->readable || !is_libc(mapping->path))
            continue;
        limits.libcs--;
        size_t nr_bytes = (size_t)SEEP_MIN(mapping->end - mapping->start, DATA_MAX);
        unsigned char *bytes = malloc(nr_bytes);
        if (!bytes)
            return false;
        bool read = seep_memory_read(memory, mapping->start, bytes, nr_bytes);
        uint64_t found = 0;
        struct state state = {0};
        for (size_t s = 0; read && !found && s < SEEP_ARRAY_SIZE(shapes); s++) {
            if (shapes[s].word != memory->word_bytes)
                continue;
            state = state_with(shapes[s].word, shapes[s].nr_fastbins);
            found = find_main_arena(bytes, nr_bytes, mapping->start, &state);
        }
        free(bytes);
        if (found && !add_arenas(memory, found, &state, &limits, spans))
            return false;
    }
    return true;
}

bool seep_heap_areas_chunk(struct seep_memory *memory, uint64_t address, struct seep_spans *spans,
                           bool *ret_is_one) {
    uint64_t head[2]; // what precedes the chunk in its mapping; size and flags, of which 2 is "mapped"
    const uint64_t head_bytes = 2 * memory->word_bytes, chunk = address - head_bytes;
    *ret_is_one = false;
    if (address < head_bytes || !seep_memory_read_words(memory, chunk, head, 2) || !(head[1] & 2))
        return true;
    uint64_t size = head[1] & ~UINT64_C(7);
    uint64_t start = chunk - head[0];
    const struct seep_memory_area *mapping = seep_memory_find(memory, address);
    if (head[0] > chunk || start % 4096 || !mapping || start < mapping->start || size > mapping->end - chunk)
        return true;
    *ret_is_one = true;
    return seep_spans_add(spans, start, chunk + size);
}
