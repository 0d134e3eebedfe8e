// SPDX-License-Identifier: BSD-2-Clause
//
// 64-bit Power, ELFv2 (ppc64le) and ELFv1 (ppc64): register numbers, the frame of a signal.
//
// A call puts the return address into the link register. The CFA is the caller's sp; a function that calls
// others saves the link register there, 16 bytes above it, in its caller's frame. A word at sp, the back
// chain, leads to the caller's frame, also in code without call-frame information; the walk does not follow
// it.
// Source: OpenPOWER ELF V2 ABI Specification 1.5, 2.2.2 "The Stack Frame", 2.4 "DWARF Definition"; 64-bit
// PowerPC ELF ABI Supplement 1.9, 3.2.2 "The Stack Frame" (ELFv1); Linux uapi asm/sigcontext.h and
// asm/ucontext.h of powerpc. Proof: tests/cross, against libgcc under qemu-user.
#ifndef SEEP_UNWIND_ARCH_PPC64_H
#define SEEP_UNWIND_ARCH_PPC64_H

#include <stdint.h>

#include "unwind/calls_ppc64.h"

#define SEEP_ARCH_DWARF_SP 1
#define SEEP_ARCH_DWARF_BP 31
#define SEEP_ARCH_DWARF_RA 32 // in the place of a floating-point register
#define SEEP_ARCH_NR_DWARF 33
#define SEEP_ARCH_WORD     8

// DWARF number 65, the link register, becomes SEEP_ARCH_DWARF_RA. The registers between are not kept.
static inline uint64_t seep_arch_fold_register(uint64_t reg) {
    return reg == 65 ? SEEP_ARCH_DWARF_RA : reg < SEEP_ARCH_DWARF_RA ? reg : UINT64_MAX;
}
#define SEEP_ARCH_FOLDS_REGISTERS 1

#define SEEP_ARCH_HAS_RECORDS     0
#define SEEP_ARCH_RECORD_GIVES_SP 0
#define SEEP_ARCH_RULE_HAS_RA     1
#define SEEP_ARCH_START_BYTES     128

// The trampoline to which a signal handler returns: `addi r1, r1, 128; li r0, rt_sigreturn; sc` of the
// kernel; that of qemu has no addi.
#define SEEP_ARCH_SIGNAL_CODE_BYTES 8
#define SEEP_ARCH_SIGNAL_CODE_ALIGN 4

// Bytes from sp at the trampoline to the saved registers; -1: this is no trampoline. There is a frame of 128
// bytes (of qemu 144), then the ucontext, whose gp_regs begin at 232.
static inline int seep_arch_signal_block(const void *code) {
    const uint32_t *words = (const uint32_t *)code;
    const uint32_t li = UINT32_C(0x380000ac), sc = UINT32_C(0x44000002);
    if (words[0] == li && words[1] == sc)
        return 144 + 232;
    return words[0] == UINT32_C(0x38210080) && words[1] == li ? 128 + 232 : -1;
}

// In the block: r0..r31, pc, three that are not kept, the link register.
#define SEEP_ARCH_SIGNAL_PC_OFFSET (32 * 8)
#define SEEP_ARCH_SIGNAL_BP_OFFSET (SEEP_ARCH_DWARF_BP * 8)
#define SEEP_ARCH_SIGNAL_SP_OFFSET (SEEP_ARCH_DWARF_SP * 8)
static inline unsigned seep_arch_signal_reg_offset(unsigned reg) {
    return (reg == SEEP_ARCH_DWARF_RA ? 36 : reg) * 8;
}

// Where glibc's clone called the first function of a thread: `ld r2, 24(r1); li r0, exit; sc`, in ELFv1
// `ld r2, 40(r1)`. It has no call-frame information.
#define SEEP_ARCH_START_CODE_BYTES 12
#if _CALL_ELF == 2
#define SEEP_ARCH_START_LOAD UINT32_C(0xe8410018)
#else
#define SEEP_ARCH_START_LOAD UINT32_C(0xe8410028)
#endif
static inline _Bool seep_arch_is_start_code(const uint8_t *code) {
    const uint32_t *words = (const uint32_t *)(const void *)code;
    return words[0] == SEEP_ARCH_START_LOAD && words[1] == UINT32_C(0x38000001) &&
           words[2] == UINT32_C(0x44000002);
}

static inline uint64_t seep_arch_strip(uint64_t return_address) {
    return return_address; // never signed
}

#define SEEP_ARCH_CALL_BYTES   SEEP_PPC64_CALL_BYTES
#define seep_arch_follows_call seep_ppc64_follows_call

#endif
