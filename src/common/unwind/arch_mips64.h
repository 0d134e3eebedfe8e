// SPDX-License-Identifier: BSD-2-Clause
//
// 64-bit MIPS, the N64 ABI: register numbers, the frame of a signal.
//
// A call puts the return address into ra ($31). The CFA is the caller's sp; a function that calls others
// saves ra below it, usually in the highest word of its frame. $30 is the frame pointer where there is one.
// Source: MIPSpro 64-Bit Porting and Transition Guide, "Calling Convention"; Linux uapi asm/sigcontext.h and
// asm/ucontext.h of mips; arch/mips/kernel/signal.c, struct rt_sigframe. Proof: tests/cross, against libgcc
// under qemu-user.
#ifndef SEEP_UNWIND_ARCH_MIPS64_H
#define SEEP_UNWIND_ARCH_MIPS64_H

#include <stdint.h>

#include "unwind/calls_mips64.h"

#define SEEP_ARCH_DWARF_SP 29
#define SEEP_ARCH_DWARF_BP 30
#define SEEP_ARCH_DWARF_RA 31
#define SEEP_ARCH_NR_DWARF 32
#define SEEP_ARCH_WORD     8

#define SEEP_ARCH_HAS_RECORDS     0
#define SEEP_ARCH_RECORD_GIVES_SP 0
#define SEEP_ARCH_RULE_HAS_RA     1

// The trampoline to which a signal handler returns: `li v0, rt_sigreturn; syscall`.
#define SEEP_ARCH_SIGNAL_CODE_BYTES 8
#define SEEP_ARCH_SIGNAL_CODE_ALIGN 4

// From sp at the trampoline to the block of registers; -1: it is none. Six words of 32 bits, siginfo (128
// bytes), ucontext; in it the registers begin at 40.
static inline int seep_arch_signal_block(const void *code) {
    const uint32_t *words = (const uint32_t *)code;
    return words[0] == UINT32_C(0x2402145b) && words[1] == UINT32_C(0x0000000c) ? 24 + 128 + 40 : -1;
}

// In the block: $0..$31, 32 floating-point registers, the eight halves of products; then pc.
#define SEEP_ARCH_SIGNAL_PC_OFFSET (72 * 8)
#define SEEP_ARCH_SIGNAL_BP_OFFSET (SEEP_ARCH_DWARF_BP * 8)
#define SEEP_ARCH_SIGNAL_SP_OFFSET (SEEP_ARCH_DWARF_SP * 8)
static inline unsigned seep_arch_signal_reg_offset(unsigned reg) {
    return reg * 8;
}

static inline uint64_t seep_arch_strip(uint64_t return_address) {
    return return_address; // never signed
}

#define SEEP_ARCH_CALL_BYTES   SEEP_MIPS64_CALL_BYTES
#define seep_arch_follows_call seep_mips64_follows_call

#endif
