// SPDX-License-Identifier: BSD-2-Clause
//
// Calls of 32-bit ARM: whether one ends at `address`: bl, blx of a register, blx. Bit 0 of the address says
// that Thumb code is there. Source: Arm Architecture Reference Manual, ARMv7-A, A6.3 and A5.7. Proof:
// tests/unit/test_calls.c.
#ifndef SEEP_UNWIND_CALLS_ARM_H
#define SEEP_UNWIND_CALLS_ARM_H

#include <stdbool.h>
#include <stdint.h>

// The bytes before a return address that are read.
enum { SEEP_ARM_CALL_BYTES = 4 };

// Whether the instruction before `address` is a call; its lowest bit says Thumb. Reads SEEP_ARM_CALL_BYTES
// before it: the caller knows that they can be read.
static inline bool seep_arm_follows_call(uint64_t address) {
    const uint16_t *at = (const uint16_t *)(uintptr_t)(address & ~UINT64_C(1));
    uint32_t arm = at[-2] | (uint32_t)at[-1] << 16;
    if (address & 1)
        return (at[-1] & 0xff87) == 0x4780 || ((at[-2] & 0xf800) == 0xf000 && (at[-1] & 0xc000) == 0xc000);
    return (address & 2) == 0 && ((arm & 0x0f000000) == 0x0b000000 || (arm & 0xfe000000) == 0xfa000000 ||
                                  (arm & 0x0ffffff0) == 0x012fff30);
}

#endif
