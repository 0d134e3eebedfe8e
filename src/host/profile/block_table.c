// SPDX-License-Identifier: BSD-2-Clause
// See block_table.h. Source of the removal: Knuth, The Art of Computer Programming, volume 3, 6.4, algorithm
// R.
#include <stdlib.h>

#include "profile/block_table.h"

void seep_block_table_deinit(struct seep_block_table *table) {
    free(table->slots);
    *table = (struct seep_block_table){NULL};
}

static size_t home(const struct seep_block_table *table, uint64_t address) {
    return (size_t)((address >> 3) * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (table->nr_slots - 1);
}

static size_t find(const struct seep_block_table *table, uint64_t address) {
    size_t at = home(table, address);
    while (table->slots[at].address && table->slots[at].address != address)
        at = (at + 1) & (table->nr_slots - 1);
    return at;
}

static bool grow(struct seep_block_table *table) {
    struct seep_block_table bigger = {.nr_slots = table->nr_slots ? table->nr_slots * 2 : 1024};
    bigger.slots = calloc(bigger.nr_slots, sizeof(*bigger.slots));
    if (!bigger.slots)
        return false;
    for (size_t i = 0; i < table->nr_slots; i++)
        if (table->slots[i].address)
            bigger.slots[find(&bigger, table->slots[i].address)] = table->slots[i];
    bigger.nr_used = table->nr_used;
    free(table->slots);
    *table = bigger;
    return true;
}

struct seep_heap_block *seep_block_table_at(struct seep_block_table *table, uint64_t address) {
    if (table->nr_used >= table->nr_slots - table->nr_slots / 4 && !grow(table))
        return NULL;
    struct seep_heap_block *slot = &table->slots[find(table, address)];
    table->nr_used += !slot->address;
    return slot;
}

const struct seep_heap_block *seep_block_table_find(const struct seep_block_table *table, uint64_t address) {
    const struct seep_heap_block *slot = table->nr_slots ? &table->slots[find(table, address)] : NULL;
    return slot && slot->address ? slot : NULL;
}

bool seep_block_table_take(struct seep_block_table *table, uint64_t address,
                           struct seep_heap_block *ret_block) {
    if (!table->nr_slots)
        return false;
    size_t gap = find(table, address), mask = table->nr_slots - 1;
    if (!table->slots[gap].address)
        return false;
    *ret_block = table->slots[gap];
    for (size_t at = (gap + 1) & mask; table->slots[at].address; at = (at + 1) & mask) {
        // What lies between its home and its slot, going round, may not be the gap.
        size_t from_home = (at - home(table, table->slots[at].address)) & mask;
        if (from_home >= ((at - gap) & mask)) {
            table->slots[gap] = table->slots[at];
            gap = at;
        }
    }
    table->slots[gap] = (struct seep_heap_block){0};
    table->nr_used--;
    return true;
}
