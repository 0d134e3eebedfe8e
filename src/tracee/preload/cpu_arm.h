// SPDX-License-Identifier: BSD-2-Clause
//
// On 32-bit ARM, what cpu.h lists. The library is compiled so that r7, the frame pointer of Thumb code, is
// never its own (meson.build): in each of its functions r7 has what the program left there.
// Source: syscall(2); AAPCS32; <elf.h>.
#ifndef SEEP_PRELOAD_CPU_ARM_H
#define SEEP_PRELOAD_CPU_ARM_H

#include <stdint.h>
#include <sys/syscall.h>

#include "core/attr.h"

SEEP_INLINE long sys6_real(long nr, long a, long b, long c, long d, long e, long f) {
    register long r0 __asm__("r0") = a;
    register long r1 __asm__("r1") = b;
    register long r2 __asm__("r2") = c;
    register long r3 __asm__("r3") = d;
    register long r4 __asm__("r4") = e;
    register long r5 __asm__("r5") = f;
    __asm__ volatile("mov ip, r7\n\t"
                     "mov r7, %1\n\t"
                     "svc 0\n\t"
                     "mov r7, ip"
                     : "+r"(r0)
                     : "r"(nr), "r"(r1), "r"(r2), "r"(r3), "r"(r4), "r"(r5)
                     : "ip", "memory");
    return r0;
}

SEEP_INLINE uint64_t sys_thread_pointer(void) {
    return (uintptr_t)__builtin_thread_pointer();
}

SEEP_INLINE void cpu_pause(void) {
    __asm__ volatile("");
}

#define CPU_ADDRESS_BITS 32
#define CPU_PAGE_BYTES   4096

// The r7 of the program.
SEEP_INLINE uint64_t cpu_hook_bp(void) {
    uintptr_t r7;
    __asm__("mov %0, r7" : "=r"(r7));
    return r7;
}
#define CPU_HOOK_BP() cpu_hook_bp()
#define CPU_FRAME()   ((uintptr_t)__builtin_dwarf_cfa())

// DWARF numbers are the registers' own: r4..r11, and 13 is sp.
#define CPU_OWN_REGISTERS (0xffu << 4 | 1u << 13)
SEEP_INLINE uint64_t cpu_own_registers(uint64_t *value) {
    uint32_t pc;
    for (int i = 4; i <= 13; i++)
        value[i] = 0; // their upper halves
    __asm__ volatile("str r4, [%1, #4 * 8]\n\t"
                     "str r5, [%1, #5 * 8]\n\t"
                     "str r6, [%1, #6 * 8]\n\t"
                     "str r7, [%1, #7 * 8]\n\t"
                     "str r8, [%1, #8 * 8]\n\t"
                     "str r9, [%1, #9 * 8]\n\t"
                     "str r10, [%1, #10 * 8]\n\t"
                     "str r11, [%1, #11 * 8]\n\t"
                     "str sp, [%1, #13 * 8]\n\t"
                     "mov %0, pc"
                     : "=&r"(pc)
                     : "r"(value)
                     : "memory");
    return pc;
}

#define CPU_VDSO_CLOCK   "__vdso_clock_gettime"
#define CPU_GLIBC_OLDEST "GLIBC_2.4"

#define CPU_R_SLOT   R_ARM_JUMP_SLOT
#define CPU_R_GLOBAL R_ARM_GLOB_DAT
#define CPU_R_WORD   R_ARM_ABS32

#define CPU_DESCRIPTOR_FROM (-1280)
#define CPU_DESCRIPTOR_TO   0
#define CPU_GLIBC_TID       0

#endif
