// SPDX-License-Identifier: BSD-2-Clause
//
// Calls of x86-64 and i386: whether one ends at `address`: E8 and a distance, or FF /2 with its operand.
// Source: Intel SDM volume 2, CALL. Proof: tests/unit/test_calls.c.
#ifndef SEEP_UNWIND_CALLS_X86_H
#define SEEP_UNWIND_CALLS_X86_H

#include <stdbool.h>
#include <stdint.h>

enum { SEEP_X86_CALL_BYTES = 7 }; // seep_x86_follows_call() reads so many before the address

// Whether the instruction before `address` is a call. Reads the seven bytes before it: the caller knows that
// they can be read.
static inline bool seep_x86_follows_call(uint64_t address) {
    const uint8_t *at = (const uint8_t *)(uintptr_t)address;
    bool ends = at[-5] == 0xe8;
    for (int length = 2; length <= 7; length++)
        ends |= at[-length] == 0xff && (at[1 - length] & 0x38) == 0x10;
    return ends;
}

#endif
