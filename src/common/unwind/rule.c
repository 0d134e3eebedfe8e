// SPDX-License-Identifier: BSD-2-Clause
//
// Packs a row of call-frame information into 64 bits, where pc, sp and bp are enough to leave the
// frame. Invariant: a rule that is not SLOW gives exactly the pc, sp and bp that seep_step() gives.

#include "unwind/rule.h"

static struct seep_rule plain(enum seep_rule_kind kind) {
    return seep_rule_make(kind, 0, false, 0);
}

#ifdef SEEP_ARCH_DWARF_SP

// Whether the caller's sp follows from the CFA: the row has no rule for sp, or sp is saved where the CPU's
// convention puts it.
static bool sp_is_cfa(const struct seep_cfi_rule *rule) {
#ifdef SEEP_ARCH_SP_SLOT
    if (rule->kind == SEEP_CFI_OFFSET)
        return rule->offset == SEEP_ARCH_SP_SLOT;
#endif
    return rule->kind == SEEP_CFI_SAME ||
           (rule->kind == SEEP_CFI_VAL_OFFSET && rule->offset == -SEEP_ARCH_SP_BELOW_CFA);
}

#endif

#ifdef SEEP_ARCH_DWARF_PC // the return address right below the CFA

// DWARF operations that are recognized.
enum {
    OP_DEREF = 0x06,
    OP_BREG0 = 0x70,
};

#define BP_OFFSET_MAX ((1 << 23) - 1)

// `DW_OP_breg<reg> offset`, then DW_OP_deref if wanted, then nothing.
static bool is_breg(const struct seep_cfi_rule *rule, unsigned reg, bool deref, int64_t *ret_offset) {
    const uint8_t *at = rule->expression;
    const uint8_t *end = at + rule->expression_bytes;
    if (deref && (at == end || *--end != OP_DEREF))
        return false;
    if (at == end || *at++ != OP_BREG0 + reg)
        return false;
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;
    do {
        if (at == end || shift > 56)
            return false;
        byte = *at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80);
    if (byte & 0x40)
        value |= ~(uint64_t)0 << shift;
    *ret_offset = (int64_t)value;
    return at == end;
}

static bool return_is_below_cfa(const struct seep_cfi_row *row) {
    const struct seep_cfi_rule *rule = &row->regs[SEEP_ARCH_DWARF_PC];
    return rule->kind == SEEP_CFI_OFFSET && rule->offset == -SEEP_ARCH_WORD;
}

static bool fits(int64_t value, int64_t max) {
    return value >= -max - 1 && value <= max;
}

#ifdef SEEP_ARCH_SIGNAL_PC_OFFSET
static bool is_expression_at(const struct seep_cfi_rule *rule, uint8_t kind, unsigned reg, bool deref,
                             int64_t offset) {
    int64_t found;
    return rule->kind == kind && is_breg(rule, reg, deref, &found) && found == offset;
}

static struct seep_rule pack_signal(const struct seep_cfi_row *row) {
    const struct seep_cfi_rule *sp = &row->regs[SEEP_ARCH_DWARF_SP];
    bool sp_known = sp_is_cfa(sp) || is_expression_at(sp, SEEP_CFI_EXPRESSION, SEEP_ARCH_DWARF_SP, false,
                                                      SEEP_ARCH_SIGNAL_SP_OFFSET);
    bool known = is_expression_at(&row->cfa, SEEP_CFI_VAL_EXPRESSION, SEEP_ARCH_DWARF_SP, true,
                                  SEEP_ARCH_SIGNAL_SP_OFFSET) &&
                 is_expression_at(&row->regs[SEEP_ARCH_DWARF_PC], SEEP_CFI_EXPRESSION, SEEP_ARCH_DWARF_SP,
                                  false, SEEP_ARCH_SIGNAL_PC_OFFSET) &&
                 is_expression_at(&row->regs[SEEP_ARCH_DWARF_BP], SEEP_CFI_EXPRESSION, SEEP_ARCH_DWARF_SP,
                                  false, SEEP_ARCH_SIGNAL_BP_OFFSET);
    return plain(known && sp_known ? SEEP_RULE_SIGNAL : SEEP_RULE_SLOW);
}
#else
static struct seep_rule pack_signal(const struct seep_cfi_row *row) {
    (void)row;
    return plain(SEEP_RULE_SLOW);
}
#endif

// A realigned stack: the CFA was saved below bp, and the caller's bp where bp points.
static struct seep_rule pack_realigned(const struct seep_cfi_row *row) {
    const struct seep_cfi_rule *bp = &row->regs[SEEP_ARCH_DWARF_BP];
    int64_t cfa_offset, bp_offset = 0;
    if (!is_breg(&row->cfa, SEEP_ARCH_DWARF_BP, true, &cfa_offset) || !fits(cfa_offset, INT32_MAX))
        return plain(SEEP_RULE_SLOW);
    if (bp->kind == SEEP_CFI_SAME)
        return seep_rule_make(SEEP_RULE_BP_DEREF, cfa_offset, false, 0);
    if (bp->kind != SEEP_CFI_EXPRESSION || !is_breg(bp, SEEP_ARCH_DWARF_BP, false, &bp_offset) ||
        !fits(bp_offset, BP_OFFSET_MAX))
        return plain(SEEP_RULE_SLOW);
    return seep_rule_make(SEEP_RULE_BP_DEREF, cfa_offset, true, bp_offset);
}

static struct seep_rule pack_register(const struct seep_cfi_row *row) {
    const struct seep_cfi_rule *bp = &row->regs[SEEP_ARCH_DWARF_BP];
    enum seep_rule_kind kind = row->cfa.reg == SEEP_ARCH_DWARF_SP   ? SEEP_RULE_SP
                               : row->cfa.reg == SEEP_ARCH_DWARF_BP ? SEEP_RULE_BP
                                                                    : SEEP_RULE_SLOW;
    if (kind == SEEP_RULE_SLOW || !fits(row->cfa.offset, INT32_MAX))
        return plain(SEEP_RULE_SLOW);
    if (bp->kind == SEEP_CFI_SAME)
        return seep_rule_make(kind, row->cfa.offset, false, 0);
    if (bp->kind != SEEP_CFI_OFFSET || !fits(bp->offset, BP_OFFSET_MAX))
        return plain(SEEP_RULE_SLOW);
    return seep_rule_make(kind, row->cfa.offset, true, bp->offset);
}

struct seep_rule seep_rule_pack(const struct seep_cfi_row *row) {
    if (row->regs[row->return_reg].kind == SEEP_CFI_UNDEFINED)
        return plain(SEEP_RULE_END);
    if (row->return_reg != SEEP_ARCH_DWARF_PC)
        return plain(SEEP_RULE_SLOW);
    if (row->signal_frame)
        return pack_signal(row);
    if (!return_is_below_cfa(row) || !sp_is_cfa(&row->regs[SEEP_ARCH_DWARF_SP]))
        return plain(SEEP_RULE_SLOW);
    return row->cfa.kind == SEEP_CFI_REGISTER ? pack_register(row) : pack_realigned(row);
}

#elif defined(SEEP_ARCH_RULE_HAS_RA)

#define CFA_WORDS_MAX  ((INT64_C(1) << 23) - 1)
#define SLOT_WORDS_MAX ((INT64_C(1) << 15) - 1)

static bool fits(int64_t offset, int64_t max_words) {
    return offset % SEEP_ARCH_WORD == 0 && offset >= (-max_words - 1) * SEEP_ARCH_WORD &&
           offset <= max_words * SEEP_ARCH_WORD;
}

// x30 not saved is a row of a leaf, or of a prologue: only a signal can have interrupted that, and then
// x30 is needed, which a rule does not follow.
struct seep_rule seep_rule_pack(const struct seep_cfi_row *row) {
    const struct seep_cfi_rule *bp = &row->regs[SEEP_ARCH_DWARF_BP];
    const struct seep_cfi_rule *ra = &row->regs[SEEP_ARCH_DWARF_RA];
    if (row->regs[row->return_reg].kind == SEEP_CFI_UNDEFINED)
        return plain(SEEP_RULE_END);
    if (row->return_reg != SEEP_ARCH_DWARF_RA || row->signal_frame || row->cfa.kind != SEEP_CFI_REGISTER ||
        !sp_is_cfa(&row->regs[SEEP_ARCH_DWARF_SP]) || ra->kind != SEEP_CFI_OFFSET ||
        !fits(ra->offset, SLOT_WORDS_MAX) || !fits(row->cfa.offset, CFA_WORDS_MAX))
        return plain(SEEP_RULE_SLOW);
    enum seep_rule_kind kind = row->cfa.reg == SEEP_ARCH_DWARF_SP   ? SEEP_RULE_SP
                               : row->cfa.reg == SEEP_ARCH_DWARF_BP ? SEEP_RULE_BP
                                                                    : SEEP_RULE_SLOW;
    if (kind == SEEP_RULE_SLOW || (kind == SEEP_RULE_SP && row->cfa.offset <= SEEP_ARCH_SP_BELOW_CFA))
        return plain(SEEP_RULE_SLOW); // the latter has no frame yet: only a signal interrupts there
    if (bp->kind == SEEP_CFI_SAME)
        return seep_rule_make_ra(kind, row->cfa.offset, false, 0, ra->offset);
    if (bp->kind != SEEP_CFI_OFFSET || !fits(bp->offset, SLOT_WORDS_MAX))
        return plain(SEEP_RULE_SLOW);
    return seep_rule_make_ra(kind, row->cfa.offset, true, bp->offset, ra->offset);
}

#else

struct seep_rule seep_rule_pack(const struct seep_cfi_row *row) {
    bool end = row->regs[row->return_reg].kind == SEEP_CFI_UNDEFINED;
    return plain(end ? SEEP_RULE_END : SEEP_RULE_SLOW);
}

#endif

struct seep_rule seep_rule_in(struct seep_rule_work *work, const struct seep_cfi_object *object,
                              uint64_t pc) {
    switch (seep_rule_row_in(work, object, pc)) {
    case SEEP_CFI_OK:
        return seep_rule_pack(&work->row);
    case SEEP_CFI_NONE:
        return plain(SEEP_RULE_NO_CFI);
    default:
        return plain(SEEP_RULE_BAD);
    }
}

struct seep_rule seep_rule_at(const struct seep_cfi_object *object, uint64_t pc) {
    struct seep_rule_work work;
    return seep_rule_in(&work, object, pc);
}
