// SPDX-License-Identifier: BSD-2-Clause
//
// 32-bit ARM (hard or soft float, ARM and Thumb code): register numbers, the frame of a signal.
//
// A call puts the return address into lr. Bit 0 of an address that code jumps to says whether Thumb code is
// there, and is no part of the address. Call-frame information is that of the exception-handling ABI
// (ehabi.h). The frame pointer of Thumb code is r7, that of ARM code r11: a rule knows r7, and frames found
// from r11 are left with all registers.
// Source: DWARF for the Arm Architecture (AADWARF32), "DWARF register names"; Linux uapi asm/sigcontext.h of
// arm, and its asm-generic/ucontext.h. Proof: tests/cross, against libgcc under qemu-user.
#ifndef SEEP_UNWIND_ARCH_ARM_H
#define SEEP_UNWIND_ARCH_ARM_H

#include <stdint.h>

#define SEEP_ARCH_DWARF_BP 7
#define SEEP_ARCH_DWARF_SP 13
#define SEEP_ARCH_DWARF_RA 14
#define SEEP_ARCH_NR_DWARF 16
#define SEEP_ARCH_WORD     4

// No convention makes frame records.
#define SEEP_ARCH_HAS_RECORDS     0
#define SEEP_ARCH_RECORD_GIVES_SP 0
#define SEEP_ARCH_RULE_HAS_RA     1

static inline uint64_t seep_arch_strip(uint64_t return_address) {
    return return_address & ~UINT64_C(1);
}

#endif
