// SPDX-License-Identifier: BSD-2-Clause
//
// On i386, what cpu.h lists. Source: syscall(2); System V ABI Intel386 1.1; <elf.h>.
#ifndef SEEP_PRELOAD_CPU_I386_H
#define SEEP_PRELOAD_CPU_I386_H

#include <stdint.h>
#include <sys/syscall.h>

#include "core/attr.h"

// All registers are taken: the sixth argument goes over the stack.
SEEP_INLINE long sys6_real(long nr, long a, long b, long c, long d, long e, long f) {
    long result;
    __asm__ volatile("pushl %7\n\t"
                     "pushl %%ebp\n\t"
                     "movl 4(%%esp), %%ebp\n\t"
                     "int $0x80\n\t"
                     "popl %%ebp\n\t"
                     "addl $4, %%esp"
                     : "=a"(result)
                     : "a"(nr), "b"(a), "c"(b), "d"(c), "S"(d), "D"(e), "g"(f)
                     : "memory", "cc");
    return result;
}

SEEP_INLINE uint64_t sys_thread_pointer(void) {
    uintptr_t pointer;
    __asm__("movl %%gs:0, %0" : "=r"(pointer));
    return pointer;
}

SEEP_INLINE void cpu_pause(void) {
    __builtin_ia32_pause();
}

#define CPU_ADDRESS_BITS 32
#define CPU_PAGE_BYTES   4096

// DWARF numbers: 3 ebx, 4 esp, 5 ebp, 6 esi, 7 edi.
#define CPU_OWN_REGISTERS (0x1fu << 3)
SEEP_INLINE uint64_t cpu_own_registers(uint64_t *value) {
    uint32_t pc;
    for (int i = 3; i <= 7; i++)
        value[i] = 0; // their upper halves
    __asm__ volatile("movl %%ebx, 24(%1)\n\t"
                     "movl %%esp, 32(%1)\n\t"
                     "movl %%ebp, 40(%1)\n\t"
                     "movl %%esi, 48(%1)\n\t"
                     "movl %%edi, 56(%1)\n\t"
                     "call 1f\n"
                     "1:\tpopl %0"
                     : "=&r"(pc)
                     : "r"(value)
                     : "memory");
    return pc;
}

#define CPU_VDSO_CLOCK   "__vdso_clock_gettime"
#define CPU_GLIBC_OLDEST "GLIBC_2.0"

#define CPU_R_SLOT   R_386_JMP_SLOT
#define CPU_R_GLOBAL R_386_GLOB_DAT
#define CPU_R_WORD   R_386_32

#define CPU_DESCRIPTOR_FROM 0
#define CPU_DESCRIPTOR_TO   1152
#define CPU_GLIBC_TID       104

#endif
