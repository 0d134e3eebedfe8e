// SPDX-License-Identifier: BSD-2-Clause
// gzip, see gzip.h.
#include <stdlib.h>
#include <zlib.h>

#include "base/gzip.h"
#include "core/attr.h"

struct gzip {
    z_stream stream;
    seep_gzip_sink sink;
    void *data;
};

// 15 bits of window, 16: with the head of gzip. Source: zlib.h.
static bool begin(struct gzip *gzip, int level, seep_gzip_sink sink, void *data) {
    *gzip = (struct gzip){.sink = sink, .data = data};
    return deflateInit2(&gzip->stream, level, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY) == Z_OK;
}

static void put(struct gzip *gzip, const void *bytes, size_t nr_bytes, bool is_end) {
    unsigned char out[65536];
    size_t left = nr_bytes;
    z_stream *stream = &gzip->stream;
    stream->next_in = (unsigned char *)(uintptr_t)bytes; // zlib writes nothing there
    stream->avail_in = 0;
    do {
        if (!stream->avail_in) {
            stream->avail_in = (unsigned)SEEP_MIN(left, (size_t)1 << 30);
            left -= stream->avail_in;
        }
        stream->next_out = out;
        stream->avail_out = sizeof(out);
        deflate(stream, is_end && !left ? Z_FINISH : Z_NO_FLUSH);
        if (stream->avail_out < sizeof(out))
            gzip->sink(gzip->data, out, sizeof(out) - stream->avail_out);
    } while (!stream->avail_out || stream->avail_in || left);
}

struct seep_error *seep_gzip(const void *bytes, size_t nr_bytes, int level, seep_gzip_sink sink, void *data) {
    struct gzip gzip;
    if (!begin(&gzip, level, sink, data))
        return seep_error_no_memory();
    put(&gzip, bytes, nr_bytes, true);
    deflateEnd(&gzip.stream);
    return NULL;
}

// ---- as a stream ----

static ssize_t write_cookie(void *data, const char *bytes, size_t nr_bytes) {
    put(data, bytes, nr_bytes, false);
    return (ssize_t)nr_bytes;
}

static int close_cookie(void *data) {
    struct gzip *gzip = data;
    put(gzip, NULL, 0, true);
    deflateEnd(&gzip->stream);
    free(gzip);
    return 0;
}

static void to_file(void *data, const void *bytes, size_t nr_bytes) {
    fwrite(bytes, 1, nr_bytes, data);
}

FILE *seep_gzip_open(FILE *out, int level) {
    struct gzip *gzip = malloc(sizeof(*gzip));
    if (!gzip || !begin(gzip, level, to_file, out)) {
        free(gzip);
        return NULL;
    }
    FILE *stream =
        fopencookie(gzip, "w", (cookie_io_functions_t){.write = write_cookie, .close = close_cookie});
    if (!stream) {
        deflateEnd(&gzip->stream);
        free(gzip);
    } else {
        setvbuf(stream, NULL, _IOFBF, 65536);
    }
    return stream;
}
