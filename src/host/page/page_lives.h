// SPDX-License-Identifier: BSD-2-Clause
//
// How long the freed blocks of a page's rows lived, as a recording tells it.
#ifndef SEEP_PAGE_PAGE_LIVES_H
#define SEEP_PAGE_PAGE_LIVES_H

#include "page/page_column.h"
#include "profile/history.h"
#include "view/view.h"

struct seep_page_lives {
    uint64_t classes[SEEP_HISTORY_LIVES]; // blocks, of all rows
    struct seep_page_column freed;        // by row: blocks whose lives are known
    struct seep_page_column mean;         // ns, a double
    struct seep_page_column most;         // ns
};

void seep_page_lives_deinit(struct seep_page_lives *lives); // of zeros, too

// Those of one process; `history` NULL: nothing is known of them. The other arguments as those of
// seep_page_times_add.
SEEP_MUST_CHECK struct seep_error *seep_page_lives_add(struct seep_page_lives *lives,
                                                       const struct seep_view *view,
                                                       const struct seep_history *history,
                                                       const uint32_t *places, size_t first,
                                                       size_t nr_places);

// {"below_ns": [1000, ..., null], "freed": [...]}; nothing where no life is known.
void seep_page_lives_put(const struct seep_page_lives *lives, struct seep_page_column *ret_text);

#endif
