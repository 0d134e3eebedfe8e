// SPDX-License-Identifier: BSD-2-Clause
//
// On 64-bit MIPS (N64), what cpu.h lists. Source: syscall(2); <elf.h>; Linux uapi asm/stat.h, asm/signal.h of
// mips; 64-bit ELF Object File Specification (MIPS), "Relocation", "Global Offset Table".
#ifndef SEEP_PRELOAD_CPU_MIPS64_H
#define SEEP_PRELOAD_CPU_MIPS64_H

#include <elf.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "core/attr.h"

#if __mips_isa_rev >= 6
#define CPU_PRODUCTS // hi and lo are no registers any more
#else
#define CPU_PRODUCTS "hi", "lo",
#endif

// $7 says whether the result is an error.
SEEP_INLINE long sys6_real(long nr, long a, long b, long c, long d, long e, long f) {
    register long v0 __asm__("$2") = nr;
    register long a0 __asm__("$4") = a;
    register long a1 __asm__("$5") = b;
    register long a2 __asm__("$6") = c;
    register long a3 __asm__("$7") = d;
    register long a4 __asm__("$8") = e;
    register long a5 __asm__("$9") = f;
    __asm__ volatile("syscall"
                     : "+r"(v0), "+r"(a3)
                     : "r"(a0), "r"(a1), "r"(a2), "r"(a4), "r"(a5)
                     : CPU_PRODUCTS "$1", "$3", "$10", "$11", "$12", "$13", "$14", "$15", "$24", "$25",
                       "memory");
    return a3 ? -v0 : v0;
}

SEEP_INLINE uint64_t sys_thread_pointer(void) {
    return (uint64_t)__builtin_thread_pointer();
}

SEEP_INLINE void cpu_pause(void) {
    __asm__ volatile("");
}

// CPUs have 40 to 48 bits. Pages have 4, 16 or 64 KiB.
#define CPU_ADDRESS_BITS 48

// The $30 of the program: no function of the library uses it (-ffixed-30).
SEEP_INLINE uint64_t cpu_hook_bp(void) {
    uint64_t fp;
    __asm__("move %0, $30" : "=r"(fp));
    return fp;
}
#define CPU_HOOK_BP() cpu_hook_bp()
#define CPU_FRAME()   ((uintptr_t)__builtin_dwarf_cfa())

// DWARF numbers are the registers' own: s0..s7 are 16 to 23, gp, sp and fp 28 to 30.
#define CPU_OWN_REGISTERS (UINT64_C(0xff) << 16 | UINT64_C(7) << 28)
SEEP_INLINE uint64_t cpu_own_registers(uint64_t *value) {
    uint64_t pc;
    __asm__ volatile("sd $16, 16*8(%1)\n\t"
                     "sd $17, 17*8(%1)\n\t"
                     "sd $18, 18*8(%1)\n\t"
                     "sd $19, 19*8(%1)\n\t"
                     "sd $20, 20*8(%1)\n\t"
                     "sd $21, 21*8(%1)\n\t"
                     "sd $22, 22*8(%1)\n\t"
                     "sd $23, 23*8(%1)\n\t"
                     "sd $28, 28*8(%1)\n\t"
                     "sd $29, 29*8(%1)\n\t"
                     "sd $30, 30*8(%1)\n\t"
                     "bal 1f\n\t"
                     "nop\n"
                     "1:\n\t"
                     "move %0, $31"
                     : "=&r"(pc)
                     : "r"(value)
                     : "memory", "$31");
    return pc;
}

#define CPU_VDSO_CLOCK   "__vdso_clock_gettime"
#define CPU_GLIBC_OLDEST "GLIBC_2.0"

#define CPU_R_SLOT   R_MIPS_JUMP_SLOT
#define CPU_R_GLOBAL R_MIPS_GLOB_DAT
#define CPU_R_WORD   R_MIPS_REL32

// An entry has no addend. It names up to three operations, of which the first is taken.
#define CPU_R_IS_REL 1
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define CPU_R_TYPE(info)   ((info) >> 56)
#define CPU_R_SYMBOL(info) ((uint32_t)(info))
#else
#define CPU_R_TYPE(info)   ((info)&0xff)
#define CPU_R_SYMBOL(info) ((info) >> 32)
#endif

// From a certain number on each symbol has a word in the global offset table, in the same order. No
// relocation names these words.
#define CPU_GOT           DT_PLTGOT
#define CPU_GOT_LOCALS    DT_MIPS_LOCAL_GOTNO
#define CPU_GOT_SYMBOL    DT_MIPS_GOTSYM
#define CPU_GOT_NR_SYMBOL DT_MIPS_SYMTABNO

// An undefined symbol can have an address. With STO_MIPS_PLT it is the address of the function in all
// modules; without, it is that of a stub, which binds the word of its own module only.
#define CPU_NO_ADDRESS(symbol) ((symbol)->st_shndx == SHN_UNDEF && !((symbol)->st_other & STO_MIPS_PLT))

// The thread pointer is 0x7000 above the end of the descriptor.
#define CPU_DESCRIPTOR_FROM (-0x7000 - 2560)
#define CPU_DESCRIPTOR_TO   (-0x7000)
#define CPU_GLIBC_TID       0

// Flags come before the handler.
#define CPU_HANDLER_WORD 1

// What newfstatat writes.
struct cpu_stat {
    uint32_t dev, pad[3];
    uint64_t ino;
    uint32_t mode, nr_links, uid, gid, device, pad_device[3];
    int64_t size;
    uint64_t others[5];
};
_Static_assert(sizeof(struct cpu_stat) == 104, "struct stat of the kernel");
#define CPU_STAT struct cpu_stat
SEEP_INLINE void cpu_stat_convert(const struct cpu_stat *from, struct stat64 *ret_about) {
    *ret_about = (struct stat64){.st_dev = from->dev,
                                 .st_ino = from->ino,
                                 .st_mode = from->mode,
                                 .st_nlink = from->nr_links,
                                 .st_uid = from->uid,
                                 .st_gid = from->gid,
                                 .st_size = from->size};
}

#endif
