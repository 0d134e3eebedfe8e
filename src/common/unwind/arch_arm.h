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

#include "unwind/calls_arm.h"

#define SEEP_ARCH_DWARF_BP 7
#define SEEP_ARCH_DWARF_SP 13
#define SEEP_ARCH_DWARF_RA 14
#define SEEP_ARCH_NR_DWARF 16
#define SEEP_ARCH_WORD     4

// No convention makes frame records.
#define SEEP_ARCH_HAS_RECORDS     0
#define SEEP_ARCH_RECORD_GIVES_SP 0
#define SEEP_ARCH_RULE_HAS_RA     1

// Call-frame information is .ARM.exidx.
#define SEEP_ARCH_EHABI 1

// The trampolines to which a signal handler returns: r7 is the number of sigreturn or of rt_sigreturn, then a
// system call; in libc, in the kernel's [sigpage], or in the frame itself.
#define SEEP_ARCH_SIGNAL_CODE_BYTES 8
#define SEEP_ARCH_SIGNAL_CODE_ALIGN 2

// The number that code puts into r7 for a system call that follows; -1: it does not. ARM, Thumb with 32 bits,
// Thumb with 16; kernels that still have the old interface repeat the number in the ARM instruction.
static inline int seep_arch_number_called(const void *code) {
    const uint16_t *at = (const uint16_t *)code;
    if ((at[0] & 0xff00) == 0x7000 && at[1] == 0xe3a0 && (at[3] & 0xff00) == 0xef00)
        return at[0] & 0xff;
    if (at[0] == 0xf04f && (at[1] & 0xff00) == 0x0700 && at[2] == 0xdf00)
        return at[1] & 0xff;
    return (at[0] & 0xff00) == 0x2700 && at[1] == 0xdf00 ? at[0] & 0xff : -1;
}

// From sp at the trampoline to the block of registers; -1: it is none. Siginfo (128 bytes) where it is
// rt_sigreturn, ucontext; in it uc_mcontext begins at 20 with three other words.
static inline int seep_arch_signal_block(const void *code) {
    int called = seep_arch_number_called(code);
    return called == 173 ? 128 + 32 : called == 119 ? 32 : -1;
}

// In the block: r0..r15.
#define SEEP_ARCH_SIGNAL_PC_OFFSET (15 * 4)
#define SEEP_ARCH_SIGNAL_BP_OFFSET (SEEP_ARCH_DWARF_BP * 4)
#define SEEP_ARCH_SIGNAL_SP_OFFSET (SEEP_ARCH_DWARF_SP * 4)
static inline unsigned seep_arch_signal_reg_offset(unsigned reg) {
    return reg * 4;
}

// The code of libc that a thread's first function returns to, which calls _exit; and that which a function of
// makecontext returns to: movs r0, r4; bne setcontext; b exit.
#define SEEP_ARCH_START_CODE_BYTES 12
static inline _Bool seep_arch_is_start_code(const uint8_t *code) {
    const uint16_t *at = (const uint16_t *)code;
    return seep_arch_number_called(code) == 1 ||
           (at[0] == 0x0004 && at[1] == 0xe1b0 && at[3] >> 8 == 0x1a && at[5] >> 8 == 0xea);
}

// The first function of a thread, in libc, has no call-frame information.
#define SEEP_ARCH_BARE_THREAD_START 1

// A return address without the bit that says Thumb.
static inline uint64_t seep_arch_strip(uint64_t return_address) {
    return return_address & ~UINT64_C(1);
}

#define SEEP_ARCH_CALL_BYTES   SEEP_ARM_CALL_BYTES
#define seep_arch_follows_call seep_arm_follows_call

#endif
