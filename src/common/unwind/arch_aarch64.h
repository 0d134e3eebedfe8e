// SPDX-License-Identifier: BSD-2-Clause
//
// AArch64: register numbers, where the return address is, the frame of a signal.
//
// A call puts the return address into x30; a function that calls others saves it where it likes, so
// a rule has a field for it. It may be signed (pointer authentication): its upper bits are then a
// code that is no part of the address.
// Source: DWARF for the Arm 64-bit Architecture (AADWARF64), "DWARF register names"; AAPCS64 6.4.6,
// "The Frame Pointer"; Linux uapi asm/sigcontext.h and asm/ucontext.h of arm64 (the frame of a
// signal: siginfo, ucontext).
// Proof: tests/cross, against libgcc under qemu-user; tests/cross/rules.c.
#ifndef SEEP_UNWIND_ARCH_AARCH64_H
#define SEEP_UNWIND_ARCH_AARCH64_H

#include <stdint.h>

#include "unwind/calls_aarch64.h"

#define SEEP_ARCH_DWARF_BP 29
#define SEEP_ARCH_DWARF_RA 30
#define SEEP_ARCH_DWARF_SP 31
#define SEEP_ARCH_NR_DWARF 32
#define SEEP_ARCH_WORD     8

// A frame record says who called, but not where in its frame it lies: the caller's sp stays unknown.
#define SEEP_ARCH_RECORD_GIVES_SP 0

// A rule's three offsets, in words: cfa_offset 24 bits, bp_offset 16, ra_offset 16.
#define SEEP_ARCH_RULE_HAS_RA 1

// In the block of registers, by DWARF number: x0..x30, sp; then pc.
#define SEEP_ARCH_SIGNAL_BP_OFFSET (29 * 8)
#define SEEP_ARCH_SIGNAL_SP_OFFSET (31 * 8)
#define SEEP_ARCH_SIGNAL_PC_OFFSET (32 * 8)
static inline unsigned seep_arch_signal_reg_offset(unsigned reg) {
    return reg * 8;
}

// The trampoline to which a signal handler returns: `mov x8, #__NR_rt_sigreturn; svc #0`, 4-aligned.
// It is known by its code. In kernels since 5.8, in musl and in qemu it has no call-frame information;
// in older kernels it has a row that leads to the caller of the interrupted function and forgets that one.
#define SEEP_ARCH_SIGNAL_CODE_BYTES 8
#define SEEP_ARCH_SIGNAL_CODE_ALIGN 4

// From sp at the trampoline to the block of registers; -1: it is none. Siginfo (128 bytes), ucontext; in it
// uc_mcontext begins at 176 with the fault address.
static inline int seep_arch_signal_block(const void *code) {
    const uint32_t *words = (const uint32_t *)code;
    return words[0] == UINT32_C(0xd2801168) && words[1] == UINT32_C(0xd4000001) ? 128 + 176 + 8 : -1;
}

// The address without its authentication code. XPACLRI works on x30 alone, knows the address width
// that the kernel chose, and is a no-op on CPUs without the extension.
static inline uint64_t seep_arch_strip(uint64_t return_address) {
    register uint64_t x30 __asm__("x30") = return_address;
    __asm__("hint #7" : "+r"(x30)); // xpaclri
    return x30;
}

#define SEEP_ARCH_CALL_BYTES   SEEP_AARCH64_CALL_BYTES
#define seep_arch_follows_call seep_aarch64_follows_call

#endif
