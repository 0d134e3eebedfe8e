// SPDX-License-Identifier: BSD-2-Clause
//
// Sites that are too small for a page of limited size, added up where their stacks leave those that are
// shown.
#ifndef SEEP_PAGE_PAGE_FOLD_H
#define SEEP_PAGE_PAGE_FOLD_H

#include "base/map.h"
#include "view/view.h"

struct seep_page_folded {
    uint32_t node; // of the page's tree
    uint64_t nr;   // sites
    struct seep_view_row now;
    struct seep_view_row old;
};

struct seep_page_fold {
    struct seep_page_folded *items; // malloc'ed
    size_t nr;
    size_t capacity;
    struct seep_map of_node;
};

void seep_page_fold_deinit(struct seep_page_fold *fold); // of zeros, too
// *ret_at: the index of the item that it was added to. `old` may be NULL.
SEEP_MUST_CHECK struct seep_error *seep_page_fold_add(struct seep_page_fold *fold, uint32_t node,
                                                      const struct seep_view_row *now,
                                                      const struct seep_view_row *old, uint32_t *ret_at);

// How much a row matters: its shares of all that is live, allocated, leaked; of two what changed, and they.
double seep_page_weight(const struct seep_view *view, const struct seep_view_row *now,
                        const struct seep_view_row *old);

#endif
