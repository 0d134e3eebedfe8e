// SPDX-License-Identifier: BSD-2-Clause
// The groups of musl's allocator, see musl_areas.h.
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "scan/musl_areas.h"

#define DATA_MAX   ((uint64_t)1 << 20) // of a libc
#define PAGE_BYTES 4096u               // what areas are aligned to, and mapped groups counted in
#define UNIT       16u

enum { LIBCS_MAX = 64, NESTED_MOST = 64 }; // memory of the process may only look like musl's lists

// The context: its secret, the size of a page (where that is not the same on all machines), whether it was
// made ready, five words, and the first of the areas.
enum { CONTEXT_READY = 8, CONTEXT_FIRST = 56, CONTEXT_BYTES = 72 };

struct area {
    uint64_t check; // the context's secret
    uint64_t next;
    int32_t nr_slots;
    int32_t unused;
    struct meta {
        uint64_t previous;
        uint64_t next;
        uint64_t group; // 0: of none
        uint32_t available;
        uint32_t freed;
        uint64_t bits; // last slot: 5, may be freed: 1, class: 6, pages that are its own
    } metas[(PAGE_BYTES - 24) / 40];
};

struct group {
    uint64_t start;
    uint64_t end;
    uint64_t slot_bytes;
    uint32_t nr_slots;
    uint32_t free; // bits
};

struct groups {
    struct group *items;
    size_t nr_items;
    size_t capacity;
};

// Bytes of a slot, in units. Source: __malloc_size_classes.
static const uint16_t classes[] = {
    1,   2,   3,   4,    5,    6,    7,    8,    9,    10,   12,   15,   18,   20,   25,   31,
    36,  42,  50,  63,   72,   84,   102,  127,  146,  170,  204,  255,  292,  340,  409,  511,
    584, 682, 818, 1023, 1169, 1364, 1637, 2047, 2340, 2730, 3276, 4095, 4680, 5460, 6552, 8191,
};

// ---- the context ----

// The first area of the context at `bytes`; 0: it is none.
static uint64_t first_area_of(const struct seep_memory *memory, const unsigned char *bytes) {
    uint64_t secret;
    memcpy(&secret, bytes, sizeof(secret));
    for (size_t of_page = 0; secret && of_page <= 8; of_page += 8) {
        uint64_t area, check;
        uint32_t ready;
        memcpy(&ready, bytes + CONTEXT_READY + of_page, sizeof(ready));
        memcpy(&area, bytes + CONTEXT_FIRST + of_page, sizeof(area));
        if (ready == 1 && area && area % PAGE_BYTES == 0 &&
            seep_memory_read(memory, area, &check, sizeof(check)) && check == secret)
            return area;
    }
    return 0;
}

static uint64_t first_area_in(const struct seep_memory *memory, const unsigned char *bytes, size_t nr_bytes) {
    for (size_t at = 0; at + CONTEXT_BYTES <= nr_bytes; at += 8) {
        uint64_t area = first_area_of(memory, bytes + at);
        if (area)
            return area;
    }
    return 0;
}

static bool is_libc(const char *path) {
    const char *name = strrchr(path, '/');
    return name && (strcmp(name, "/libc.so") == 0 || strncmp(name, "/ld-musl-", 9) == 0);
}

// libc's data and what is zeroed behind it. *ret_area 0: not found. false: out of memory.
static bool find_first_area(const struct seep_memory *memory, uint64_t *ret_area) {
    const struct seep_memory_area *end = memory->mappings + memory->nr_mappings;
    uint64_t data_end = 0; // of libc
    unsigned nr_left = LIBCS_MAX;
    *ret_area = 0;
    for (const struct seep_memory_area *mapping = memory->mappings; mapping < end && !*ret_area && nr_left;
         mapping++) {
        bool behind = mapping->start == data_end && (!*mapping->path || strcmp(mapping->path, "[heap]") == 0);
        if (!mapping->readable || !mapping->writable || mapping->shared ||
            (!behind && !is_libc(mapping->path)))
            continue;
        data_end = mapping->end;
        nr_left--;
        size_t nr_bytes = (size_t)SEEP_MIN(mapping->end - mapping->start, DATA_MAX);
        unsigned char *bytes = malloc(nr_bytes);
        if (!bytes)
            return false;
        if (seep_memory_read(memory, mapping->start, bytes, nr_bytes))
            *ret_area = first_area_in(memory, bytes, nr_bytes);
        free(bytes);
    }
    return true;
}

// ---- groups ----

// A group of one slot may have pages of its own, and then all of them.
static bool add_group(struct groups *groups, const struct meta *meta) {
    uint32_t last = meta->bits & 31, size_class = meta->bits >> 6 & 63;
    uint64_t nr_pages = meta->bits >> 12;
    struct group group = {.start = meta->group, .nr_slots = last + 1, .free = meta->available | meta->freed};
    if (!last && nr_pages && nr_pages <= UINT64_MAX / PAGE_BYTES)
        group.slot_bytes = nr_pages * PAGE_BYTES - UNIT;
    else if (size_class < SEEP_ARRAY_SIZE(classes))
        group.slot_bytes = (uint64_t)classes[size_class] * UNIT;
    if (!group.start || group.start % UNIT || !group.slot_bytes ||
        __builtin_add_overflow(group.start, UNIT + group.slot_bytes * group.nr_slots, &group.end))
        return true; // of none, or in the middle of a change
    if (!seep_grow(&groups->items, &groups->capacity, groups->nr_items + 1, sizeof(*groups->items)))
        return false;
    groups->items[groups->nr_items++] = group;
    return true;
}

static int compare_groups(const void *left, const void *right) {
    const struct group *a = left, *b = right;
    return (a->start > b->start) - (a->start < b->start);
}

// Where the list of areas is no list, its first area again, or a later one, ends it (Brent's algorithm).
static bool read_groups(const struct seep_memory *memory, uint64_t first, struct groups *groups) {
    struct area area;
    uint64_t secret = 0, known = 0;
    _Static_assert(sizeof(area) <= PAGE_BYTES, "an area is a page");
    for (uint64_t i = 0; first && first != known; i++, first = area.next) {
        if ((i & (i - 1)) == 0)
            known = first;
        if (!seep_memory_read(memory, first, &area, sizeof(area)) || (i && area.check != secret))
            break;
        secret = area.check;
        for (int32_t j = 0; j < area.nr_slots && j < (int32_t)SEEP_ARRAY_SIZE(area.metas); j++)
            if (!add_group(groups, &area.metas[j]))
                return false;
    }
    if (groups->nr_items)
        qsort(groups->items, groups->nr_items, sizeof(*groups->items), compare_groups);
    return true;
}

struct looking {
    const struct groups *groups;
    const struct seep_block_index *index;
    const struct seep_block *blocks;
    uint32_t nr_blocks;
    uint64_t steps; // left; a group takes one for each group around it, few in a real heap
};

// *at is no block behind the first in [start, end); it moves on.
static bool has_block(const struct looking *looking, uint64_t start, uint64_t end, uint32_t *at) {
    while (*at < looking->nr_blocks && looking->blocks[*at].address < start)
        ++*at;
    return *at < looking->nr_blocks && looking->blocks[*at].address < end;
}

// All but libc's own slots, and but the groups in slots, which tell of themselves: sorted, they follow the
// group that they are in.
static bool add_no_roots(struct looking *looking, const struct group *group, struct seep_spans *no_roots) {
    const struct group *inner = group + 1, *groups_end = looking->groups->items + looking->groups->nr_items;
    uint64_t from = group->start, slot = group->start + UNIT, end;
    uint32_t block = seep_block_index_from(looking->index, slot);
    for (uint32_t i = 0; i < group->nr_slots; i++, slot = end) {
        end = slot + group->slot_bytes;
        for (; inner < groups_end && inner->start < slot && looking->steps; looking->steps--)
            inner++;
        bool nested = inner < groups_end && inner->start < end;
        if (group->free >> i & 1 || (!nested && has_block(looking, slot, end, &block)))
            continue;
        if (!seep_spans_add(no_roots, from, nested ? inner->start : slot))
            return false;
        from = nested ? inner->end : end;
        if (nested)
            block = seep_block_index_from(looking->index, from);
    }
    return seep_spans_add(no_roots, from, group->end);
}

bool seep_musl_areas_find(const struct seep_memory *memory, const struct seep_block_index *index,
                          const struct seep_block *blocks, uint32_t nr_blocks, struct seep_spans *groups,
                          struct seep_spans *no_roots) {
    uint64_t first;
    struct groups found = {NULL};
    if (memory->word_bytes != sizeof(uint64_t)) // its structs have other sizes there
        return true;
    bool fits = find_first_area(memory, &first) && read_groups(memory, first, &found);
    struct looking looking = {&found, index, blocks, nr_blocks, (found.nr_items + 1) * (uint64_t)NESTED_MOST};
    for (size_t i = 0; fits && looking.steps && i < found.nr_items; i++)
        fits = seep_spans_add(groups, found.items[i].start, found.items[i].end) &&
               add_no_roots(&looking, &found.items[i], no_roots);
    free(found.items);
    return fits;
}
