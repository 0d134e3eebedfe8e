// SPDX-License-Identifier: BSD-2-Clause
//
// Runs the programs of a CIE and an FDE to the row of one pc: the rule of the CFA and of each register.
#ifndef SEEP_UNWIND_CFI_PROGRAM_H
#define SEEP_UNWIND_CFI_PROGRAM_H

#include "unwind/cfi_entry.h"

// Compilers nest remember_state once or twice.
#define NR_REMEMBERED 8

// One row while it is computed: a third of the size of seep_cfi_row, because several are remembered.
// value: offset; register number; or for an expression the place in the object of its length.
struct seep_cfi_state {
    uint64_t value[SEEP_CFI_NR_REGS];
    uint64_t cfa_value;
    uint8_t kind[SEEP_CFI_NR_REGS];
    uint8_t cfa_kind; // UNDEFINED, REGISTER or VAL_EXPRESSION
    uint8_t cfa_reg;
};

struct seep_cfi_machine {
    const struct seep_cfi_cie *cie;
    struct seep_cfi_state now;
    struct seep_cfi_state initial; // after the CIE's program
    struct seep_cfi_state remembered[NR_REMEMBERED];
    unsigned nr_remembered;
    bool in_cie;
    uint64_t pc;
    uint64_t start; // of the row being built
    uint64_t end;
    uint64_t args_bytes;
};

// Runs the CIE's program, so that the FDE's can begin. SEEP_CFI_OK or _BAD, as the others.
SEEP_MUST_CHECK int seep_cfi_program_start(struct seep_cfi_machine *machine, const struct seep_cfi_cie *cie,
                                           const struct seep_cfi_fde *fde, uint64_t pc);
// Runs the program to its end, or to the row behind that of the pc; then the cursor is at that row.
SEEP_MUST_CHECK int seep_cfi_program_run(struct seep_cfi_machine *machine, struct seep_cfi_cursor *program);
// The row as it is now. Its expressions are borrowed from the object. On failure some of it may be set.
SEEP_MUST_CHECK int seep_cfi_program_row(const struct seep_cfi_object *object,
                                         const struct seep_cfi_machine *machine,
                                         struct seep_cfi_row *ret_row);

#endif
