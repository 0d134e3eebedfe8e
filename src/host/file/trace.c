// SPDX-License-Identifier: BSD-2-Clause
//
// What writer and reader of a trace share: the checksum, the names of sections, and the number
// encodings of records.h.
#include "file/sections.h"
#include "file/trace.h"

// Source: CRC-32 of ISO 3309 / ITU-T V.42, reflected polynomial 0xEDB88320. Eight table look-ups take
// eight bytes at a time: with one, the checksum would cost as much as decoding.
static uint32_t crc_table[8][256];

// Filled before main, so that readers in several threads need no lock.
__attribute__((constructor)) static void fill_crc_table(void) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0xedb88320) : 0);
        crc_table[0][i] = crc;
    }
    for (uint32_t i = 0; i < 256; i++)
        for (int k = 1; k < 8; k++)
            crc_table[k][i] = crc_table[k - 1][i] >> 8 ^ crc_table[0][crc_table[k - 1][i] & 0xff];
}

uint32_t seep_trace_crc32(uint32_t crc, const void *bytes, size_t nr_bytes) {
    const unsigned char *at = bytes;
    crc = ~crc;
    for (; nr_bytes >= 8; nr_bytes -= 8, at += 8) {
        uint32_t low = seep_fetch32(at) ^ crc, high = seep_fetch32(at + 4);
        // Written out, because gcc 12 keeps the loop, which takes three times as many instructions.
        crc = crc_table[7][low & 0xff] ^ crc_table[6][low >> 8 & 0xff] ^ crc_table[5][low >> 16 & 0xff] ^
              crc_table[4][low >> 24] ^ crc_table[3][high & 0xff] ^ crc_table[2][high >> 8 & 0xff] ^
              crc_table[1][high >> 16 & 0xff] ^ crc_table[0][high >> 24];
    }
    for (; nr_bytes; nr_bytes--)
        crc = crc >> 8 ^ crc_table[0][(crc ^ *at++) & 0xff];
    return ~crc;
}

static const char *known_name(uint32_t type) {
    static const char *const names[SEEP_TRACE_TYPE_NR] = {
        [SEEP_TRACE_END] = "END",
        [SEEP_TRACE_SESSION] = "SESSION",
        [SEEP_TRACE_PROCESS] = "PROCESS",
        [SEEP_TRACE_HEALTH] = "HEALTH",
        [SEEP_TRACE_TOTALS] = "TOTALS",
        [SEEP_TRACE_MODULES] = "MODULES",
        [SEEP_TRACE_NODES] = "NODES",
        [SEEP_TRACE_SITES] = "SITES",
        [SEEP_TRACE_THREADS] = "THREADS",
        [SEEP_TRACE_THREAD_SITES] = "THREAD_SITES",
        [SEEP_TRACE_BLOCKS] = "BLOCKS",
        [SEEP_TRACE_EVENTS] = "EVENTS",
        [SEEP_TRACE_STACKS] = "STACKS",
        [SEEP_TRACE_EVENT_INDEX] = "EVENT_INDEX",
        [SEEP_TRACE_RESIDENCE] = "RESIDENCE",
        [SEEP_TRACE_EVENT_SUMS] = "EVENT_SUMS",
        [SEEP_TRACE_INDEX] = "INDEX",
    };
    const struct seep_section *section = seep_section_of(type);
    return section ? section->name : type < SEEP_TRACE_TYPE_NR ? names[type] : NULL;
}

bool seep_trace_type_is_known(uint32_t type) {
    return known_name(type) != NULL;
}

const char *seep_trace_type_name(uint32_t type) {
    return seep_trace_type_is_known(type) ? known_name(type) : "of unknown type";
}
