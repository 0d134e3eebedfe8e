// SPDX-License-Identifier: BSD-2-Clause
//
// Who holds a site, for the tree of holders: the root that its chain begins with, and the site whose block
// has the pointer.
#ifndef SEEP_PAGE_PAGE_HOLDER_H
#define SEEP_PAGE_PAGE_HOLDER_H

#include "base/map.h"
#include "view/view.h"

// Rows of a view by their sites.
struct seep_page_holders {
    struct seep_view *view; // borrowed
    uint32_t process;
    struct seep_map rows; // index + 1, by node and function
};

// Of the rows of one process of the view. _deinit leaves the view alone.
SEEP_MUST_CHECK struct seep_error *seep_page_holders_init(struct seep_page_holders *holders,
                                                          struct seep_view *view, size_t process);
void seep_page_holders_deinit(struct seep_page_holders *holders);

// The nearest row along the chain that is another one; UINT32_MAX: none, the root itself holds it.
uint32_t seep_page_holder_row(const struct seep_page_holders *holders, const struct seep_view_row *row);
// "global cache in libfoo.so"; NULL: no chain is known. Lives as long as the view.
SEEP_MUST_CHECK struct seep_error *seep_page_holder_root(const struct seep_page_holders *holders,
                                                         const struct seep_view_row *row,
                                                         const char **ret_root);

#endif
