// SPDX-License-Identifier: BSD-2-Clause
//
// Search by halves, and one by one from a place on.
#ifndef SEEP_BASE_SEARCH_H
#define SEEP_BASE_SEARCH_H

#include <stddef.h>

// NOLINTBEGIN(bugprone-macro-parentheses): `at` is a name
// The first index below `nr` for which `is_there` is true, an expression of `at`; `nr`: there is none. It is
// true for all that come after the first. `at` is the name that the index has in it. O(log nr).
#define SEEP_FIRST_WHERE(at, nr, is_there)                                                                   \
    ({                                                                                                       \
        size_t low_ = 0, high_ = (nr);                                                                       \
        while (low_ < high_) {                                                                               \
            const size_t at = low_ + (high_ - low_) / 2;                                                     \
            if (is_there)                                                                                    \
                high_ = at;                                                                                  \
            else                                                                                             \
                low_ = at + 1;                                                                               \
        }                                                                                                    \
        low_;                                                                                                \
    })
// NOLINTEND(bugprone-macro-parentheses)

// The index of the i-th step of a search through `nr` things, each once, that begins at `from`. If thousands
// of things are searched for in nearly the order in which they lie, each search ends after a step or two.
static inline size_t seep_index_from(size_t from, size_t i, size_t nr) {
    size_t at = (from < nr ? from : 0) + i;
    return at < nr ? at : at - nr;
}

#endif
