// SPDX-License-Identifier: BSD-2-Clause
// Columns of numbers as bytes, see page_column.h.
#include <stdlib.h>
#include <string.h>

#include "page/page_column.h"

void seep_page_column_deinit(struct seep_page_column *column) {
    free(column->bytes);
    *column = (struct seep_page_column){NULL};
}

static bool room_for(struct seep_page_column *column, size_t more) {
    if (column->failed)
        return false;
    if (column->capacity - column->nr_bytes >= more)
        return true;
    size_t wanted = column->capacity ? column->capacity : 256;
    while (wanted - column->nr_bytes < more && wanted < SIZE_MAX / 4)
        wanted *= 2;
    unsigned char *larger = wanted - column->nr_bytes >= more ? realloc(column->bytes, wanted) : NULL;
    column->failed = !larger;
    if (!larger)
        return false;
    column->bytes = larger;
    column->capacity = wanted;
    return true;
}

void seep_page_column_put(struct seep_page_column *column, uint64_t value) {
    if (!room_for(column, 10))
        return;
    while (value >= 0x80) {
        column->bytes[column->nr_bytes++] = (unsigned char)(value | 0x80);
        value >>= 7;
    }
    column->bytes[column->nr_bytes++] = (unsigned char)value;
    column->nr++;
}

void seep_page_column_put_signed(struct seep_page_column *column, int64_t value) {
    seep_page_column_put(column, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

void seep_page_column_put_double(struct seep_page_column *column, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    unsigned char bytes[8];
    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(bits >> 8 * i);
    seep_page_column_put_bytes(column, bytes, sizeof(bytes));
}

void seep_page_column_put_planes(struct seep_page_column *column, const uint32_t *values, size_t nr,
                                 uint32_t most) {
    for (unsigned shift = 0; shift < 32 && (shift == 0 || most >> shift); shift += 8) {
        if (!room_for(column, nr))
            return;
        for (size_t i = 0; i < nr; i++)
            column->bytes[column->nr_bytes++] = (unsigned char)(values[i] >> shift);
    }
    column->nr += nr;
}

void seep_page_column_put_bytes(struct seep_page_column *column, const void *bytes, size_t nr_bytes) {
    if (!room_for(column, nr_bytes))
        return;
    if (nr_bytes)
        memcpy(column->bytes + column->nr_bytes, bytes, nr_bytes);
    column->nr_bytes += nr_bytes;
    column->nr++;
}
