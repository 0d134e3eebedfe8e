// SPDX-License-Identifier: BSD-2-Clause
// Columns of numbers as bytes, see page_column.h.
#include "page/page_column.h"

void seep_page_column_deinit(struct seep_page_column *column) {
    seep_put_deinit(&column->put);
    column->nr = 0;
}

void seep_page_column_put(struct seep_page_column *column, uint64_t value) {
    seep_put_leb(&column->put, value);
    column->nr++;
}

void seep_page_column_put_signed(struct seep_page_column *column, int64_t value) {
    seep_put_zigzag(&column->put, value);
    column->nr++;
}

void seep_page_column_put_double(struct seep_page_column *column, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    unsigned char bytes[8];
    seep_store64(bytes, bits);
    seep_page_column_put_bytes(column, bytes, sizeof(bytes));
}

void seep_page_column_put_planes(struct seep_page_column *column, const uint32_t *values, size_t nr,
                                 uint32_t most) {
    for (unsigned shift = 0; shift < 32 && (shift == 0 || most >> shift); shift += 8) {
        if (!seep_put_room(&column->put, nr))
            return;
        for (size_t i = 0; i < nr; i++)
            column->put.bytes[column->put.used++] = (unsigned char)(values[i] >> shift);
    }
    column->nr += nr;
}

void seep_page_column_put_bytes(struct seep_page_column *column, const void *bytes, size_t nr_bytes) {
    seep_put_bytes(&column->put, bytes, nr_bytes);
    column->nr++;
}
