// SPDX-License-Identifier: BSD-2-Clause
//
// Sampling by bytes. The bytes that a thread allocates are a line on which points lie, independently
// and on average one every `sample_bytes` (a Poisson process). An allocation is recorded when a point
// falls into it: with probability p = 1 - exp(-size / sample_bytes). One that is recorded stands for
// 1/p allocations and size/p bytes; with these weights all sums are unbiased.
//
// Integers only: this runs in other people's processes, whose floating-point flags are their own.
#ifndef SEEP_IMAGE_SAMPLE_H
#define SEEP_IMAGE_SAMPLE_H

#include "core/attr.h"

// Weights are in units of 1/1024.
#define SEEP_WEIGHT_SHIFT 10

// exp(-x) in units of 2^-30, for x in units of 2^-30. Error below 2^-26.
SEEP_INLINE uint64_t seep_sample_exp(uint64_t x) {
    const uint64_t one = UINT64_C(1) << 30;
    const uint64_t ln2 = UINT64_C(744261118); // ln(2) * 2^30, rounded
    uint64_t halvings = x / ln2;
    if (halvings > 30)
        return 0;
    uint64_t rest = x - halvings * ln2; // below ln 2: the series ends soon
    uint64_t term = one;
    uint64_t sum = one;
    for (uint64_t i = 1; i < 12; i++) {
        term = (term * rest >> 30) / i;
        sum = i & 1 ? sum - term : sum + term;
    }
    return sum >> halvings;
}

// 1/p for an allocation of `size` bytes, in units of 1/1024; size below 2^47, sample_bytes
// below 2^38 and not 0.
SEEP_INLINE uint64_t seep_sample_weight(uint64_t size, uint64_t sample_bytes) {
    size = size ? size : 1;
    if (size >= sample_bytes * 16)
        return 1 << SEEP_WEIGHT_SHIFT;
    if (size * 16 < sample_bytes) // 1/x + 1/2 + x/12 - ...: the rest is below 2^-21
        return (sample_bytes << SEEP_WEIGHT_SHIFT) / size + (1 << SEEP_WEIGHT_SHIFT) / 2 +
               (size << SEEP_WEIGHT_SHIFT) / (sample_bytes * 12);
    // x = size / sample_bytes in units of 2^-30; both numbers shortened so that the shift fits
    unsigned excess = 64 - (unsigned)__builtin_clzll(size | 1);
    excess = excess > 32 ? excess - 32 : 0;
    uint64_t x = ((size >> excess) << 30) / SEEP_MAX(sample_bytes >> excess, UINT64_C(1));
    uint64_t p = (UINT64_C(1) << 30) - seep_sample_exp(x);
    return ((UINT64_C(1) << (30 + SEEP_WEIGHT_SHIFT)) + p / 2) / p;
}

// A sum of weights as a number of blocks.
SEEP_INLINE uint64_t seep_sample_blocks(uint64_t sum) {
    return (sum >> SEEP_WEIGHT_SHIFT) + (sum >> (SEEP_WEIGHT_SHIFT - 1) & 1);
}

// Bytes that a recorded allocation stands for.
SEEP_INLINE uint64_t seep_sample_bytes_for(uint64_t size, uint64_t weight) {
    // no overflow: size * weight is about 1024 * max(size, sample_bytes)
    return (size * weight + (1 << (SEEP_WEIGHT_SHIFT - 1))) >> SEEP_WEIGHT_SHIFT;
}

// Bytes to the next point: exponentially distributed with mean `sample_bytes`, at least 1.
// `random` is uniform in 64 bits.
SEEP_INLINE int64_t seep_sample_distance(uint64_t random, uint64_t sample_bytes) {
    uint64_t u = random >> 11 | 1; // uniform in (0, 1) in units of 2^-53
    unsigned bits = 63 - (unsigned)__builtin_clzll(u);
    // log2(u) in units of 2^-20: the integer part, then a bit of fraction for each squaring
    uint64_t log2_u = (uint64_t)bits << 20;
    uint64_t mantissa = bits > 31 ? u >> (bits - 31) : u << (31 - bits);
    for (int i = 19; i >= 0; i--) {
        mantissa = mantissa * mantissa >> 31;
        if (mantissa >> 32) {
            log2_u |= UINT64_C(1) << i;
            mantissa >>= 1;
        }
    }
    uint64_t minus_log2 = (UINT64_C(53) << 20) - log2_u;
    const uint64_t ln2 = 726817; // ln(2) * 2^20, rounded
    uint64_t minus_ln = minus_log2 * ln2 >> 20;
    uint64_t distance = sample_bytes * minus_ln >> 20; // minus_ln is below 2^26
    return distance ? (int64_t)distance : 1;
}

#endif
