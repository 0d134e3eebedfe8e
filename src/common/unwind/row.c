// SPDX-License-Identifier: BSD-2-Clause
// Packs a row into 32 bits, see row.h.
#include "unwind/row.h"
#include "unwind/rule.h"

static uint32_t make(enum seep_row_kind kind, int64_t cfa_words, bool bp_saved, int64_t bp_words) {
    return ((uint32_t)cfa_words & 0xffff) | (uint32_t)kind << 16 | (uint32_t)bp_saved << 20 |
           ((uint32_t)bp_words & 0xff) << 24;
}

#ifdef __x86_64__

// NOLINTBEGIN(misc-redundant-expression): that they are is what is asserted
_Static_assert(SEEP_ROW_SIGNAL_BP == SEEP_ARCH_SIGNAL_BP_OFFSET &&
                   SEEP_ROW_SIGNAL_SP == SEEP_ARCH_SIGNAL_SP_OFFSET &&
                   SEEP_ROW_SIGNAL_PC == SEEP_ARCH_SIGNAL_PC_OFFSET,
               "one frame of a signal");
// NOLINTEND(misc-redundant-expression)

// What linkers write for the procedure linkage table: a word more on the stack from byte N of 16 on.
//   DW_OP_breg7 8, breg16 0, lit15, and, litN, ge, lit3, shl, plus
static uint32_t pack_plt(const struct seep_cfi_row *row) {
    static const uint8_t head[] = {0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a};
    static const uint8_t tail[] = {0x2a, 0x33, 0x24, 0x22};
    const struct seep_cfi_rule *cfa = &row->cfa;
    bool known = cfa->kind == SEEP_CFI_VAL_EXPRESSION &&
                 cfa->expression_bytes == sizeof(head) + 1 + sizeof(tail) &&
                 row->regs[SEEP_ARCH_DWARF_BP].kind == SEEP_CFI_SAME;
    for (unsigned i = 0; known && i < sizeof(head); i++)
        known = cfa->expression[i] == head[i];
    for (unsigned i = 0; known && i < sizeof(tail); i++)
        known = cfa->expression[sizeof(head) + 1 + i] == tail[i];
    if (!known || cfa->expression[sizeof(head)] < 0x30 || cfa->expression[sizeof(head)] > 0x3f)
        return make(SEEP_ROW_UNSUPPORTED, 0, false, 0);
    return make(SEEP_ROW_PLT, cfa->expression[sizeof(head)] - 0x30, false, 0);
}

static uint32_t pack_rule(enum seep_row_kind kind, struct seep_rule rule) {
    int64_t cfa = seep_rule_cfa_offset(rule), bp = seep_rule_bp_saved(rule) ? seep_rule_bp_offset(rule) : 0;
    int64_t least = kind == SEEP_ROW_SP ? 0 : INT16_MIN, most = kind == SEEP_ROW_SP ? UINT16_MAX : INT16_MAX;
    if (cfa % 8 || bp % 8 || cfa / 8 < least || cfa / 8 > most || bp / 8 < INT8_MIN || bp / 8 > INT8_MAX)
        return make(SEEP_ROW_UNSUPPORTED, 0, false, 0);
    return make(kind, cfa / 8, seep_rule_bp_saved(rule), bp / 8);
}

uint32_t seep_row_pack(const struct seep_cfi_row *row) {
    struct seep_rule rule = seep_rule_pack(row);
    switch (seep_rule_kind(rule)) {
    case SEEP_RULE_SP:
        return pack_rule(SEEP_ROW_SP, rule);
    case SEEP_RULE_BP:
        return pack_rule(SEEP_ROW_BP, rule);
    case SEEP_RULE_BP_DEREF:
        return pack_rule(SEEP_ROW_BP_DEREF, rule);
    case SEEP_RULE_SIGNAL:
        return make(SEEP_ROW_SIGNAL, 0, false, 0);
    case SEEP_RULE_END:
        return make(SEEP_ROW_END, 0, false, 0);
    default:
        return pack_plt(row);
    }
}

#else

uint32_t seep_row_pack(const struct seep_cfi_row *row) {
    bool end = seep_rule_kind(seep_rule_pack(row)) == SEEP_RULE_END;
    return make(end ? SEEP_ROW_END : SEEP_ROW_UNSUPPORTED, 0, false, 0);
}

#endif
