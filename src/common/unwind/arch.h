// SPDX-License-Identifier: BSD-2-Clause
//
// Selects the header of the CPU that this is compiled for. A CPU without one still has the CFI
// interpreter; rules are then never packed, and a caller's stack pointer is not followed.
#ifndef SEEP_UNWIND_ARCH_H
#define SEEP_UNWIND_ARCH_H

#if defined(__x86_64__)
#include "unwind/arch_x86_64.h"
#elif defined(__aarch64__)
#include "unwind/arch_aarch64.h"
#elif defined(__i386__)
#include "unwind/arch_i386.h"
#else
#include <stdint.h>
#define SEEP_ARCH_WORD            __SIZEOF_POINTER__
#define SEEP_ARCH_RECORD_GIVES_SP 0
static inline uint64_t seep_arch_strip(uint64_t return_address) {
    return return_address;
}
#endif

// A word of a stack, as it lies there; everywhere else addresses have 64 bits.
typedef uintptr_t seep_stack_word;

#endif
