// SPDX-License-Identifier: BSD-2-Clause
//
// Checksums would stop nearly every damaged trace at the door. This makes them, and the end section, those of
// the bytes as they are, so that a fuzz target gets further.
#ifndef SEEP_TESTS_TRACE_REPAIR_H
#define SEEP_TESTS_TRACE_REPAIR_H

#include "file/trace.h"

// Puts right what the lengths allow to find.
static void trace_repair(uint8_t *data, size_t size) {
    if (size < SEEP_TRACE_HEADER_BYTES)
        return;
    seep_store32(data + 28, seep_trace_crc32(0, data, 28));
    size_t at = seep_fetch32(data + 12);
    for (uint64_t nr = 1; at <= size && size - at >= SEEP_TRACE_SECTION_BYTES; nr++) {
        uint8_t *header = data + at;
        size_t left = size - at - SEEP_TRACE_SECTION_BYTES;
        uint64_t stored_bytes = seep_fetch64(header + 8);
        seep_store32(header + 24, seep_trace_crc32(0, header, 24));
        if (stored_bytes > left)
            return;
        uint8_t *stored = header + SEEP_TRACE_SECTION_BYTES;
        if (seep_fetch32(header) == SEEP_TRACE_END && stored_bytes == SEEP_TRACE_END_BYTES) {
            seep_store64(stored, nr);
            seep_store64(stored + 8, at + SEEP_TRACE_SECTION_BYTES + SEEP_TRACE_END_BYTES);
        }
        seep_store32(header + 28, seep_trace_crc32(0, stored, (size_t)stored_bytes));
        at += SEEP_TRACE_SECTION_BYTES + (size_t)stored_bytes;
    }
}

#endif
