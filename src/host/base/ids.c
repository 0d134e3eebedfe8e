// SPDX-License-Identifier: BSD-2-Clause
// A table of ids that is probed in a row, load at most 3/4; see ids.h.
#include <stdlib.h>

#include "base/ids.h"

void seep_ids_deinit(struct seep_ids *ids) {
    free(ids->slots);
    *ids = (struct seep_ids)SEEP_IDS_INIT;
}

static void put(struct seep_ids *ids, uint64_t slot) {
    size_t mask = ids->nr_slots - 1;
    size_t i = slot >> 32 & mask;
    while (ids->slots[i])
        i = (i + 1) & mask;
    ids->slots[i] = slot;
}

// Room for `more` ids. false: out of memory, nothing changed.
static bool reserve(struct seep_ids *ids, size_t more) {
    if (more > SIZE_MAX / 16 || ids->nr_used + more <= ids->nr_slots / 4 * 3)
        return more <= SIZE_MAX / 16;
    struct seep_ids larger = {.nr_slots = ids->nr_slots ? ids->nr_slots : 16, .nr_used = ids->nr_used};
    while (ids->nr_used + more > larger.nr_slots / 4 * 3)
        larger.nr_slots *= 2;
    larger.slots = calloc(larger.nr_slots, sizeof(*larger.slots));
    if (!larger.slots)
        return false;
    for (size_t i = 0; i < ids->nr_slots; i++)
        if (ids->slots[i])
            put(&larger, ids->slots[i]);
    free(ids->slots);
    *ids = larger;
    return true;
}

bool seep_ids_add(struct seep_ids *ids, uint64_t hash, uint32_t id) {
    if (ids->nr_used >= ids->nr_slots / 4 * 3 && !reserve(ids, 1))
        return false;
    put(ids, (uint64_t)(uint32_t)hash << 32 | (id + 1));
    ids->nr_used++;
    return true;
}
