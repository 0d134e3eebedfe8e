// SPDX-License-Identifier: BSD-2-Clause
//
// Calls of AArch64: whether one ends at `address`: bl, blr; blraaz, blrabz, blraa and blrab, which
// authenticate. Source: Arm Architecture Reference Manual for A-profile, C6.2. Proof:
// tests/unit/test_calls.c.
#ifndef SEEP_UNWIND_CALLS_AARCH64_H
#define SEEP_UNWIND_CALLS_AARCH64_H

#include <stdbool.h>
#include <stdint.h>

// The bytes before a return address that are read.
enum { SEEP_AARCH64_CALL_BYTES = 4 };

// Whether the instruction before `address` is a call. Reads SEEP_AARCH64_CALL_BYTES before it: the caller
// knows that they can be read.
static inline bool seep_aarch64_follows_call(uint64_t address) {
    if (address % 4)
        return false;
    uint32_t code = *(const uint32_t *)(uintptr_t)(address - 4);
    return (code & 0xfc000000) == 0x94000000 || (code & 0xfffffc1f) == 0xd63f0000 ||
           (code & 0xfffff81f) == 0xd63f081f || (code & 0xfffff800) == 0xd73f0800;
}

#endif
