// SPDX-License-Identifier: BSD-2-Clause
//
// Rules of CPUs that save return addresses where they like (unwind/rule.h), run under qemu-user by test_cross.py, with
// the names of registers that AArch64 has: known rows, and the invariant
// on random ones: a rule that is not SLOW gives exactly the pc, sp and bp that seep_step() gives.
// Prints what is wrong; exit status 1 when anything is.
#include <stdio.h>
#include <stdlib.h>

#include "unwind/rule.h"
#include "unwind/step.h"

#define BELOW SEEP_ARCH_SP_BELOW_CFA

static int nr_wrong;

#define NR_WORDS 4096
static seep_stack_word memory[NR_WORDS];

#define WORD SEEP_ARCH_WORD

static bool read_word(void *context, uint64_t address, uint64_t *ret_word) {
    uint64_t at = address - (uintptr_t)memory;
    if (at % WORD || at / WORD >= NR_WORDS)
        return false;
    *ret_word = memory[at / WORD];
    return true;
}

static struct seep_cfi_row row_of(unsigned cfa_reg, int64_t cfa_offset, int64_t bp_offset,
                                  int64_t ra_offset) {
    struct seep_cfi_row row = {
        .cfa = {.kind = SEEP_CFI_REGISTER, .reg = (uint8_t)cfa_reg, .offset = cfa_offset},
        .return_reg = SEEP_ARCH_DWARF_RA};
    if (bp_offset)
        row.regs[SEEP_ARCH_DWARF_BP] = (struct seep_cfi_rule){.kind = SEEP_CFI_OFFSET, .offset = bp_offset};
    if (ra_offset)
        row.regs[SEEP_ARCH_DWARF_RA] = (struct seep_cfi_rule){.kind = SEEP_CFI_OFFSET, .offset = ra_offset};
    return row;
}

static void expect(const char *name, const struct seep_cfi_row *row, enum seep_rule_kind kind) {
    struct seep_rule rule = seep_rule_pack(row);
    bool right = seep_rule_kind(rule) == kind;
    if (right && (kind == SEEP_RULE_SP || kind == SEEP_RULE_BP)) {
        const struct seep_cfi_rule *bp = &row->regs[SEEP_ARCH_DWARF_BP];
        right = seep_rule_cfa_offset(rule) == row->cfa.offset &&
                seep_rule_ra_offset(rule) == row->regs[SEEP_ARCH_DWARF_RA].offset &&
                seep_rule_bp_saved(rule) == (bp->kind == SEEP_CFI_OFFSET) &&
                (!seep_rule_bp_saved(rule) || seep_rule_bp_offset(rule) == bp->offset);
    }
    if (right)
        return;
    nr_wrong++;
    printf("%s: kind %d, cfa %lld, bp %d at %lld, ra at %lld\n", name, (int)seep_rule_kind(rule),
           (long long)seep_rule_cfa_offset(rule), seep_rule_bp_saved(rule),
           (long long)seep_rule_bp_offset(rule), (long long)seep_rule_ra_offset(rule));
}

static void expect_offsets(const char *name, unsigned reg, int64_t cfa, int64_t bp, int64_t ra,
                           enum seep_rule_kind kind) {
    struct seep_cfi_row row = row_of(reg, cfa, bp, ra);
    expect(name, &row, kind);
}

static void test_known_rows(void) {
    const unsigned sp = SEEP_ARCH_DWARF_SP, bp = SEEP_ARCH_DWARF_BP;
    expect_offsets("gcc: record at the low end", sp, BELOW + 160, -160, -152, SEEP_RULE_SP);
    expect_offsets("gcc: with alloca", bp, BELOW + 48, -48, -40, SEEP_RULE_BP);
    expect_offsets("clang: record at the high end", bp, BELOW + 16, -16, -8, SEEP_RULE_BP);
    expect_offsets("x30 alone", sp, BELOW + 16, 0, -16, SEEP_RULE_SP);
    expect_offsets("no record: x30 below x29", sp, BELOW + 32, -8, -16, SEEP_RULE_SP);
    expect_offsets("leaf", sp, 0, 0, 0, SEEP_RULE_SLOW);
    expect_offsets("leaf with locals", sp, 64, 0, 0, SEEP_RULE_SLOW);
    expect_offsets("frame of 2^23 words", sp, (WORD << 23) - WORD, -16, -8, SEEP_RULE_SP);
    expect_offsets("larger", sp, WORD << 23, -16, -8, SEEP_RULE_SLOW);
    expect_offsets("lowest slots", sp, 1 << 20, -(WORD << 15), -(WORD << 15), SEEP_RULE_SP);
    expect_offsets("x29 lower", sp, 1 << 20, -(WORD << 15) - WORD, -8, SEEP_RULE_SLOW);
    expect_offsets("x30 lower", sp, 1 << 20, -8, -(WORD << 15) - WORD, SEEP_RULE_SLOW);
    expect_offsets("slots above the CFA", sp, BELOW + 16, 8, (WORD << 15) - WORD, SEEP_RULE_SP);
    expect_offsets("no multiple of a word", sp, BELOW + 18, -16, -8, SEEP_RULE_SLOW);
    expect_offsets("CFA of another register", 10, 16, -16, -8, SEEP_RULE_SLOW);
}

static void test_odd_rows(void) {
    struct seep_cfi_row row = row_of(SEEP_ARCH_DWARF_SP, BELOW + 32, -32, -24);
    row.regs[SEEP_ARCH_DWARF_RA].kind = SEEP_CFI_UNDEFINED;
    expect("x30 undefined: the start of a thread", &row, SEEP_RULE_END);
    row.regs[SEEP_ARCH_DWARF_RA].kind = SEEP_CFI_REGISTER;
    expect("x30 in a register", &row, SEEP_RULE_SLOW);
    row = row_of(SEEP_ARCH_DWARF_SP, BELOW + 32, -32, -24);
    row.regs[SEEP_ARCH_DWARF_BP].kind = SEEP_CFI_UNDEFINED;
    expect("x29 undefined", &row, SEEP_RULE_SLOW);
    row = row_of(SEEP_ARCH_DWARF_SP, BELOW + 32, -32, -24);
    row.regs[SEEP_ARCH_DWARF_SP].kind = SEEP_CFI_OFFSET;
    expect("sp saved", &row, SEEP_RULE_SLOW);
    row = row_of(SEEP_ARCH_DWARF_BP, 0, 0, 8);
    row.signal_frame = true; // the trampoline of old kernels: known by its code instead
    expect("signal frame", &row, SEEP_RULE_SLOW);
    row = row_of(SEEP_ARCH_DWARF_SP, BELOW + 32, -32, -24);
    row.cfa.kind = SEEP_CFI_VAL_EXPRESSION;
    expect("CFA by expression", &row, SEEP_RULE_SLOW);
}

static int64_t words(int64_t least, int64_t most) {
    return (least + random() % (most - least + 1)) * WORD;
}

static void test_random_rows(void) {
    unsigned nr_packed = 0;
    for (unsigned i = 0; i < NR_WORDS; i++) // some with an authentication code, as it would be in a slot
        memory[i] = (seep_stack_word)((uint64_t)random() << 8 | (i % 3 ? 0 : UINT64_C(0x0055) << 48));
    for (unsigned i = 0; i < 20000; i++) {
        unsigned cfa_reg = random() % 2 ? SEEP_ARCH_DWARF_SP : SEEP_ARCH_DWARF_BP;
        struct seep_cfi_row row = row_of(cfa_reg, BELOW + words(-4, 400), random() % 3 ? words(-500, 20) : 0,
                                         random() % 8 ? words(-500, 20) : 0);
#ifdef SEEP_ARCH_SP_SLOT
        if (i % 2)
            row.regs[SEEP_ARCH_DWARF_SP] =
                (struct seep_cfi_rule){.kind = SEEP_CFI_OFFSET, .offset = SEEP_ARCH_SP_SLOT};
#endif
        struct seep_rule rule = seep_rule_pack(&row);
        if (seep_rule_kind(rule) == SEEP_RULE_SLOW)
            continue;
        uint64_t sp = (uintptr_t)(memory + 1000 + random() % 1000),
                 bp = (uintptr_t)(memory + 1000 + random() % 1000);
        struct seep_regs regs = {.known = UINT64_C(1) << SEEP_ARCH_DWARF_SP | UINT64_C(1)
                                                                                  << SEEP_ARCH_DWARF_BP};
        regs.value[SEEP_ARCH_DWARF_SP] = sp;
        regs.value[SEEP_ARCH_DWARF_BP] = bp;
        uint64_t cfa =
            (seep_rule_kind(rule) == SEEP_RULE_SP ? sp : bp) + (uint64_t)seep_rule_cfa_offset(rule);
#ifdef SEEP_ARCH_SP_SLOT
        if (cfa + SEEP_ARCH_SP_SLOT - (uintptr_t)memory < sizeof(memory))
            *(uint64_t *)(cfa + SEEP_ARCH_SP_SLOT) = cfa - BELOW; // as the convention has it
#endif
        if (seep_step(&row, &regs, read_word, NULL) != SEEP_STEP_OK)
            continue;
        uint64_t pc = 0, caller_bp = bp;
        bool read = read_word(NULL, cfa + (uint64_t)seep_rule_ra_offset(rule), &pc);
        if (seep_rule_bp_saved(rule))
            read &= read_word(NULL, cfa + (uint64_t)seep_rule_bp_offset(rule), &caller_bp);
        nr_packed++;
        if (!read || seep_arch_strip(pc) != regs.pc || cfa - BELOW != regs.value[SEEP_ARCH_DWARF_SP] ||
            caller_bp != regs.value[SEEP_ARCH_DWARF_BP]) {
            nr_wrong++;
            printf("random row %u: rule and step differ\n", i);
        }
    }
    if (nr_packed < 5000) {
        nr_wrong++;
        printf("only %u random rows were packed\n", nr_packed);
    }
}

static void test_strip(void) {
    uint64_t address = WORD == 8 ? UINT64_C(0x0000aaaabbbbcccc) : UINT64_C(0xbbbbcccc);
    if (seep_arch_strip(address) != address || seep_arch_strip(0) != 0) {
        nr_wrong++;
        printf("an address without a code is changed\n");
    }
}

int main(void) {
    test_known_rows();
    test_odd_rows();
    test_random_rows();
    test_strip();
    return nr_wrong ? 1 : 0;
}
