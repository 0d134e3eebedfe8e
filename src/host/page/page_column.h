// SPDX-License-Identifier: BSD-2-Clause
//
// Columns of numbers as bytes: LEB128, zigzag for signed ones, as a page reads them (docs/page.md).
#ifndef SEEP_PAGE_PAGE_COLUMN_H
#define SEEP_PAGE_PAGE_COLUMN_H

#include "base/records.h"

struct seep_page_column {
    struct seep_put put;
    size_t nr; // values that were put
};

void seep_page_column_deinit(struct seep_page_column *column);
void seep_page_column_put(struct seep_page_column *column, uint64_t value);
void seep_page_column_put_signed(struct seep_page_column *column, int64_t value);
void seep_page_column_put_double(struct seep_page_column *column, double value); // 8 bytes, little-endian
// All values, below 2^32: the lowest byte of each, then the next ones, as many as `most` has. Packs better
// than LEB128 where values have no order.
void seep_page_column_put_planes(struct seep_page_column *column, const uint32_t *values, size_t nr,
                                 uint32_t most);
void seep_page_column_put_bytes(struct seep_page_column *column, const void *bytes, size_t nr_bytes);

#endif
