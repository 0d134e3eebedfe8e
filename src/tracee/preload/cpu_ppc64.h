// SPDX-License-Identifier: BSD-2-Clause
//
// On 64-bit Power (ppc64le, ppc64), what cpu.h lists. Source: syscall(2); OpenPOWER ELF V2 ABI 1.5; <elf.h>.
#ifndef SEEP_PRELOAD_CPU_PPC64_H
#define SEEP_PRELOAD_CPU_PPC64_H

#include <stdint.h>
#include <sys/syscall.h>

#include "core/attr.h"

// The kernel reports an error by a bit of the condition register (summary overflow).
SEEP_INLINE long sys6_real(long nr, long a, long b, long c, long d, long e, long f) {
    register long r0 __asm__("r0") = nr;
    register long r3 __asm__("r3") = a;
    register long r4 __asm__("r4") = b;
    register long r5 __asm__("r5") = c;
    register long r6 __asm__("r6") = d;
    register long r7 __asm__("r7") = e;
    register long r8 __asm__("r8") = f;
    __asm__ volatile("sc\n\t"
                     "bns+ 1f\n\t"
                     "neg 3, 3\n"
                     "1:"
                     : "+r"(r0), "+r"(r3), "+r"(r4), "+r"(r5), "+r"(r6), "+r"(r7), "+r"(r8)
                     :
                     : "r9", "r10", "r11", "r12", "ctr", "xer", "cr0", "memory");
    return r3;
}

SEEP_INLINE uint64_t sys_thread_pointer(void) {
    uint64_t value;
    __asm__("mr %0, 13" : "=r"(value));
    return value;
}

SEEP_INLINE void cpu_pause(void) {
    __asm__ volatile("or 27, 27, 27");
}

// The kernel maps above only where a program asks for such an address. Pages have 4 or 64 KiB.
#define CPU_ADDRESS_BITS 47

// The hook saves r31, its own frame pointer, right below the CFA.
#define CPU_HOOK_BP() (((const uint64_t *)__builtin_dwarf_cfa())[-1])

// DWARF numbers are the registers' own: 1 is sp, 14 to 31 are preserved.
#define CPU_OWN_REGISTERS (UINT64_C(1) << 1 | UINT64_C(0x3ffff) << 14)
SEEP_INLINE uint64_t cpu_own_registers(uint64_t *value) {
    uint64_t pc;
    __asm__ volatile("std 1, 1*8(%1)\n\t"
                     "std 14, 14*8(%1)\n\t"
                     "std 15, 15*8(%1)\n\t"
                     "std 16, 16*8(%1)\n\t"
                     "std 17, 17*8(%1)\n\t"
                     "std 18, 18*8(%1)\n\t"
                     "std 19, 19*8(%1)\n\t"
                     "std 20, 20*8(%1)\n\t"
                     "std 21, 21*8(%1)\n\t"
                     "std 22, 22*8(%1)\n\t"
                     "std 23, 23*8(%1)\n\t"
                     "std 24, 24*8(%1)\n\t"
                     "std 25, 25*8(%1)\n\t"
                     "std 26, 26*8(%1)\n\t"
                     "std 27, 27*8(%1)\n\t"
                     "std 28, 28*8(%1)\n\t"
                     "std 29, 29*8(%1)\n\t"
                     "std 30, 30*8(%1)\n\t"
                     "std 31, 31*8(%1)\n\t"
                     "bcl 20, 31, 1f\n"
                     "1:\n\t"
                     "mflr %0"
                     : "=&r"(pc)
                     : "b"(value)
                     : "memory", "lr");
    return pc;
}

#define CPU_VDSO_CLOCK "__kernel_clock_gettime"
#if _CALL_ELF == 2
#define CPU_GLIBC_OLDEST "GLIBC_2.17"
#else
#define CPU_GLIBC_OLDEST "GLIBC_2.3"
#endif

#if _CALL_ELF != 2
#define CPU_SLOT_WORDS 3u
#endif
#define CPU_R_SLOT   R_PPC64_JMP_SLOT
#define CPU_R_GLOBAL R_PPC64_GLOB_DAT
#define CPU_R_WORD   R_PPC64_ADDR64

// The thread pointer is 0x7000 above the end of the descriptor.
#define CPU_DESCRIPTOR_FROM (-0x7000 - 2560)
#define CPU_DESCRIPTOR_TO   (-0x7000)
#define CPU_GLIBC_TID       0

#endif
