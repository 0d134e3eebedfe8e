// SPDX-License-Identifier: BSD-2-Clause
//
// Calls of IBM Z (s390x): whether one ends at `address`: brasl, bras, bas and basr that write r14.
// Source: z/Architecture Principles of Operation, chapter 7. Proof: tests/unit/test_calls.c.
#ifndef SEEP_UNWIND_CALLS_S390X_H
#define SEEP_UNWIND_CALLS_S390X_H

#include <stdbool.h>
#include <stdint.h>

// The bytes before a return address that are read.
enum { SEEP_S390X_CALL_BYTES = 6 };

// Whether the instruction before `address` is a call. Reads SEEP_S390X_CALL_BYTES before it: the caller knows
// that they can be read.
static inline bool seep_s390x_follows_call(uint64_t address) {
    if (address % 2)
        return false;
    const uint8_t *at = (const uint8_t *)(uintptr_t)address;
    return (at[-6] == 0xc0 && at[-5] == 0xe5) || (at[-4] == 0xa7 && at[-3] == 0xe5) ||
           (at[-4] == 0x4d && at[-3] >> 4 == 0xe) || (at[-2] == 0x0d && at[-1] >> 4 == 0xe && at[-1] != 0xe0);
}

#endif
