// SPDX-License-Identifier: BSD-2-Clause
//
// The data of a page: what the browser needs to show a session, or what changed between two. Two parts: the
// sites with their call tree, and what they had over time, which the page reads after it has drawn the
// first. A part is one line of JSON that names its sections, and the sections (docs/page.md).
#ifndef SEEP_PAGE_PAGE_DATA_H
#define SEEP_PAGE_PAGE_DATA_H

#include "page/page_column.h"
#include "profile/history.h"
#include "view/view.h"

struct seep_page_source {
    const struct seep_session *session;
    const char *name;               // as the user names it
    const struct seep_session *old; // NULL: no diff
    const char *old_name;           // of `old`
    struct seep_symbols *symbols;
    const struct seep_view_options *options; // filters and how names are shown
    bool embed_sources;                      // source files too, of frames
    const struct seep_history *histories;    // by profile of the session: lives of blocks; NULL: not known
    uint64_t max_bytes; // of the data in the page: the smallest sites are folded until it is no more
};

// Parts, packed by gzip. Sites: everything without which nothing can be drawn. Times: empty where
// nothing is known over time.
struct seep_page_packed {
    struct seep_page_column sites;
    struct seep_page_column times;
};
void seep_page_packed_deinit(struct seep_page_packed *packed); // of zeros, too

// *ret_packed holds zeros before; the caller deinits it, also after an error.
SEEP_MUST_CHECK struct seep_error *seep_page_data(const struct seep_page_source *source,
                                                  struct seep_page_packed *ret_packed);

#endif
