// SPDX-License-Identifier: BSD-2-Clause
//
// Call-frame information: finds and interprets the row of .eh_frame for a pc. No allocation, no
// locks, signal-safe. The input may be damaged or lie: every read is bounds-checked, every loop ends.
//
// Source: DWARF 5 section 6.4; LSB 5.0 Core, "Exception Frames" (.eh_frame, .eh_frame_hdr).
// Proof: tests/unit/test_cfi.c, test_cfi_libdw.c (elfutils), test_unwind_live.c (libgcc);
// tests/fuzz/fuzz_cfi.c.
#ifndef SEEP_UNWIND_CFI_H
#define SEEP_UNWIND_CFI_H

#include "core/attr.h"
#include "unwind/arch.h"

// A mapped object. Addresses are in one address space: the run-time one inside a process, ELF
// virtual addresses for a file. bytes[i] is the memory at address start + i.
struct seep_cfi_object {
    const uint8_t *bytes; // borrowed, readable for size_bytes
    uint64_t start;
    uint64_t size_bytes;
    uint64_t eh_frame_hdr; // address; with SEEP_ARCH_EHABI that of .ARM.exidx, whose size is
    uint64_t exidx_bytes;
};

enum {
    SEEP_CFI_OK = 0,
    SEEP_CFI_NONE = -1, // nothing covers the pc
    SEEP_CFI_BAD = -2,  // damaged, or a form that is not known
};

enum seep_cfi_kind {
    SEEP_CFI_SAME = 0,       // register keeps its value (also: never mentioned)
    SEEP_CFI_UNDEFINED,      // cannot be known; for the return address: the outermost frame
    SEEP_CFI_OFFSET,         // saved at CFA + offset
    SEEP_CFI_VAL_OFFSET,     // its value is CFA + offset
    SEEP_CFI_REGISTER,       // saved in register `reg`
    SEEP_CFI_EXPRESSION,     // saved at the address the expression gives (CFA pushed first)
    SEEP_CFI_VAL_EXPRESSION, // its value is what the expression gives (CFA pushed first)
};

struct seep_cfi_rule {
    uint8_t kind; // enum seep_cfi_kind
    uint8_t reg;
    uint32_t expression_bytes; // 0: the rule is of another kind
    union {
        int64_t offset;
        const uint8_t *expression; // borrowed from the object
    };
};

// DWARF register numbers that are kept; others are ignored.
#ifdef SEEP_ARCH_NR_DWARF
#define SEEP_CFI_NR_REGS SEEP_ARCH_NR_DWARF
#else
#define SEEP_CFI_NR_REGS 34
#endif

struct seep_cfi_row {
    uint64_t start; // addresses this row covers: [start, end)
    uint64_t end;
    struct seep_cfi_rule
        cfa; // kind REGISTER: value of `reg` plus `offset`; or VAL_EXPRESSION (nothing pushed first)
    struct seep_cfi_rule regs[SEEP_CFI_NR_REGS];
    uint8_t return_reg;  // DWARF number of the return address column
    bool signal_frame;   // augmentation 'S': the caller's pc is exact
    uint64_t args_bytes; // DW_CFA_GNU_args_size
};

// O(log n) in the number of FDEs, plus the length of one FDE's program. seep_cfi_row_in() works in memory of
// its caller (cfi_program.h), which may have little stack.
SEEP_MUST_CHECK int seep_cfi_row_at(const struct seep_cfi_object *object, uint64_t pc,
                                    struct seep_cfi_row *ret_row);
struct seep_cfi_machine;
SEEP_MUST_CHECK int seep_cfi_row_in(struct seep_cfi_machine *machine, const struct seep_cfi_object *object,
                                    uint64_t pc, struct seep_cfi_row *ret_row);

// A section of the object: .eh_frame, or .debug_frame, whose entries refer to one another in another way.
struct seep_cfi_section {
    uint64_t start;
    uint64_t size_bytes;
    bool is_debug_frame;
};

// Each row, and before the rows of an entry NULL: the work of an entry that has none counts too. false:
// enough, of this section.
typedef bool seep_cfi_visit(void *context, const struct seep_cfi_row *row);

// All rows of all entries, in the order of the section, which need not be that of addresses. Needs no
// .eh_frame_hdr. Returns the number of entries that could not be interpreted, or not to their end. O(size),
// of any input: what entries share is short, and a number has few bytes.
uint64_t seep_cfi_visit_rows(const struct seep_cfi_object *object, const struct seep_cfi_section *section,
                             seep_cfi_visit *visit, void *context);

#endif
