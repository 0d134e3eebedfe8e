// SPDX-License-Identifier: BSD-2-Clause
//
// Call-frame information from any bytes. Besides not crashing: a row keeps the promises of cfi.h, and
// a packed rule leaves the frame exactly as the step with all registers does.
//
// Input: byte 0 layout (bits 0 to 1: where the object is; bit 2: the object is an expression; bit 3: no
// memory is readable), byte 1 a seed for memory and registers, bytes 2 and 3 the offset of .eh_frame_hdr,
// bytes 4 to 7 the pc from the object's start (signed); the rest is the object. Little-endian.
// tools/make_cfi_seeds.py writes the first inputs.

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/arch.h"
#include "unwind/rule.h"
#include "unwind/step.h"
#include "fuzz.h"

#define NR_HEAD 8

struct memory {
    uint8_t seed;
    bool none;
};

// A word that depends on its address; one in sixteen is not readable.
static bool read_word(void *context, uint64_t address, uint64_t *ret_word) {
    const struct memory *memory = context;
    uint64_t mixed = (address + memory->seed) * 0x9e3779b97f4a7c15u;
    mixed ^= mixed >> 29;
    if (memory->none || mixed % 16 == 7)
        return false;
    *ret_word = mixed >> 16;
    return true;
}

static struct seep_regs make_regs(uint8_t seed, uint64_t pc) {
    struct seep_regs regs = {.pc = pc, .known = ~(uint64_t)0 >> (64 - SEEP_CFI_NR_REGS)};
    for (unsigned i = 0; i < SEEP_CFI_NR_REGS; i++)
        regs.value[i] = 0x7ffc00000000 + seed * 64u + i * 4096u;
    if (seed & 1)
        regs.known &= 0xc0; // as the rules: sp and bp of x86-64 alone
    return regs;
}

static void check_rule(const struct seep_cfi_object *object, const struct seep_cfi_rule *rule, bool is_cfa) {
    MUST(rule->kind <= SEEP_CFI_VAL_EXPRESSION);
    MUST(rule->reg < SEEP_CFI_NR_REGS);
    MUST(!is_cfa || rule->kind == SEEP_CFI_REGISTER || rule->kind == SEEP_CFI_VAL_EXPRESSION);
    if (rule->kind != SEEP_CFI_EXPRESSION && rule->kind != SEEP_CFI_VAL_EXPRESSION)
        return;
    const uint8_t *end = object->bytes + object->size_bytes;
    MUST(rule->expression >= object->bytes && rule->expression <= end);
    MUST(rule->expression_bytes <= (size_t)(end - rule->expression));
}

#ifdef __x86_64__

static bool known_word(struct memory *memory, uint64_t address, uint64_t *value) {
    return read_word(memory, address, value);
}

// Leaves the frame by the rule. false: something is not readable, or the rule has no caller.
static bool follow(struct seep_rule rule, struct seep_regs *regs, struct memory *memory) {
    uint64_t sp = regs->value[SEEP_ARCH_DWARF_SP], *bp = &regs->value[SEEP_ARCH_DWARF_BP];
    uint64_t cfa, slot_base;
    switch (seep_rule_kind(rule)) {
    case SEEP_RULE_SP:
        slot_base = cfa = sp + (uint64_t)seep_rule_cfa_offset(rule);
        break;
    case SEEP_RULE_BP:
        slot_base = cfa = *bp + (uint64_t)seep_rule_cfa_offset(rule);
        break;
    case SEEP_RULE_BP_DEREF:
        slot_base = *bp;
        if (!known_word(memory, *bp + (uint64_t)seep_rule_cfa_offset(rule), &cfa))
            return false;
        break;
    case SEEP_RULE_SIGNAL:
        regs->pc_exact = true;
        return known_word(memory, sp + SEEP_ARCH_SIGNAL_PC_OFFSET, &regs->pc) &&
               known_word(memory, sp + SEEP_ARCH_SIGNAL_BP_OFFSET, bp) &&
               known_word(memory, sp + SEEP_ARCH_SIGNAL_SP_OFFSET, &regs->value[SEEP_ARCH_DWARF_SP]);
    default:
        return false;
    }
    if (seep_rule_bp_saved(rule) && !known_word(memory, slot_base + (uint64_t)seep_rule_bp_offset(rule), bp))
        return false;
    regs->value[SEEP_ARCH_DWARF_SP] = cfa;
    regs->pc_exact = false;
    return known_word(memory, cfa - SEEP_ARCH_WORD, &regs->pc);
}

static void compare_rule(const struct seep_cfi_row *row, const struct seep_regs *before,
                         const struct seep_regs *after, struct memory *memory) {
    struct seep_regs regs = *before;
    struct seep_rule rule = seep_rule_pack(row);
    MUST(seep_rule_kind(rule) != SEEP_RULE_END);
    if (!follow(rule, &regs, memory))
        return;
    MUST(regs.pc == after->pc && regs.pc_exact == after->pc_exact);
    MUST(regs.value[SEEP_ARCH_DWARF_SP] == after->value[SEEP_ARCH_DWARF_SP]);
    MUST(regs.value[SEEP_ARCH_DWARF_BP] == after->value[SEEP_ARCH_DWARF_BP]);
}

#else

static void compare_rule(const struct seep_cfi_row *row, const struct seep_regs *before,
                         const struct seep_regs *after, struct memory *memory) {
}

#endif

static void try_row(const struct seep_cfi_object *object, uint64_t pc, struct memory *memory) {
    struct seep_cfi_row row;
    int status = seep_cfi_row_at(object, pc, &row);
    enum seep_rule_kind kind = seep_rule_kind(seep_rule_at(object, pc));
    MUST((status == SEEP_CFI_NONE) == (kind == SEEP_RULE_NO_CFI));
    MUST((status == SEEP_CFI_BAD) == (kind == SEEP_RULE_BAD));
    if (status)
        return;
    MUST(row.start <= pc && pc < row.end && row.return_reg < SEEP_CFI_NR_REGS);
    check_rule(object, &row.cfa, true);
    for (unsigned i = 0; i < SEEP_CFI_NR_REGS; i++)
        check_rule(object, &row.regs[i], false);
    const struct seep_regs before = make_regs(memory->seed, pc);
    struct seep_regs regs = before;
    enum seep_step step = seep_step(&row, &regs, read_word, memory);
    if (step == SEEP_STEP_OK)
        compare_rule(&row, &before, &regs, memory);
    else
        MUST(memcmp(&regs, &before, sizeof(regs)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < NR_HEAD)
        return 0;
    struct seep_cfi_object object = {.size_bytes = size - NR_HEAD};
    uint8_t *bytes = malloc(object.size_bytes ? object.size_bytes : 1);
    if (!bytes)
        return 0;
    memcpy(bytes, data + NR_HEAD, object.size_bytes);
    object.bytes = bytes;
    const uint64_t starts[] = {0, 0x400000, 0x7f0000000000, -(uint64_t)65536};
    object.start = starts[data[0] & 3];
    object.eh_frame_hdr = object.start + (data[2] | (unsigned)data[3] << 8);
    uint32_t distance;
    memcpy(&distance, data + 4, 4);
    uint64_t pc = object.start + (uint64_t)(int32_t)distance;
    struct memory memory = {data[1], data[0] >> 3 & 1};
    if (data[0] & 4) {
        struct seep_regs regs = make_regs(memory.seed, pc);
        uint64_t value = 0x5a5a5a;
        if (seep_expression(bytes, (uint32_t)object.size_bytes, &regs, memory.seed & 2, pc, read_word,
                            &memory, &value))
            MUST(value == 0x5a5a5a);
    } else {
        try_row(&object, pc, &memory);
    }
    free(bytes);
    return 0;
}
