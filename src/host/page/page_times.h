// SPDX-License-Identifier: BSD-2-Clause
//
// What the rows of a page had over time: for each moment at which somebody looked, those that were not as at
// the moment before (the first: not nothing).
#ifndef SEEP_PAGE_PAGE_TIMES_H
#define SEEP_PAGE_PAGE_TIMES_H

#include "page/page_column.h"
#include "view/view.h"

struct seep_page_times {
    struct seep_page_column processes; // by moment, as the next four
    struct seep_page_column at_ns;
    struct seep_page_column rss;
    struct seep_page_column used;
    struct seep_page_column changes; // how many there are
    struct seep_page_column sites;   // by change: the row, as the difference to the one before
    struct seep_page_column bytes;
    struct seep_page_column blocks;
};

void seep_page_times_deinit(struct seep_page_times *times); // of zeros, too

// The moments of one process. `view` is of that process alone and has all its rows; places[i] is the row of
// the page that row i of the view is in, one of the nr_places from `first` on.
SEEP_MUST_CHECK struct seep_error *seep_page_times_add(struct seep_page_times *times,
                                                       const struct seep_view *view, size_t process,
                                                       const uint32_t *places, size_t first,
                                                       size_t nr_places);

#endif
