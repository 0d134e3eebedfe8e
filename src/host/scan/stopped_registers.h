// SPDX-License-Identifier: BSD-2-Clause
//
// What the registers of a thread hold that is stopped: by stop.c, or in a core file.
#ifndef SEEP_SCAN_STOPPED_REGISTERS_H
#define SEEP_SCAN_STOPPED_REGISTERS_H

#include <string.h>
#include <sys/user.h>

#include "core/attr.h"
#include "scan/stop.h"

#if defined(__arm__)
typedef struct user_regs seep_general_registers;
#else
typedef struct user_regs_struct seep_general_registers;
#endif

// Fills pc, registers and known_registers.
// By DWARF number. Source: System V ABI AMD64 1.0, figure 3.36; DWARF for the Arm 64-bit Architecture.
static inline void seep_stopped_keep_general(struct seep_stopped_thread *thread,
                                             const seep_general_registers *regs) {
#if defined(__x86_64__)
    const uint64_t by_number[] = {regs->rax, regs->rdx, regs->rcx, regs->rbx, regs->rsi, regs->rdi,
                                  regs->rbp, regs->rsp, regs->r8,  regs->r9,  regs->r10, regs->r11,
                                  regs->r12, regs->r13, regs->r14, regs->r15, regs->rip};
    memcpy(thread->registers, by_number, sizeof(by_number));
    thread->known_registers = (UINT64_C(1) << SEEP_ARRAY_SIZE(by_number)) - 1;
    thread->pc = regs->rip;
#elif defined(__aarch64__)
    memcpy(thread->registers, regs->regs, sizeof(regs->regs));
    thread->registers[31] = regs->sp;
    thread->known_registers = (UINT64_C(1) << 32) - 1;
    thread->pc = regs->pc;
#elif defined(__arm__)
    enum { PC = 15 };
    for (size_t i = 0; i <= PC; i++)
        thread->registers[i] = regs->uregs[i];
    thread->known_registers = (UINT64_C(1) << (PC + 1)) - 1;
    thread->pc = regs->uregs[PC];
#endif
}

// Where the used part of a 64-bit stack begins: functions may use 128 bytes below their stack pointer.
// Source: System V ABI, AMD64 supplement, 3.2.2; AArch64 has none.
static inline uint64_t seep_stack_used_from(uint64_t sp) {
    enum { RED_ZONE_BYTES = 128 };
    return (sp - SEEP_MIN(sp, (uint64_t)RED_ZONE_BYTES)) & ~UINT64_C(7);
}

// Takes them of a thread that ptrace has stopped. interrupted: by us; a system call that would fail for that
// is told to begin again. false: the thread is gone, or there is no memory.
bool seep_stopped_read_registers(struct seep_stopped_thread *thread, bool interrupted);

#endif
