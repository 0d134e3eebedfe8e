// SPDX-License-Identifier: BSD-2-Clause
// A part of a page, packed, see page_pack.h.
#include <zlib.h>

#include "page/page_data.h"
#include "page/page_pack.h"

void seep_page_packed_deinit(struct seep_page_packed *packed) {
    seep_page_column_deinit(&packed->sites);
    seep_page_column_deinit(&packed->times);
}

struct seep_error *seep_page_pack(const struct seep_page_column *part, struct seep_page_column *packed) {
    z_stream stream = {0};
    // 15 bits of window, 16: with the head of gzip. Source: zlib.h. Level 6 takes twice the time of 4 and
    // saves 3 per cent.
    if (deflateInit2(&stream, 4, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY) != Z_OK)
        return seep_error_no_memory();
    unsigned char out[65536];
    size_t left = part->nr_bytes;
    stream.next_in = part->bytes;
    int status = Z_OK;
    while (status == Z_OK) {
        if (!stream.avail_in) {
            stream.avail_in = left > 1u << 30 ? 1u << 30 : (unsigned)left;
            left -= stream.avail_in;
        }
        stream.next_out = out;
        stream.avail_out = sizeof(out);
        status = deflate(&stream, left ? Z_NO_FLUSH : Z_FINISH);
        seep_page_column_put_bytes(packed, out, sizeof(out) - stream.avail_out);
    }
    deflateEnd(&stream);
    return status == Z_STREAM_END && !packed->failed ? NULL : seep_error_no_memory();
}
