// SPDX-License-Identifier: BSD-2-Clause
//
// A rule: one row of call-frame information packed into 64 bits, enough to leave a frame when only
// pc, sp and the frame pointer (bp) are known. What does not fit is SEEP_RULE_SLOW: the row must be
// interpreted with all registers (step.h).
//
// Bits, low to high: kind 4, bp_saved 1, reserved 3, cfa_offset 32 (signed bytes), bp_offset 24
// (signed bytes from the CFA to the slot where the caller's bp was saved; in SEEP_RULE_BP_DEREF from
// bp itself: gcc says for a realigned stack that bp was saved where it points). Where the return
// address is saved at no fixed place from the CFA (SEEP_ARCH_RULE_HAS_RA), the offsets count words:
// cfa_offset 24, bp_offset 16, ra_offset 16; there is no SEEP_RULE_BP_DEREF then.
#ifndef SEEP_UNWIND_RULE_H
#define SEEP_UNWIND_RULE_H

#include "core/attr.h"
#include "unwind/arch.h"
#include "unwind/cfi_program.h"
#include "unwind/ehabi.h"

enum seep_rule_kind {
    SEEP_RULE_UNKNOWN = 0, // not looked up yet: never packed
    SEEP_RULE_SP,          // CFA = sp + cfa_offset; return address at CFA + ra_offset
    SEEP_RULE_BP,          // CFA = bp + cfa_offset; return address at CFA + ra_offset
    SEEP_RULE_BP_DEREF,    // CFA = *(bp + cfa_offset) (a realigned stack); return address at CFA + ra_offset
    SEEP_RULE_SIGNAL,      // signal frame of the kernel: pc, sp, bp at fixed offsets from sp (arch header)
    SEEP_RULE_END,         // return address undefined: the start of the thread
    SEEP_RULE_SLOW,        // there is CFI, but it does not fit here
    SEEP_RULE_NO_CFI,      // no CFI covers the pc: try the frame pointer
    SEEP_RULE_BAD,         // there is CFI, but it cannot be interpreted
};

// A row packed into a word; its parts are read by the functions below. 0: no rule.
struct seep_rule {
    uint64_t bits;
};

// The parts of a rule; offsets are in bytes.
SEEP_INLINE enum seep_rule_kind seep_rule_kind(struct seep_rule rule) {
    return (enum seep_rule_kind)(rule.bits & 15);
}
SEEP_INLINE bool seep_rule_bp_saved(struct seep_rule rule) {
    return rule.bits >> 4 & 1;
}
#ifdef SEEP_ARCH_RULE_HAS_RA
SEEP_INLINE int64_t seep_rule_cfa_offset(struct seep_rule rule) {
    return ((int64_t)(rule.bits << 32) >> 40) * SEEP_ARCH_WORD;
}
SEEP_INLINE int64_t seep_rule_bp_offset(struct seep_rule rule) {
    return ((int64_t)(rule.bits << 16) >> 48) * SEEP_ARCH_WORD;
}
SEEP_INLINE int64_t seep_rule_ra_offset(struct seep_rule rule) {
    return ((int64_t)rule.bits >> 48) * SEEP_ARCH_WORD;
}
SEEP_INLINE struct seep_rule seep_rule_make_ra(enum seep_rule_kind kind, int64_t cfa_offset, bool bp_saved,
                                               int64_t bp_offset, int64_t ra_offset) {
    return (struct seep_rule){(uint64_t)kind | (uint64_t)bp_saved << 4 |
                              ((uint64_t)(cfa_offset / SEEP_ARCH_WORD) & 0xffffff) << 8 |
                              ((uint64_t)(bp_offset / SEEP_ARCH_WORD) & 0xffff) << 32 |
                              (uint64_t)(ra_offset / SEEP_ARCH_WORD) << 48};
}
SEEP_INLINE struct seep_rule seep_rule_make(enum seep_rule_kind kind, int64_t cfa_offset, bool bp_saved,
                                            int64_t bp_offset) {
    return seep_rule_make_ra(kind, cfa_offset, bp_saved, bp_offset, 0);
}
#else
SEEP_INLINE int64_t seep_rule_cfa_offset(struct seep_rule rule) {
    return (int32_t)(rule.bits >> 8);
}
SEEP_INLINE int64_t seep_rule_bp_offset(struct seep_rule rule) {
    return (int64_t)rule.bits >> 40;
}
SEEP_INLINE int64_t seep_rule_ra_offset(struct seep_rule rule) {
    (void)rule;
    return -SEEP_ARCH_WORD;
}
SEEP_INLINE struct seep_rule seep_rule_make(enum seep_rule_kind kind, int64_t cfa_offset, bool bp_saved,
                                            int64_t bp_offset) {
    return (struct seep_rule){(uint64_t)kind | (uint64_t)bp_saved << 4 | (uint64_t)(uint32_t)cfa_offset << 8 |
                              (uint64_t)bp_offset << 40};
}
#endif

// Where a row is made. It takes more than the stack of a signal handler may have.
struct seep_rule_work {
    struct seep_cfi_row row;
#ifndef SEEP_ARCH_EHABI
    struct seep_cfi_machine machine;
#endif
};

// work->row for `pc`, from the information that code of this CPU has.
SEEP_INLINE int seep_rule_row_in(struct seep_rule_work *work, const struct seep_cfi_object *object,
                                 uint64_t pc) {
#ifdef SEEP_ARCH_EHABI
    return seep_ehabi_row_at(object, pc, &work->row);
#else
    return seep_cfi_row_in(&work->machine, object, pc, &work->row);
#endif
}

// Packs a row that seep_rule_row_at() found. Never fails: what does not fit is SEEP_RULE_SLOW.
struct seep_rule seep_rule_pack(const struct seep_cfi_row *row);

// The rule for the code at `pc` (already minus 1 for a return address): finds the row, packs it.
struct seep_rule seep_rule_at(const struct seep_cfi_object *object, uint64_t pc);
struct seep_rule seep_rule_in(struct seep_rule_work *work, const struct seep_cfi_object *object, uint64_t pc);

#endif
