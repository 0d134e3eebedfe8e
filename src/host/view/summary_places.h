// SPDX-License-Identifier: BSD-2-Clause
//
// The places of the rows that have most of something, and their callers, for the lines of the summary.
#ifndef SEEP_VIEW_SUMMARY_PLACES_H
#define SEEP_VIEW_SUMMARY_PLACES_H

#include "view/view.h"

// The places of the leaders, most of it first: rows of one place are one. `name` is NULL for stacks that are
// not known. A view that has no leaders has no places.
struct seep_places {
    struct seep_place {
        const char *name;
        uint64_t value;
        size_t first; // row of the leaders: the first of the place
    } * of;
    size_t nr;
    uint16_t *of_row; // index in `of`, by row of the leaders
};

// Texts live as long as the view.
SEEP_MUST_CHECK struct seep_error *seep_places_find(struct seep_view *view,
                                                    const struct seep_view_leaders *leaders,
                                                    struct seep_places *ret_places);
// Whether the row is of the place that has most.
bool seep_places_first_has(const struct seep_places *places, size_t row);

// Callers are named because some functions only allocate for their callers. First the only caller, if
// `with_only`: ", called by add (table.c:13)". Then, of several callers, the caller with more than half of
// the value: ", 95.8% of that for parse (tree.c:18)". "": main is the caller, the caller is not known, or no
// caller has more than half.
SEEP_MUST_CHECK struct seep_error *seep_places_caller(struct seep_view *view,
                                                      const struct seep_view_leaders *leaders,
                                                      const struct seep_places *places, bool with_only,
                                                      const char **ret_text);

#endif
