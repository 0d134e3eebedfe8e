// SPDX-License-Identifier: BSD-2-Clause
// A trace with its sections unpacked, as an input of a fuzz target: what is changed in packed bytes is refused by
// zstd, and gets no further. plain_trace FROM TO
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "trace_repair.h"

static uint8_t *read_file(const char *path, size_t *ret_bytes) {
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = malloc(SEEP_TRACE_RAW_MAX);
    if (!file || !bytes) {
        perror(path);
        exit(1);
    }
    *ret_bytes = fread(bytes, 1, SEEP_TRACE_RAW_MAX, file);
    fclose(file);
    return bytes;
}

// Returns the bytes of the section in `data`; adds it to `to`.
static size_t unpack(const uint8_t *data, size_t left, struct seep_put *to) {
    uint64_t stored = seep_fetch64(data + 8), raw = seep_fetch64(data + 16);
    if (stored > left - SEEP_TRACE_SECTION_BYTES || raw > SEEP_TRACE_RAW_MAX ||
        !seep_put_room(to, SEEP_TRACE_SECTION_BYTES + (size_t)SEEP_MAX(raw, stored)))
        return left;
    uint8_t *header = to->bytes + to->used;
    memcpy(header, data, SEEP_TRACE_SECTION_BYTES);
    const uint8_t *from = data + SEEP_TRACE_SECTION_BYTES;
    uint16_t flags;
    memcpy(&flags, header + 6, sizeof(flags));
    if (flags & SEEP_TRACE_FLAG_ZSTD) {
        ZSTD_decompress(header + SEEP_TRACE_SECTION_BYTES, (size_t)raw, from, (size_t)stored);
        flags &= (uint16_t)~SEEP_TRACE_FLAG_ZSTD;
        memcpy(header + 6, &flags, sizeof(flags));
        seep_store64(header + 8, raw);
        to->used += SEEP_TRACE_SECTION_BYTES + (size_t)raw;
    } else {
        memcpy(header + SEEP_TRACE_SECTION_BYTES, from, (size_t)stored);
        to->used += SEEP_TRACE_SECTION_BYTES + (size_t)stored;
    }
    return SEEP_TRACE_SECTION_BYTES + (size_t)stored;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: plain_trace FROM TO\n");
        return 2;
    }
    size_t nr_bytes;
    uint8_t *bytes = read_file(argv[1], &nr_bytes);
    struct seep_put to = {NULL};
    size_t at = seep_fetch32(bytes + 12);
    seep_put_bytes(&to, bytes, at);
    while (nr_bytes - at >= SEEP_TRACE_SECTION_BYTES)
        at += unpack(bytes + at, nr_bytes - at, &to);
    trace_repair(to.bytes, to.used);
    FILE *out = fopen(argv[2], "wb");
    if (to.failed || !out || fwrite(to.bytes, 1, to.used, out) != to.used || fclose(out) != 0) {
        perror(argv[2]);
        return 1;
    }
    free(bytes);
    seep_put_deinit(&to);
    return 0;
}
