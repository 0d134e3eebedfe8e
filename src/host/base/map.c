// SPDX-License-Identifier: BSD-2-Clause
// Open addressing, load at most 3/4; see map.h.
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/large.h"
#include "base/map.h"

// Source: the finalizer of MurmurHash3 (public domain, Austin Appleby).
uint64_t seep_hash64(uint64_t value) {
    value ^= value >> 33;
    value *= UINT64_C(0xff51afd7ed558ccd);
    value ^= value >> 33;
    value *= UINT64_C(0xc4ceb9fe1a85ec53);
    value ^= value >> 33;
    return value;
}

uint64_t seep_hash_bytes(const void *bytes, size_t nr_bytes) {
    const unsigned char *at = bytes;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < nr_bytes; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return seep_hash64(hash);
}

void seep_map_deinit(struct seep_map *map) {
    free(map->slots);
    *map = (struct seep_map)SEEP_MAP_INIT;
}

static size_t home_of(const struct seep_map *map, uint64_t key) {
    return seep_hash64(key ^ map->seed) & (map->nr_slots - 1);
}

static struct seep_map_slot *probe(const struct seep_map *map, uint64_t key) {
    size_t mask = map->nr_slots - 1;
    size_t i = home_of(map, key);
    while (map->slots[i].key && map->slots[i].key != key)
        i = (i + 1) & mask;
    return &map->slots[i];
}

uint64_t *seep_map_find(const struct seep_map *map, uint64_t key) {
    if (!key)
        return map->has_zero ? (uint64_t *)&map->zero : NULL;
    if (!map->nr_slots)
        return NULL;
    struct seep_map_slot *slot = probe(map, key);
    return slot->key ? &slot->value : NULL;
}

static bool rehash(struct seep_map *map, size_t nr_slots, uint64_t seed) {
    struct seep_map larger = {.nr_slots = nr_slots, .seed = seed};
    larger.slots = calloc(larger.nr_slots, sizeof(*larger.slots));
    if (!larger.slots)
        return false;
    for (size_t i = 0; i < map->nr_slots; i++)
        if (map->slots[i].key)
            *probe(&larger, map->slots[i].key) = map->slots[i];
    free(map->slots);
    map->slots = larger.slots;
    map->nr_slots = larger.nr_slots;
    map->seed = seed;
    return true;
}

#ifdef SEEP_AGENT // the agent is small, and reads processes only
#define is_attacked(map, slot, key) false
#define make_seed(map)              0
#else
// By chance hardly any key is so far from its place, whatever the size of the table.
#define DISTANCE_MOST 1024u

// Keys of a file may have been chosen to fall on one place, where each new one would pass all the others.
static bool is_attacked(const struct seep_map *map, const struct seep_map_slot *slot, uint64_t key) {
    size_t distance = ((size_t)(slot - map->slots) - home_of(map, key)) & (map->nr_slots - 1);
    return distance > DISTANCE_MOST && !map->seed;
}

static uint64_t make_seed(const struct seep_map *map) {
    return seep_hash64((uint64_t)seep_monotonic_ns() ^ (uint64_t)(uintptr_t)map->slots << 16) | 1;
}
#endif

static uint64_t *zero_at(struct seep_map *map, bool *ret_new) {
    if (ret_new)
        *ret_new = !map->has_zero;
    map->has_zero = true;
    return &map->zero;
}

uint64_t *seep_map_at(struct seep_map *map, uint64_t key, bool *ret_new) {
    if (!key)
        return zero_at(map, ret_new);
    if ((map->nr_used + 1) * 4 > map->nr_slots * 3 &&
        !rehash(map, map->nr_slots ? map->nr_slots * 2 : 16, map->seed))
        return NULL;
    struct seep_map_slot *slot = probe(map, key);
    if (SEEP_UNLIKELY(is_attacked(map, slot, key))) {
        if (!rehash(map, map->nr_slots, make_seed(map)))
            return NULL;
        slot = probe(map, key);
    }
    if (ret_new)
        *ret_new = !slot->key;
    if (!slot->key) {
        slot->key = key;
        map->nr_used++;
    }
    return &slot->value;
}

// What stands behind moves up as far as it may, so that no place is lost to what was removed.
void seep_map_remove(struct seep_map *map, uint64_t key) {
    if (!key)
        map->has_zero = false, map->zero = 0;
    if (!key || !map->nr_slots)
        return;
    size_t mask = map->nr_slots - 1;
    size_t hole = (size_t)(probe(map, key) - map->slots);
    if (!map->slots[hole].key)
        return;
    for (size_t i = (hole + 1) & mask; map->slots[i].key; i = (i + 1) & mask) {
        size_t home = home_of(map, map->slots[i].key);
        if (((i - home) & mask) < ((i - hole) & mask))
            continue;
        map->slots[hole] = map->slots[i];
        hole = i;
    }
    map->slots[hole] = (struct seep_map_slot){0, 0};
    map->nr_used--;
}

bool seep_map_next(const struct seep_map *map, size_t *at, uint64_t *ret_key, uint64_t *ret_value) {
    if (*at == 0 && ++*at && map->has_zero) {
        *ret_key = 0;
        *ret_value = map->zero;
        return true;
    }
    for (; *at <= map->nr_slots; ++*at) {
        const struct seep_map_slot *slot = &map->slots[*at - 1];
        if (!slot->key)
            continue;
        *ret_key = slot->key;
        *ret_value = slot->value;
        ++*at;
        return true;
    }
    return false;
}

bool seep_map_copy(const struct seep_map *from, struct seep_map *to) {
    uint64_t key, value, *slot;
    for (size_t at = 0; seep_map_next(from, &at, &key, &value); *slot = value) {
        slot = seep_map_at(to, key, NULL);
        if (!slot)
            return false;
    }
    return true;
}

bool seep_grow(void *array_of_any, size_t *capacity, size_t need, size_t element_bytes) {
    if (need <= *capacity)
        return true;
    size_t wanted = SEEP_MAX(SEEP_MAX(need, *capacity * 2), (size_t)8);
    size_t bytes;
    if (__builtin_mul_overflow(wanted, element_bytes, &bytes))
        return false;
    void *array;
    memcpy(&array, array_of_any, sizeof(array));
    char *larger = realloc(array, bytes);
    if (!larger)
        return false;
    seep_large_advise(larger, bytes);
    memset(larger + *capacity * element_bytes, 0, (wanted - *capacity) * element_bytes);
    memcpy(array_of_any, &larger, sizeof(larger));
    *capacity = wanted;
    // cppcheck-suppress memleak ; it is the caller's
    return true;
}
