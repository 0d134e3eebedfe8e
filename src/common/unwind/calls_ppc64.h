// SPDX-License-Identifier: BSD-2-Clause
//
// Calls of 64-bit Power: whether one ends at `address`: branches that set the link register.
// Source: Power ISA 3.0B, book I, 2.4 "Branch Instructions". Proof: tests/unit/test_calls.c.
#ifndef SEEP_UNWIND_CALLS_PPC64_H
#define SEEP_UNWIND_CALLS_PPC64_H

#include <stdbool.h>
#include <stdint.h>

// The bytes before a return address that are read.
enum { SEEP_PPC64_CALL_BYTES = 4 };

static inline bool seep_ppc64_follows_call(uint64_t address) {
    if (address % 4)
        return false;
    uint32_t word = ((const uint32_t *)(uintptr_t)address)[-1];
    uint32_t main = word >> 26, more = word >> 1 & 0x3ff;
    bool by_register = main == 19 && (more == 16 || more == 528); // bclr, bcctr
    return word & 1 && (main == 18 || main == 16 || by_register);
}

#endif
