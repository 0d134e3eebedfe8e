// SPDX-License-Identifier: BSD-2-Clause
//
// Source files within a page, where it was asked for: those that frames name and that can be read here.
#ifndef SEEP_PAGE_PAGE_EMBEDDED_H
#define SEEP_PAGE_PAGE_EMBEDDED_H

#include "page/page_tree.h"

#define SEEP_PAGE_SOURCE_BYTES  (UINT64_C(1) << 20) // of one file; larger ones stay out
#define SEEP_PAGE_SOURCES_BYTES (UINT64_C(24) << 20)

struct seep_page_embedded {
    struct seep_page_column files;   // text of the file's name
    struct seep_page_column lengths; // in bytes
    struct seep_page_column bytes;
};
void seep_page_embedded_deinit(struct seep_page_embedded *embedded);

// Reads the source files that the tree names, as far as the bounds allow. Owner: the caller deinits
// *embedded, on failure too.
SEEP_MUST_CHECK struct seep_error *seep_page_embed(const struct seep_page_tree *tree,
                                                   struct seep_page_embedded *embedded);

#endif
