// SPDX-License-Identifier: BSD-2-Clause
//
// Which function of a stack to give LeakSanitizer. Its lines know one pattern each, which any frame may
// match, so a line about a function that many stacks have in common hides them all. The one that is in the
// fewest stacks that leak is chosen; for that all of them are counted first, also those that a filter leaves
// out.
#ifndef SEEP_OUTPUT_REPORT_LSAN_H
#define SEEP_OUTPUT_REPORT_LSAN_H

#include "view/view.h"

// What has a frame that a line matches, in all stacks that leak.
struct seep_lsan_taken {
    uint64_t nr_rows;
    int64_t blocks;
    int64_t bytes;
};

struct seep_lsan_census;

// Of the view's session, whatever the view leaves out.
SEEP_MUST_CHECK struct seep_error *seep_lsan_census_create(const struct seep_view *view,
                                                           struct seep_lsan_census **ret_census);
void seep_lsan_census_destroy(struct seep_lsan_census *census); // takes NULL

// The lines for the stack of a row, each with its newline; malloc'ed, the caller frees it. NULL: there is no
// word for it.
SEEP_MUST_CHECK struct seep_error *seep_lsan_choose(struct seep_lsan_census *census, struct seep_view *view,
                                                    const struct seep_view_row *row, char **ret_lines,
                                                    struct seep_lsan_taken *ret_taken);

#endif
