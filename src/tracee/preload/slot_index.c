// SPDX-License-Identifier: BSD-2-Clause
// The index of slots, see slot_index.h: linear probing, at most half full, no tombstones.
#include "preload/slot_index.h"

enum { FIRST_ENTRIES = 256 };

static uint64_t home_of(const struct seep_slot_index *index, uint64_t key) {
    return (key * UINT64_C(0x9e3779b97f4a7c15) >> 20) & index->mask;
}

static struct seep_slot_entry *place_of(const struct seep_slot_index *index, uint64_t key) {
    uint64_t i = home_of(index, key);
    while (index->entries[i].key && index->entries[i].key != key)
        i = (i + 1) & index->mask;
    return &index->entries[i];
}

static bool grow(struct seep_slot_index *index) {
    struct seep_slot_index larger = {.mask = index->entries ? index->mask * 2 + 1 : FIRST_ENTRIES - 1};
    larger.entries = sys_private((larger.mask + 1) * sizeof(*larger.entries));
    if (!larger.entries)
        return false;
    for (uint64_t i = 0; index->entries && i <= index->mask; i++)
        if (index->entries[i].key)
            *place_of(&larger, index->entries[i].key) = index->entries[i];
    larger.nr = index->nr;
    // In this order: another thread may fork in between, and its child uses what it finds.
    struct seep_slot_index old = *index;
    index->entries = larger.entries;
    atomic_signal_fence(memory_order_seq_cst);
    index->mask = larger.mask;
    seep_slot_clear(&old);
    return true;
}

bool seep_slot_put(struct seep_slot_index *index, uint64_t key, uint32_t slot) {
    if ((!index->entries || index->nr * 2 > index->mask) && !grow(index))
        return false;
    struct seep_slot_entry *at = place_of(index, key);
    index->nr += at->key == 0;
    *at = (struct seep_slot_entry){key, slot};
    return true;
}

uint32_t seep_slot_find(const struct seep_slot_index *index, uint64_t key) {
    return index->entries ? (uint32_t)place_of(index, key)->slot : 0;
}

uint32_t seep_slot_take(struct seep_slot_index *index, uint64_t key) {
    struct seep_slot_entry *at = index->entries ? place_of(index, key) : NULL;
    if (!at || !at->key)
        return 0;
    uint32_t slot = (uint32_t)at->slot;
    uint64_t gap = (uint64_t)(at - index->entries);
    for (uint64_t i = (gap + 1) & index->mask; index->entries[i].key; i = (i + 1) & index->mask) {
        uint64_t home = home_of(index, index->entries[i].key);
        if (((i - home) & index->mask) >= ((i - gap) & index->mask)) {
            index->entries[gap] = index->entries[i];
            gap = i;
        }
    }
    index->entries[gap] = (struct seep_slot_entry){0, 0};
    index->nr--;
    return slot;
}

void seep_slot_clear(struct seep_slot_index *index) {
    if (index->entries)
        sys_munmap(index->entries, (index->mask + 1) * sizeof(*index->entries));
    *index = (struct seep_slot_index){NULL, 0, 0};
}
