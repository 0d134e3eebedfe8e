// SPDX-License-Identifier: BSD-2-Clause
//
// Ids by the hash of what they stand for, which their owner keeps in an array: eight bytes a slot.
//
//     for (uint32_t id = seep_ids_first(&ids, hash, &at); id != SEEP_NO_ID; id = seep_ids_next(&ids, hash,
//     &at))
//         if (it is things[id])
//             return id;
//     seep_ids_add(&ids, hash, nr_things++);
#ifndef SEEP_BASE_IDS_H
#define SEEP_BASE_IDS_H

#include "core/attr.h"

#define SEEP_NO_ID UINT32_MAX

struct seep_ids {
    uint64_t *slots; // the low half of the hash above, id + 1 below; 0: free
    size_t nr_slots; // power of two or 0
    size_t nr_used;
};

// An empty table. _deinit frees its slots.
#define SEEP_IDS_INIT                                                                                        \
    { NULL, 0, 0 }
void seep_ids_deinit(struct seep_ids *ids);

// An id that has no equal yet. `id` < SEEP_NO_ID; false: out of memory.
SEEP_MUST_CHECK bool seep_ids_add(struct seep_ids *ids, uint64_t hash, uint32_t id);

// The next id of that hash from slot *at on.
static inline uint32_t seep_ids_from(const struct seep_ids *ids, uint64_t hash, size_t *at) {
    size_t mask = ids->nr_slots - 1;
    for (size_t i = *at & mask; ids->slots[i]; i = (i + 1) & mask) {
        if (ids->slots[i] >> 32 == (uint32_t)hash) {
            *at = i;
            return (uint32_t)ids->slots[i] - 1;
        }
    }
    return SEEP_NO_ID;
}

// The first id with this hash; SEEP_NO_ID: none. The caller compares what it stands for, and asks
// seep_ids_next for another.
static inline uint32_t seep_ids_first(const struct seep_ids *ids, uint64_t hash, size_t *ret_at) {
    *ret_at = (uint32_t)hash;
    return ids->nr_slots ? seep_ids_from(ids, hash, ret_at) : SEEP_NO_ID;
}

// The next id with the hash after that of *at.
static inline uint32_t seep_ids_next(const struct seep_ids *ids, uint64_t hash, size_t *at) {
    ++*at;
    return seep_ids_from(ids, hash, at);
}

#endif
