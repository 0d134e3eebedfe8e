// SPDX-License-Identifier: BSD-2-Clause
//
// On AArch64, what cpu.h lists. Source: syscall(2); AAPCS64; <elf.h>.
#ifndef SEEP_PRELOAD_CPU_AARCH64_H
#define SEEP_PRELOAD_CPU_AARCH64_H

#include <stdint.h>
#include <sys/syscall.h>

#include "core/attr.h"

SEEP_INLINE long sys6_real(long nr, long a, long b, long c, long d, long e, long f) {
    register long x8 __asm__("x8") = nr;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
}

SEEP_INLINE uint64_t sys_thread_pointer(void) {
    uint64_t pointer;
    __asm__("mrs %0, tpidr_el0" : "=r"(pointer));
    return pointer;
}

SEEP_INLINE void cpu_pause(void) {
    __asm__ volatile("");
}

// With 52-bit addresses (LVA) the kernel still stays below 2^48 unless asked for more.
#define CPU_ADDRESS_BITS 48

// DWARF numbers are the registers' own; 31 is sp.
#define CPU_OWN_REGISTERS (0x1fffu << 19)
SEEP_INLINE uint64_t cpu_own_registers(uint64_t *value) {
    uint64_t pc;
    __asm__ volatile("stp x19, x20, [%1, #19 * 8]\n\t"
                     "stp x21, x22, [%1, #21 * 8]\n\t"
                     "stp x23, x24, [%1, #23 * 8]\n\t"
                     "stp x25, x26, [%1, #25 * 8]\n\t"
                     "stp x27, x28, [%1, #27 * 8]\n\t"
                     "stp x29, x30, [%1, #29 * 8]\n\t"
                     "mov %0, sp\n\t"
                     "str %0, [%1, #31 * 8]\n\t"
                     "adr %0, ."
                     : "=&r"(pc)
                     : "r"(value)
                     : "memory");
    return pc;
}

#define CPU_VDSO_CLOCK   "__kernel_clock_gettime"
#define CPU_GLIBC_OLDEST "GLIBC_2.17"

#define CPU_R_SLOT   R_AARCH64_JUMP_SLOT
#define CPU_R_GLOBAL R_AARCH64_GLOB_DAT
#define CPU_R_WORD   R_AARCH64_ABS64

#define CPU_DESCRIPTOR_FROM (-2304)
#define CPU_DESCRIPTOR_TO   0
#define CPU_GLIBC_TID       0

#endif
