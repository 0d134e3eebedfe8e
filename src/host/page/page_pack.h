// SPDX-License-Identifier: BSD-2-Clause
//
// A part of a page, packed: what a browser unpacks by itself.
#ifndef SEEP_PAGE_PAGE_PACK_H
#define SEEP_PAGE_PAGE_PACK_H

#include "base/error.h"
#include "page/page_column.h"

// gzip of it, behind what `packed` has.
SEEP_MUST_CHECK struct seep_error *seep_page_pack(const struct seep_page_column *part,
                                                  struct seep_page_column *packed);

#endif
