// SPDX-License-Identifier: BSD-2-Clause
//
// What writer and reader of a trace share: the checksum, the names of sections, and the number
// encodings of records.h.
#ifdef __x86_64__
#include <immintrin.h>
#endif

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

// The register of the checksum after more bytes.
static uint32_t add_bytes(uint32_t crc, const unsigned char *at, size_t nr_bytes) {
    for (; nr_bytes >= 8; nr_bytes -= 8, at += 8) {
        uint32_t low = seep_fetch32(at) ^ crc, high = seep_fetch32(at + 4);
        // Written out, because gcc 12 keeps the loop, which takes three times as many instructions.
        crc = crc_table[7][low & 0xff] ^ crc_table[6][low >> 8 & 0xff] ^ crc_table[5][low >> 16 & 0xff] ^
              crc_table[4][low >> 24] ^ crc_table[3][high & 0xff] ^ crc_table[2][high >> 8 & 0xff] ^
              crc_table[1][high >> 16 & 0xff] ^ crc_table[0][high >> 24];
    }
    for (; nr_bytes; nr_bytes--)
        crc = crc >> 8 ^ crc_table[0][(crc ^ *at++) & 0xff];
    return crc;
}

#ifdef __x86_64__

enum { BLOCK_BYTES = 16, BLOCKS = 4 }; // so many at once: a multiplication waits for the one before it

// Source: V. Gopal and others, Fast CRC Computation for Generic Polynomials Using PCLMULQDQ, Intel 2009. A
// block is multiplied by a power of x, modulo the polynomial, and so moves on to a block behind it without a
// change of the checksum. Ten times as fast as the table.
__attribute__((target("pclmul,sse4.1"))) static __m128i move_on(__m128i block, __m128i powers,
                                                                const unsigned char *to) {
    __m128i low = _mm_clmulepi64_si128(block, powers, 0x00);
    __m128i high = _mm_clmulepi64_si128(block, powers, 0x11);
    return _mm_xor_si128(_mm_xor_si128(low, high), _mm_loadu_si128((const __m128i *)to));
}

// Of whole blocks, at least BLOCKS.
__attribute__((target("pclmul,sse4.1"))) static uint32_t add_blocks(uint32_t crc, const unsigned char *at,
                                                                    size_t nr_blocks) {
    const __m128i by_four = _mm_set_epi64x(0x1c6e41596, 0x154442bd4);
    const __m128i by_one = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);
    unsigned char last[BLOCK_BYTES];
    __m128i blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = _mm_loadu_si128((const __m128i *)(at + i * BLOCK_BYTES));
    blocks[0] = _mm_xor_si128(blocks[0], _mm_cvtsi32_si128((int)crc));
    size_t done = BLOCKS;
    for (; nr_blocks - done >= BLOCKS; done += BLOCKS)
        for (int i = 0; i < BLOCKS; i++)
            blocks[i] = move_on(blocks[i], by_four, at + (done + (size_t)i) * BLOCK_BYTES);
    for (int i = 1; i < BLOCKS; i++) {
        _mm_storeu_si128((__m128i *)last, blocks[i]);
        blocks[i] = move_on(blocks[i - 1], by_one, last);
    }
    for (; done < nr_blocks; done++)
        blocks[BLOCKS - 1] = move_on(blocks[BLOCKS - 1], by_one, at + done * BLOCK_BYTES);
    _mm_storeu_si128((__m128i *)last, blocks[BLOCKS - 1]);
    return add_bytes(0, last, sizeof(last));
}

static bool has_multiplication(void) {
    return __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
}

#endif

uint32_t seep_trace_crc32(uint32_t crc, const void *bytes, size_t nr_bytes) {
    const unsigned char *at = bytes;
    crc = ~crc;
#ifdef __x86_64__
    size_t nr_blocks = nr_bytes / BLOCK_BYTES;
    if (nr_blocks >= BLOCKS && has_multiplication()) {
        crc = add_blocks(crc, at, nr_blocks);
        at += nr_blocks * BLOCK_BYTES;
        nr_bytes %= BLOCK_BYTES;
    }
#endif
    return ~add_bytes(crc, at, nr_bytes);
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
