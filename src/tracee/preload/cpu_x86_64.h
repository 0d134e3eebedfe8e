// SPDX-License-Identifier: BSD-2-Clause
//
// On x86-64, what cpu.h lists. Source: syscall(2); System V ABI AMD64 1.0; <elf.h>.
#ifndef SEEP_PRELOAD_CPU_X86_64_H
#define SEEP_PRELOAD_CPU_X86_64_H

#include <stdint.h>
#include <sys/syscall.h>

#include "core/attr.h"

SEEP_INLINE long sys6_real(long nr, long a, long b, long c, long d, long e, long f) {
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

SEEP_INLINE uint64_t sys_thread_pointer(void) {
    uint64_t pointer;
    __asm__("mov %%fs:0, %0" : "=r"(pointer));
    return pointer;
}

SEEP_INLINE void cpu_pause(void) {
    __builtin_ia32_pause();
}

#define CPU_ADDRESS_BITS 47
#define CPU_PAGE_BYTES   4096

// DWARF numbers: 3 rbx, 6 rbp, 7 rsp, 12..15 r12..r15.
#define CPU_OWN_REGISTERS (1u << 3 | 1u << 6 | 1u << 7 | 0xfu << 12)
SEEP_INLINE uint64_t cpu_own_registers(uint64_t *value) {
    uint64_t pc;
    __asm__ volatile("movq %%rbx, 24(%1)\n\t"
                     "movq %%rbp, 48(%1)\n\t"
                     "movq %%rsp, 56(%1)\n\t"
                     "movq %%r12, 96(%1)\n\t"
                     "movq %%r13, 104(%1)\n\t"
                     "movq %%r14, 112(%1)\n\t"
                     "movq %%r15, 120(%1)\n\t"
                     "leaq 0(%%rip), %0"
                     : "=&r"(pc)
                     : "r"(value)
                     : "memory");
    return pc;
}

#define CPU_VDSO_CLOCK   "__vdso_clock_gettime"
#define CPU_GLIBC_OLDEST "GLIBC_2.2.5"

#define CPU_R_SLOT   R_X86_64_JUMP_SLOT
#define CPU_R_GLOBAL R_X86_64_GLOB_DAT
#define CPU_R_WORD   R_X86_64_64

#define CPU_DESCRIPTOR_FROM 0
#define CPU_DESCRIPTOR_TO   2304
#define CPU_GLIBC_TID       720

#endif
