// SPDX-License-Identifier: BSD-2-Clause
// Division of 32-bit numbers where the CPU has no instruction for it.
#ifndef SEEP_AGENT_SMALL_DIVISION_H
#define SEEP_AGENT_SMALL_DIVISION_H

#include <stdint.h>

// The quotient is the low half and the remainder the high half, as the functions of the ABI return both.
uint64_t seep_small_divide(uint32_t value, uint32_t by);
uint64_t seep_small_divide_signed(int32_t value, int32_t by);

#endif
