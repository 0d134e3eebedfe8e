// SPDX-License-Identifier: BSD-2-Clause
// Sites that are too small for a page of limited size, see page_fold.h. Sums are exact.
#include <math.h>
#include <stdlib.h>

#include "base/sum.h"
#include "page/page_fold.h"

void seep_page_fold_deinit(struct seep_page_fold *fold) {
    free(fold->items);
    seep_map_deinit(&fold->of_node);
    *fold = (struct seep_page_fold){NULL};
}

static void add_signed(int64_t *sum, int64_t value) {
    if (__builtin_add_overflow(*sum, value, sum))
        *sum = value < 0 ? INT64_MIN : INT64_MAX;
}

static void add_row(struct seep_view_row *sum, const struct seep_view_row *row) {
    struct seep_counters *into = &sum->counters;
    const struct seep_counters *from = &row->counters;
    add_signed(&sum->live_bytes, row->live_bytes);
    add_signed(&sum->live_blocks, row->live_blocks);
    add_signed(&sum->suppressed_bytes, row->suppressed_bytes);
    seep_add_up(&into->allocations, from->allocations);
    seep_add_up(&into->allocated_bytes, from->allocated_bytes);
    seep_add_up(&into->frees, from->frees);
    seep_add_up(&into->freed_bytes, from->freed_bytes);
    seep_add_up(&into->temporary, from->temporary);
    seep_add_up(&into->at_peak_bytes, from->at_peak_bytes);
    seep_add_up(&into->at_peak_blocks, from->at_peak_blocks);
    into->size_min = SEEP_MIN(into->size_min, from->size_min);
    into->size_max = SEEP_MAX(into->size_max, from->size_max);
    for (uint32_t i = 0; i < SEEP_KIND_NR; i++) {
        seep_add_up(&sum->kinds.bytes[i], row->kinds.bytes[i]);
        seep_add_up(&sum->kinds.blocks[i], row->kinds.blocks[i]);
    }
    seep_add_up(&sum->retained_bytes, row->retained_bytes);
    sum->known &= row->known;
    if (row->kind && (!sum->kind || row->kind < sum->kind))
        sum->kind = row->kind;
}

struct seep_error *seep_page_fold_add(struct seep_page_fold *fold, uint32_t node,
                                      const struct seep_view_row *now, const struct seep_view_row *old,
                                      uint32_t *ret_at) {
    bool is_new;
    uint64_t *slot = seep_map_at(&fold->of_node, node, &is_new);
    if (!slot || (is_new && !seep_grow(&fold->items, &fold->capacity, fold->nr + 1, sizeof(*fold->items))))
        return seep_error_no_memory();
    if (is_new) {
        // The peak of several is not known: peaks do not add up.
        struct seep_view_row none = {.known = SEEP_KNOWN_ALL & ~SEEP_KNOWN_PEAK, .cut = -1};
        none.counters.size_min = UINT64_MAX;
        fold->items[fold->nr] = (struct seep_page_folded){.node = node, .now = none, .old = none};
        *slot = fold->nr++;
    }
    struct seep_page_folded *item = &fold->items[*slot];
    add_row(&item->now, now);
    if (old)
        add_row(&item->old, old);
    item->nr++;
    *ret_at = (uint32_t)*slot;
    return NULL;
}

static double share(double part, double whole) {
    return whole > 0 ? fabs(part) / whole : 0;
}

double seep_page_weight(const struct seep_view *view, const struct seep_view_row *now,
                        const struct seep_view_row *old) {
    const struct seep_view_row *all = &view->all;
    double weight = share((double)now->live_bytes, (double)all->live_bytes) +
                    share((double)now->counters.allocated_bytes, (double)all->counters.allocated_bytes) +
                    share((double)now->leaked_bytes, (double)all->leaked_bytes);
    if (old)
        weight += share((double)now->live_bytes - (double)old->live_bytes, (double)all->live_bytes) +
                  share((double)now->counters.allocated_bytes - (double)old->counters.allocated_bytes,
                        (double)all->counters.allocated_bytes);
    return weight;
}
