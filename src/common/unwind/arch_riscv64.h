// SPDX-License-Identifier: BSD-2-Clause
//
// 64-bit RISC-V: register numbers, the frame of a signal.
//
// A call puts the return address into ra (x1). A function that calls others saves ra at an address of its
// choice. Source: RISC-V ELF psABI 1.0, "DWARF register numbers"; Linux uapi asm/sigcontext.h and
// asm/ucontext.h of riscv. Proof: tests/cross, against libgcc under qemu-user.
#ifndef SEEP_UNWIND_ARCH_RISCV64_H
#define SEEP_UNWIND_ARCH_RISCV64_H

#include <stdint.h>

#include "unwind/calls_riscv64.h"

#define SEEP_ARCH_DWARF_RA 1
#define SEEP_ARCH_DWARF_SP 2
#define SEEP_ARCH_DWARF_BP 8
#define SEEP_ARCH_NR_DWARF 32
#define SEEP_ARCH_WORD     8

// A frame record lies below the address in its pointer, and little code has one.
#define SEEP_ARCH_HAS_RECORDS     0
#define SEEP_ARCH_RECORD_GIVES_SP 0
#define SEEP_ARCH_RULE_HAS_RA     1

// The trampoline to which a signal handler returns: `li a7, rt_sigreturn; ecall`.
#define SEEP_ARCH_SIGNAL_CODE_BYTES 8
#define SEEP_ARCH_SIGNAL_CODE_ALIGN 4

// From sp at the trampoline to the block of registers; -1: it is none. Siginfo (128 bytes), ucontext; in it
// uc_mcontext begins at 176.
static inline int seep_arch_signal_block(const void *code) {
    const uint32_t *words = (const uint32_t *)code;
    return words[0] == UINT32_C(0x08b00893) && words[1] == UINT32_C(0x00000073) ? 128 + 176 : -1;
}

// In the block: pc, in the place of x0; x1..x31.
#define SEEP_ARCH_SIGNAL_PC_OFFSET 0
#define SEEP_ARCH_SIGNAL_BP_OFFSET (SEEP_ARCH_DWARF_BP * 8)
#define SEEP_ARCH_SIGNAL_SP_OFFSET (SEEP_ARCH_DWARF_SP * 8)
static inline unsigned seep_arch_signal_reg_offset(unsigned reg) {
    return reg * 8;
}

static inline uint64_t seep_arch_strip(uint64_t return_address) {
    return return_address; // never signed
}

#define SEEP_ARCH_CALL_BYTES   SEEP_RISCV64_CALL_BYTES
#define seep_arch_follows_call seep_riscv64_follows_call

#endif
