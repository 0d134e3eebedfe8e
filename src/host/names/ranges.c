// SPDX-License-Identifier: BSD-2-Clause
// Address ranges that may overlap, see ranges.h.
#include <stdlib.h>

#include "base/map.h"
#include "base/search.h"
#include "names/ranges.h"

void seep_ranges_deinit(struct seep_ranges *ranges) {
    free(ranges->items);
    *ranges = (struct seep_ranges)SEEP_RANGES_INIT;
}

bool seep_ranges_add(struct seep_ranges *ranges, uint64_t low, uint64_t high, uint64_t value, uint32_t rank) {
    if (low >= high)
        return true;
    if (!seep_grow(&ranges->items, &ranges->capacity, ranges->nr + 1, sizeof(*ranges->items)))
        return false;
    ranges->items[ranges->nr++] = (struct seep_range){.low = low, .high = high, .value = value, .rank = rank};
    return true;
}

// The value decides last, so that the order does not depend on the sort.
static int compare(const void *a_any, const void *b_any) {
    const struct seep_range *a = a_any, *b = b_any;
    if (a->low != b->low)
        return a->low < b->low ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return a->value < b->value ? -1 : a->value > b->value;
}

void seep_ranges_seal(struct seep_ranges *ranges) {
    if (ranges->nr)
        qsort(ranges->items, ranges->nr, sizeof(*ranges->items), compare);
    uint64_t reach = 0;
    for (size_t i = 0; i < ranges->nr; i++) {
        reach = SEEP_MAX(reach, ranges->items[i].high);
        ranges->items[i].reach = reach;
    }
}

size_t seep_ranges_upto(const struct seep_ranges *ranges, uint64_t address) {
    return SEEP_FIRST_WHERE(at, ranges->nr, ranges->items[at].low > address);
}

const struct seep_range *seep_ranges_next(const struct seep_ranges *ranges, uint64_t address, size_t *at) {
    while (*at > 0) {
        const struct seep_range *item = &ranges->items[*at - 1];
        if (item->reach <= address)
            break;
        --*at;
        if (address < item->high)
            return item;
    }
    return NULL;
}
