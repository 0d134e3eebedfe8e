// SPDX-License-Identifier: BSD-2-Clause
//
// On 64-bit RISC-V, what cpu.h lists. Source: syscall(2); RISC-V ELF psABI 1.0; <elf.h>.
#ifndef SEEP_PRELOAD_CPU_RISCV64_H
#define SEEP_PRELOAD_CPU_RISCV64_H

#include <stdint.h>
#include <sys/syscall.h>

#include "core/attr.h"

SEEP_INLINE long sys6_real(long nr, long a, long b, long c, long d, long e, long f) {
    register long a7 __asm__("a7") = nr;
    register long a0 __asm__("a0") = a;
    register long a1 __asm__("a1") = b;
    register long a2 __asm__("a2") = c;
    register long a3 __asm__("a3") = d;
    register long a4 __asm__("a4") = e;
    register long a5 __asm__("a5") = f;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a7), "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5) : "memory");
    return a0;
}

SEEP_INLINE uint64_t sys_thread_pointer(void) {
    return (uint64_t)__builtin_thread_pointer();
}

SEEP_INLINE void cpu_pause(void) {
    __asm__ volatile("");
}

// With five levels of page tables the kernel still stays below 2^47 unless asked for more.
#define CPU_ADDRESS_BITS 47
#define CPU_PAGE_BYTES   4096

// The hook saves s0, its own frame pointer, right below the return address.
#define CPU_HOOK_BP() (((const uint64_t *)__builtin_dwarf_cfa())[-2])

// DWARF numbers are the registers' own: 2 is sp, 8, 9 and 18 to 27 are s0..s11.
#define CPU_OWN_REGISTERS (1u << 2 | 3u << 8 | 0x3ffu << 18)
SEEP_INLINE uint64_t cpu_own_registers(uint64_t *value) {
    uint64_t pc;
    __asm__ volatile("sd sp, 2*8(%1)\n\t"
                     "sd s0, 8*8(%1)\n\t"
                     "sd s1, 9*8(%1)\n\t"
                     "sd s2, 18*8(%1)\n\t"
                     "sd s3, 19*8(%1)\n\t"
                     "sd s4, 20*8(%1)\n\t"
                     "sd s5, 21*8(%1)\n\t"
                     "sd s6, 22*8(%1)\n\t"
                     "sd s7, 23*8(%1)\n\t"
                     "sd s8, 24*8(%1)\n\t"
                     "sd s9, 25*8(%1)\n\t"
                     "sd s10, 26*8(%1)\n\t"
                     "sd s11, 27*8(%1)\n\t"
                     "auipc %0, 0"
                     : "=&r"(pc)
                     : "r"(value)
                     : "memory");
    return pc;
}

#define CPU_VDSO_CLOCK   "__vdso_clock_gettime"
#define CPU_GLIBC_OLDEST "GLIBC_2.27"

// Words of the global offset table are bound as any other word.
#define CPU_R_SLOT   R_RISCV_JUMP_SLOT
#define CPU_R_GLOBAL R_RISCV_JUMP_SLOT
#define CPU_R_WORD   R_RISCV_64

#define CPU_DESCRIPTOR_FROM (-2304)
#define CPU_DESCRIPTOR_TO   0
#define CPU_GLIBC_TID       0

#endif
