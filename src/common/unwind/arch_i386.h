// SPDX-License-Identifier: BSD-2-Clause
//
// i386: register numbers, frame records, the code that glibc's makecontext returns to.
//
// The frame of a signal has one of two shapes. The trampoline in the vdso has call-frame information for
// both: its rows are interpreted, and no rule is packed for them. Source: System V ABI Intel386 1.1,
// table 2.14 (DWARF numbers, as .eh_frame of Linux has them). Proof: tests/cross, against libgcc.
#ifndef SEEP_UNWIND_ARCH_I386_H
#define SEEP_UNWIND_ARCH_I386_H

#include <stdint.h>

#include "unwind/calls_x86.h"

#define SEEP_ARCH_DWARF_SP  4
#define SEEP_ARCH_DWARF_BP  5
#define SEEP_ARCH_DWARF_PC  8
#define SEEP_ARCH_NR_DWARF  9
#define SEEP_ARCH_WORD      4
#define SEEP_ARCH_FAST_WALK 1 // the return address is at CFA - 4 and never signed

// Below a frame record (bp, return address) lies nothing that its function still has to pop.
#define SEEP_ARCH_RECORD_GIVES_SP 1

static inline uint64_t seep_arch_strip(uint64_t return_address) {
    return return_address; // never signed
}

// The code of glibc that a function of makecontext returns to. It has no call-frame information, and the
// stack begins there: lea (%esp,%ebx,4), %esp; cmpl $0, (%esp)
#define SEEP_ARCH_START_CODE_BYTES 7
static inline _Bool seep_arch_is_start_code(const uint8_t *code) {
    static const uint8_t known[SEEP_ARCH_START_CODE_BYTES] = {0x8d, 0x24, 0x9c, 0x83, 0x3c, 0x24, 0x00};
    for (int i = 0; i < SEEP_ARCH_START_CODE_BYTES; i++)
        if (code[i] != known[i])
            return 0;
    return 1;
}

#define SEEP_ARCH_CALL_BYTES   SEEP_X86_CALL_BYTES
#define seep_arch_follows_call seep_x86_follows_call

#endif
