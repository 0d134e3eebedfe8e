// SPDX-License-Identifier: BSD-2-Clause
//
// x86-64: register numbers, the frame of a signal, where a hook's caller is.
// Source: System V ABI AMD64 1.0, figure 3.36 (DWARF numbers); Linux uapi asm/sigcontext.h,
// asm/ucontext.h (struct ucontext: sp at the frame's return address slot when the handler returns).
#ifndef SEEP_UNWIND_ARCH_X86_64_H
#define SEEP_UNWIND_ARCH_X86_64_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/calls_x86.h"

#define SEEP_ARCH_DWARF_BP  6
#define SEEP_ARCH_DWARF_SP  7
#define SEEP_ARCH_DWARF_PC  16
#define SEEP_ARCH_NR_DWARF  17
#define SEEP_ARCH_WORD      8
#define SEEP_ARCH_FAST_WALK 1 // the return address is at CFA - 8 and never signed

// Below a frame record (bp, return address) lies nothing that its function still has to pop.
#define SEEP_ARCH_RECORD_GIVES_SP 1

static inline uint64_t seep_arch_strip(uint64_t return_address) {
    return return_address; // never signed
}

// From sp at __restore_rt (sp points to the ucontext): uc_mcontext begins at 40; the general
// registers follow in the order r8..r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip.
#define SEEP_ARCH_SIGNAL_BP_OFFSET (40 + 10 * 8)
#define SEEP_ARCH_SIGNAL_SP_OFFSET (40 + 15 * 8)
#define SEEP_ARCH_SIGNAL_PC_OFFSET (40 + 16 * 8)

// Boost.Context makes the first function of a stack return to this code: xor %rdi,%rdi; call _exit; hlt.
#define SEEP_ARCH_EXIT_CODE_BYTES 9
static inline bool seep_arch_is_exit_code(const uint8_t *code) {
    return code[0] == 0x48 && code[1] == 0x31 && code[2] == 0xff && code[3] == 0xe8 && code[8] == 0xf4;
}

#define SEEP_ARCH_CALL_BYTES   SEEP_X86_CALL_BYTES
#define seep_arch_follows_call seep_x86_follows_call

#endif
