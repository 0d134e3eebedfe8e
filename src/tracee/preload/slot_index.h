// SPDX-License-Identifier: BSD-2-Clause
//
// From a key (an address) to the slot of a table in the image. A hash table in private memory, so that
// what the library trusts is not what others can write. Its caller holds the lock of its table.
#ifndef SEEP_PRELOAD_SLOT_INDEX_H
#define SEEP_PRELOAD_SLOT_INDEX_H

#include "preload/preload.h"

struct seep_slot_entry {
    uint64_t key; // 0: free
    uint64_t slot;
};

struct seep_slot_index {
    struct seep_slot_entry *entries; // NULL: none yet
    uint64_t mask;
    uint64_t nr;
};

// Key 0 is none. A key that is there gets the new slot. false: no memory.
SEEP_MUST_CHECK bool seep_slot_put(struct seep_slot_index *index, uint64_t key, uint32_t slot);
// Both O(1).
uint32_t seep_slot_find(const struct seep_slot_index *index, uint64_t key); // 0: not there
uint32_t seep_slot_take(struct seep_slot_index *index, uint64_t key);       // finds and removes
void seep_slot_clear(struct seep_slot_index *index);                        // and gives its memory back

#endif
