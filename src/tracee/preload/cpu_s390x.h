// SPDX-License-Identifier: BSD-2-Clause
//
// On IBM Z (s390x), what cpu.h lists. Source: syscall(2), mmap(2); ELF ABI s390x Supplement 1.6; <elf.h>.
#ifndef SEEP_PRELOAD_CPU_S390X_H
#define SEEP_PRELOAD_CPU_S390X_H

#include <stdint.h>
#include <sys/syscall.h>

#include "core/attr.h"

// mmap takes its six arguments in memory.
SEEP_INLINE long sys6_real(long nr, long a, long b, long c, long d, long e, long f) {
    const long arguments[6] = {a, b, c, d, e, f};
    register long r1 __asm__("r1") = nr;
    register long r2 __asm__("r2") = nr == SYS_mmap ? (long)arguments : a;
    register long r3 __asm__("r3") = b;
    register long r4 __asm__("r4") = c;
    register long r5 __asm__("r5") = d;
    register long r6 __asm__("r6") = e;
    register long r7 __asm__("r7") = f;
    __asm__ volatile("svc 0"
                     : "+d"(r2)
                     : "d"(r1), "d"(r3), "d"(r4), "d"(r5), "d"(r6), "d"(r7)
                     : "memory", "cc");
    return r2;
}

SEEP_INLINE uint64_t sys_thread_pointer(void) {
    return (uint64_t)__builtin_thread_pointer();
}

SEEP_INLINE void cpu_pause(void) {
    __asm__ volatile("");
}

// The kernel maps higher only where a program asks for such an address.
#define CPU_ADDRESS_BITS 47
#define CPU_PAGE_BYTES   4096

// The hook saves r11, its own frame pointer, where the convention says.
#define CPU_HOOK_BP() (((const uint64_t *)__builtin_dwarf_cfa())[(-160 + 11 * 8) / 8])

// DWARF numbers: 6 to 15 are r6..r15, 24 to 31 f8, f10, f12, f14, f9, f11, f13, f15.
#define CPU_OWN_REGISTERS (UINT64_C(0x3ff) << 6 | UINT64_C(0xff) << 24)
SEEP_INLINE uint64_t cpu_own_registers(uint64_t *value) {
    uint64_t pc;
    __asm__ volatile("stmg %%r6, %%r15, 6*8(%1)\n\t"
                     "std %%f8, 24*8(%1)\n\t"
                     "std %%f10, 25*8(%1)\n\t"
                     "std %%f12, 26*8(%1)\n\t"
                     "std %%f14, 27*8(%1)\n\t"
                     "std %%f9, 28*8(%1)\n\t"
                     "std %%f11, 29*8(%1)\n\t"
                     "std %%f13, 30*8(%1)\n\t"
                     "std %%f15, 31*8(%1)\n\t"
                     "larl %0, ."
                     : "=&d"(pc)
                     : "a"(value)
                     : "memory");
    return pc;
}

#define CPU_VDSO_CLOCK   "__kernel_clock_gettime"
#define CPU_GLIBC_OLDEST "GLIBC_2.2"

#define CPU_R_SLOT   R_390_JMP_SLOT
#define CPU_R_GLOBAL R_390_GLOB_DAT
#define CPU_R_WORD   R_390_64

#define CPU_DESCRIPTOR_FROM 0
#define CPU_DESCRIPTOR_TO   2304
#define CPU_GLIBC_TID       0

#endif
