// SPDX-License-Identifier: BSD-2-Clause
//
// IBM Z (s390x): register numbers, the area where a function saves registers, the frames of signals.
//
// A call puts the return address into r14. A caller reserves 160 bytes at its sp in which its callee saves
// registers. The CFA is above them, so it is not the caller's sp. A function that calls others saves r14 and
// r15 there. A leaf function may keep r14 where it is, or in a floating-point register. Frames of code
// without call-frame information have no links. Source: ELF Application Binary Interface s390x
// Supplement 1.6, 1.2 "Low-level ABI" (register save area, DWARF numbers); Linux uapi asm/sigcontext.h and
// asm/ucontext.h of s390 (the frame of a signal). Proof: tests/cross, against libgcc under qemu-user.
#ifndef SEEP_UNWIND_ARCH_S390X_H
#define SEEP_UNWIND_ARCH_S390X_H

#include <stdint.h>

#include "unwind/calls_s390x.h"

#define SEEP_ARCH_DWARF_BP 11
#define SEEP_ARCH_DWARF_RA 14
#define SEEP_ARCH_DWARF_SP 15
#define SEEP_ARCH_NR_DWARF 32 // r0..r15, and from 16 on the floating-point registers in an order of their own
#define SEEP_ARCH_WORD     8

#define SEEP_ARCH_HAS_RECORDS     0
#define SEEP_ARCH_RECORD_GIVES_SP 0
#define SEEP_ARCH_RULE_HAS_RA     1
#define SEEP_ARCH_SP_BELOW_CFA    160
#define SEEP_ARCH_SP_SLOT         (-160 + 15 * 8) // where a function saves its caller's sp, from the CFA

// The trampoline to which a signal handler returns: `svc sigreturn` of a plain handler, `svc rt_sigreturn`
// of one that asked for siginfo; on the stack, in the vdso or the emulator's own.
#define SEEP_ARCH_SIGNAL_CODE_BYTES 2
#define SEEP_ARCH_SIGNAL_CODE_ALIGN 2

// From sp at the trampoline to the block of registers; -1: it is none. Plain: the save area, the mask, a
// pointer to the block. With siginfo: the save area, room for the code, siginfo, five words of the ucontext.
static inline int seep_arch_signal_block(const void *code) {
    const unsigned char *bytes = (const unsigned char *)code;
    return bytes[0] != 0x0a ? -1 : bytes[1] == 119 ? 160 + 16 : bytes[1] == 173 ? 160 + 8 + 128 + 40 : -1;
}

// In the block: the mask and the address of the PSW, r0..r15, the access registers, the control word of
// floating point, f0..f15.
#define SEEP_ARCH_SIGNAL_PC_OFFSET 8
#define SEEP_ARCH_SIGNAL_BP_OFFSET (16 + SEEP_ARCH_DWARF_BP * 8)
#define SEEP_ARCH_SIGNAL_SP_OFFSET (16 + SEEP_ARCH_DWARF_SP * 8)
static inline unsigned seep_arch_signal_reg_offset(unsigned reg) {
    static const unsigned char floating[16] = {0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15};
    return reg < 16 ? 16 + reg * 8 : 16 + 16 * 8 + 16 * 4 + 8 + floating[reg - 16] * 8u;
}

static inline uint64_t seep_arch_strip(uint64_t return_address) {
    return return_address; // never signed
}

#define SEEP_ARCH_CALL_BYTES   SEEP_S390X_CALL_BYTES
#define seep_arch_follows_call seep_s390x_follows_call

#endif
