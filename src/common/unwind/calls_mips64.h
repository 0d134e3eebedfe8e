// SPDX-License-Identifier: BSD-2-Clause
//
// Calls of 64-bit MIPS: whether one ends at `address`. A call returns behind the instruction in its delay
// slot, so the call is two words before its return address: jal, jalr that writes ra, bal and its conditional
// forms. The compact calls of release 6 (balc, jialc) have no delay slot: they are one word before it.
// Source: MIPS64 Architecture for Programmers, volume II, "JAL", "JALR", "BGEZAL", "BALC", "JIALC".
// Proof: tests/unit/test_calls.c.
#ifndef SEEP_UNWIND_CALLS_MIPS64_H
#define SEEP_UNWIND_CALLS_MIPS64_H

#include <stdbool.h>
#include <stdint.h>

// The bytes before a return address that are read.
enum { SEEP_MIPS64_CALL_BYTES = 8 };

static inline bool seep_mips64_follows_call(uint64_t address) {
    if (address % 4)
        return false;
    const uint32_t *at = (const uint32_t *)(uintptr_t)address;
    uint32_t with_slot = at[-2], compact = at[-1];
    return (with_slot & 0xfc1ff83f) == 0x0000f809 || // jalr, with or without a hint
           (with_slot & 0xfc000000) == 0x0c000000 || // jal
           (with_slot & 0xfc1c0000) == 0x04100000 || // bltzal, bgezal (bal), bltzall, bgezall
           (compact & 0xfc000000) == 0xe8000000 ||   // balc
           (compact & 0xffe00000) == 0xf8000000;     // jialc
}

#endif
