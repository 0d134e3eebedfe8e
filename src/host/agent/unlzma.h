// SPDX-License-Identifier: BSD-2-Clause
// Unpacks what tools/lzma_header.py packed. Calls nothing but memset.
#ifndef SEEP_AGENT_UNLZMA_H
#define SEEP_AGENT_UNLZMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// States of the decoder, and probabilities of literals. Source: the LZMA specification of 7-Zip (lc + lp is
// 4).
enum { SEEP_LZMA_STATES = 12, SEEP_LZMA_LITERALS = 768 << 4 };

// Probabilities of the lengths of matches.
struct seep_lzma_lengths {
    uint16_t choice[2];
    uint16_t low[16][8], middle[16][8], high[256];
};

// The state of the decoder.
struct seep_unlzma {
    const unsigned char *from, *end;
    bool failed;
    uint32_t range, code;
    uint16_t is_match[SEEP_LZMA_STATES][16], is_rep[SEEP_LZMA_STATES], is_rep0[SEEP_LZMA_STATES],
        is_rep1[SEEP_LZMA_STATES], is_rep2[SEEP_LZMA_STATES];
    uint16_t is_rep0_long[SEEP_LZMA_STATES][16];
    uint16_t slots[4][64], distances[128], aligned[16];
    struct seep_lzma_lengths match, rep;
    uint16_t literals[SEEP_LZMA_LITERALS];
};

// false: the stream is damaged, or does not make `nr` bytes. There is no checksum.
bool seep_unlzma(struct seep_unlzma *work, unsigned char *to, size_t nr, const unsigned char *packed,
                 size_t nr_packed);

#endif
