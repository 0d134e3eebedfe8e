// SPDX-License-Identifier: BSD-2-Clause
//
// The slow, exact step: leaves one frame with all registers, interpreting its row, expressions
// included. Used where a rule does not fit (rule.h), and by the oracle. Signal-safe, no allocation.
#ifndef SEEP_UNWIND_STEP_H
#define SEEP_UNWIND_STEP_H

#include "core/attr.h"
#include "unwind/cfi.h"

// DWARF numbering of the CPU; `known` has a bit for each register whose value is known.
struct seep_regs {
    uint64_t value[SEEP_CFI_NR_REGS];
    uint64_t known;
    uint64_t pc;
    bool pc_exact; // pc is an instruction (after a signal frame), not a return address
};

// Reads one word of the traced stack. false: not readable.
typedef bool seep_read_word(void *context, uint64_t address, uint64_t *ret_word);

enum seep_step {
    SEEP_STEP_OK = 0,
    SEEP_STEP_END = 1,       // outermost frame
    SEEP_STEP_BAD_READ = -1, // a slot is not readable, or depends on a register that is not known
    SEEP_STEP_BAD_CFI = -2,  // expression with an operation that is not known, stack over- or underflow
};

// On SEEP_STEP_OK `regs` is the caller's frame; else it is untouched. Only the CFA and the return
// address must be found: another register whose slot is not readable is not known in the caller.
// A return address of 0 is the outermost frame.
SEEP_MUST_CHECK enum seep_step seep_step(const struct seep_cfi_row *row, struct seep_regs *regs,
                                         seep_read_word *read, void *context);

// Evaluates a DWARF expression (bounded in steps and stack). `push_cfa`: start with *cfa on the stack.
SEEP_MUST_CHECK enum seep_step seep_expression(const uint8_t *expression, uint32_t nr_bytes,
                                               const struct seep_regs *regs, bool push_cfa, uint64_t cfa,
                                               seep_read_word *read, void *context, uint64_t *ret_value);

#endif
