// SPDX-License-Identifier: BSD-2-Clause
// A part of a page, packed, see page_pack.h.
#include "base/gzip.h"
#include "page/page_data.h"
#include "page/page_pack.h"

void seep_page_packed_deinit(struct seep_page_packed *packed) {
    seep_page_column_deinit(&packed->sites);
    seep_page_column_deinit(&packed->times);
}

static void to_column(void *data, const void *bytes, size_t nr_bytes) {
    seep_page_column_put_bytes(data, bytes, nr_bytes);
}

struct seep_error *seep_page_pack(const struct seep_page_column *part, struct seep_page_column *packed) {
    // Level 6 takes twice the time of 4 and saves 3 per cent.
    struct seep_error *error = seep_gzip(part->put.bytes, part->put.used, 4, to_column, packed);
    if (!error && packed->put.failed)
        error = seep_error_no_memory();
    return error;
}
