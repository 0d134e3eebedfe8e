// SPDX-License-Identifier: BSD-2-Clause
//
// Calls of 64-bit RISC-V: whether one ends at `address`: jal and jalr that write ra, c.jalr.
// Source: The RISC-V Instruction Set Manual, volume I, "Unconditional Jumps" and "C" extension.
// Proof: tests/unit/test_calls.c.
#ifndef SEEP_UNWIND_CALLS_RISCV64_H
#define SEEP_UNWIND_CALLS_RISCV64_H

#include <stdbool.h>
#include <stdint.h>

// The bytes before a return address that are read.
enum { SEEP_RISCV64_CALL_BYTES = 4 };

static inline bool seep_riscv64_follows_call(uint64_t address) {
    if (address % 2)
        return false;
    const uint16_t *at = (const uint16_t *)(uintptr_t)address;
    bool is_c_jalr = (at[-1] & 0xf07f) == 0x9002 && at[-1] != 0x9002; // 0x9002 is c.ebreak
    return is_c_jalr || (at[-2] & 0x0fff) == 0x00ef || (at[-2] & 0x7fff) == 0x00e7;
}

#endif
