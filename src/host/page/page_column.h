// SPDX-License-Identifier: BSD-2-Clause
//
// Columns of numbers as bytes: LEB128, zigzag for signed ones, as a page reads them (docs/page.md). A column
// remembers that memory was out, so that this is checked once, at the end.
#ifndef SEEP_PAGE_PAGE_COLUMN_H
#define SEEP_PAGE_PAGE_COLUMN_H

#include "core/attr.h"

struct seep_page_column {
    unsigned char *bytes; // malloc'ed
    size_t nr_bytes;
    size_t capacity;
    size_t nr; // values that were put
    bool failed;
};

void seep_page_column_deinit(struct seep_page_column *column);
void seep_page_column_put(struct seep_page_column *column, uint64_t value);
void seep_page_column_put_signed(struct seep_page_column *column, int64_t value);
void seep_page_column_put_double(struct seep_page_column *column, double value); // 8 bytes, little-endian
void seep_page_column_put_bytes(struct seep_page_column *column, const void *bytes, size_t nr_bytes);

#endif
