// SPDX-License-Identifier: BSD-2-Clause
//
// Containers of the host side: a hash map from 64-bit key to 64-bit value, and growing arrays.
#ifndef SEEP_BASE_MAP_H
#define SEEP_BASE_MAP_H

#include "core/attr.h"

// Hash map with 64-bit keys and values. Any key is allowed. Not thread-safe. O(1).
struct seep_map {
    struct seep_map_slot {
        uint64_t key; // 0: free, as key 0 has its value in `zero`
        uint64_t value;
    } * slots;
    size_t nr_slots; // power of two or 0
    size_t nr_used;  // of the slots
    bool has_zero;
    uint64_t zero;
    uint64_t seed; // 0 until so many keys fell on one place that they must have been chosen
};

// An empty map. _deinit frees its table; what values point to is not its own.
#define SEEP_MAP_INIT                                                                                        \
    { NULL, 0, 0, false, 0, 0 }
void seep_map_deinit(struct seep_map *map);

// The value of `key`, or NULL. Valid until the next insertion.
uint64_t *seep_map_find(const struct seep_map *map, uint64_t key);

// The value of `key`, which is 0 where the key is new (then *ret_new is true; may be NULL).
// NULL: out of memory.
SEEP_MUST_CHECK uint64_t *seep_map_at(struct seep_map *map, uint64_t key, bool *ret_new);

// What is not there may be removed. Values move.
void seep_map_remove(struct seep_map *map, uint64_t key);

// One after the other, in no order: *at is 0 at first. false: there are no more. The map must not change.
bool seep_map_next(const struct seep_map *map, size_t *at, uint64_t *ret_key, uint64_t *ret_value);

// All of `from` goes into `to`. false: out of memory.
SEEP_MUST_CHECK bool seep_map_copy(const struct seep_map *from, struct seep_map *to);

// Each bit of the result depends on all bits of the argument.
uint64_t seep_hash64(uint64_t value);
uint64_t seep_hash_bytes(const void *bytes, size_t nr_bytes); // FNV-1a, then seep_hash64

// Makes room for `need` elements of `element_bytes` in the malloc'ed array *array of capacity
// *capacity. New elements are zero. false: out of memory, nothing changed.
SEEP_MUST_CHECK bool seep_grow(void *array_of_any, size_t *capacity, size_t need, size_t element_bytes);

#endif
