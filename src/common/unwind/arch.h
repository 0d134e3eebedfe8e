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
#elif defined(__arm__)
#include "unwind/arch_arm.h"
#elif defined(__i386__)
#include "unwind/arch_i386.h"
#elif defined(__riscv) && __riscv_xlen == 64
#include "unwind/arch_riscv64.h"
#elif defined(__powerpc64__)
#include "unwind/arch_ppc64.h"
#elif defined(__mips64) && _MIPS_SIM == _ABI64
#include "unwind/arch_mips64.h"
#elif defined(__s390x__)
#include "unwind/arch_s390x.h"
#else
#include <stdint.h>
#define SEEP_ARCH_WORD            __SIZEOF_POINTER__
#define SEEP_ARCH_RECORD_GIVES_SP 0
#define SEEP_ARCH_CALL_BYTES      0
static inline uint64_t seep_arch_strip(uint64_t return_address) {
    return return_address;
}
static inline _Bool seep_arch_follows_call(uint64_t address) {
    (void)address;
    return 0;
}
#endif

// A word of a stack, as it lies there; everywhere else addresses have 64 bits.
typedef uintptr_t seep_stack_word;

// Whether code keeps frame records (the caller's frame pointer, the return address) when it keeps a frame
// pointer. With records the walk can leave code without call-frame information.
#ifndef SEEP_ARCH_HAS_RECORDS
#define SEEP_ARCH_HAS_RECORDS 1
#endif

// The number under which rules keep a DWARF register. Rules keep only numbers below SEEP_CFI_NR_REGS.
#ifndef SEEP_ARCH_FOLDS_REGISTERS
static inline uint64_t seep_arch_fold_register(uint64_t reg) {
    return reg;
}
#endif

// How many bytes the caller's sp is below the CFA.
#ifndef SEEP_ARCH_SP_BELOW_CFA
#define SEEP_ARCH_SP_BELOW_CFA 0
#endif

// Stack bytes that a program's entry point (_start) takes for its callee.
#ifndef SEEP_ARCH_START_BYTES
#define SEEP_ARCH_START_BYTES SEEP_ARCH_SP_BELOW_CFA
#endif

#endif
