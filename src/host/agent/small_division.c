// SPDX-License-Identifier: BSD-2-Clause
// Division in a twentieth of the size of libgcc's, which has no loop. See small_division.h.
// Source: Run-time ABI for the Arm Architecture, 4.3.1 "Integer (32/32 -> 32) division functions".
#include "agent/small_division.h"

// The remainder in the high half is never more than the bits of `value` that were shifted there, so it does
// not overflow.
uint64_t seep_small_divide(uint32_t value, uint32_t by) {
    uint64_t both = value;
    for (int i = 0; i < 32; i++) {
        both <<= 1;
        if (both >> 32 >= by)
            both = (both - ((uint64_t)by << 32)) | 1;
    }
    return both;
}

uint64_t seep_small_divide_signed(int32_t value, int32_t by) {
    uint64_t both = seep_small_divide(value < 0 ? 0 - (uint32_t)value : (uint32_t)value,
                                      by < 0 ? 0 - (uint32_t)by : (uint32_t)by);
    uint32_t quotient = (uint32_t)both, remainder = (uint32_t)(both >> 32);
    if ((value ^ by) < 0)
        quotient = 0 - quotient;
    if (value < 0)
        remainder = 0 - remainder;
    return (uint64_t)remainder << 32 | quotient;
}

#if defined(__arm__) && !defined(__ARM_FEATURE_IDIV)
// What the compiler calls to divide.
#define SAME_AS(function) __attribute__((alias(function), used))
uint64_t __aeabi_uidivmod(uint32_t, uint32_t) SAME_AS("seep_small_divide");
uint64_t __aeabi_uidiv(uint32_t, uint32_t) SAME_AS("seep_small_divide");
uint64_t __udivsi3(uint32_t, uint32_t) SAME_AS("seep_small_divide");
uint64_t __aeabi_idivmod(int32_t, int32_t) SAME_AS("seep_small_divide_signed");
uint64_t __aeabi_idiv(int32_t, int32_t) SAME_AS("seep_small_divide_signed");
uint64_t __divsi3(int32_t, int32_t) SAME_AS("seep_small_divide_signed");
#endif
