// SPDX-License-Identifier: BSD-2-Clause
// What a process runs on: enough to read its memory and its files elsewhere. In the image, the profile and
// the trace.
#ifndef SEEP_CORE_PLATFORM_H
#define SEEP_CORE_PLATFORM_H

#include <elf.h>
#include <stdint.h>

struct seep_platform {
    uint16_t machine;   // EM_* of <elf.h>; EM_NONE: not known
    uint8_t word_bytes; // 4 or 8; 0: not known
    uint8_t big_endian; // 1 or 0
};

#if defined(__x86_64__)
#define SEEP_MACHINE_HERE EM_X86_64
#elif defined(__aarch64__)
#define SEEP_MACHINE_HERE EM_AARCH64
#elif defined(__i386__)
#define SEEP_MACHINE_HERE EM_386
#elif defined(__arm__)
#define SEEP_MACHINE_HERE EM_ARM
#elif defined(__riscv)
#define SEEP_MACHINE_HERE EM_RISCV
#elif defined(__powerpc64__)
#define SEEP_MACHINE_HERE EM_PPC64
#elif defined(__mips__)
#define SEEP_MACHINE_HERE EM_MIPS
#elif defined(__s390x__)
#define SEEP_MACHINE_HERE EM_S390
#else
#define SEEP_MACHINE_HERE EM_NONE
#endif

#define SEEP_BIG_ENDIAN_HERE (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)

// Of this build itself.
static inline struct seep_platform seep_platform_here(void) {
    return (struct seep_platform){SEEP_MACHINE_HERE, sizeof(void *), SEEP_BIG_ENDIAN_HERE};
}

#endif
