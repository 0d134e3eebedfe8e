// SPDX-License-Identifier: BSD-2-Clause
//
// The expression evaluator, operation by operation, and the step with all registers.

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "unwind/step.h"

#define OPS(...) {__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__})
#define REG(n, o)                                                                                            \
    { .kind = SEEP_CFI_REGISTER, .reg = (n), .offset = (o) }
#define IS(k, o)                                                                                             \
    { .kind = SEEP_CFI_##k, .offset = (o) }

#define MEMORY 0x8000u // 256 readable bytes, each holding its index

static bool read_memory(void *context, uint64_t address, uint64_t *ret_word) {
    if (address < MEMORY || address > MEMORY + 256 - 8)
        return false;
    *ret_word = 0;
    for (unsigned i = 0; i < 8; i++)
        *ret_word |= (address - MEMORY + i) << 8 * i;
    return true;
}

static struct seep_regs some_regs(void) {
    struct seep_regs regs = {.pc = 0x123456789abcull};
    for (unsigned i = 0; i < SEEP_CFI_NR_REGS; i++)
        regs.value[i] = 0x1000 + i * 0x100;
    regs.value[7] = MEMORY;
    regs.known = ~((uint64_t)1 << 9);
    return regs;
}

struct expression_case {
    const char *name;
    uint8_t ops[24];
    size_t nr_bytes;
    enum seep_step status;
    uint64_t value;
};

#define CFA_PUSHED 0xcfau

static const struct expression_case expression_cases[] = {
    {"the pushed CFA", OPS(0x96), 0, CFA_PUSHED},
    {"addr", OPS(0x03, 1, 2, 3, 4, 5, 6, 7, 8), 0, 0x0807060504030201},
    {"deref", OPS(0x0a, 0x00, 0x80, 0x06), 0, 0x0706050403020100},
    {"deref of nothing", OPS(0x30, 0x06), SEEP_STEP_BAD_READ, 0},
    {"const1u", OPS(0x08, 0xfe), 0, 0xfe},
    {"const1s", OPS(0x09, 0xfe), 0, (uint64_t)-2},
    {"const2u", OPS(0x0a, 0xfe, 0xff), 0, 0xfffe},
    {"const2s", OPS(0x0b, 0xfe, 0xff), 0, (uint64_t)-2},
    {"const4u", OPS(0x0c, 0xfe, 0xff, 0xff, 0xff), 0, 0xfffffffe},
    {"const4s", OPS(0x0d, 0xfe, 0xff, 0xff, 0xff), 0, (uint64_t)-2},
    {"const8u", OPS(0x0e, 1, 0, 0, 0, 0, 0, 0, 0x80), 0, 0x8000000000000001},
    {"const8s", OPS(0x0f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff), 0, UINT64_MAX},
    {"constu", OPS(0x10, 0xe5, 0x8e, 0x26), 0, 624485},
    {"consts", OPS(0x11, 0x80, 0x7f), 0, (uint64_t)-128},
    {"consts of all bits", OPS(0x11, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01), 0,
     UINT64_MAX},
    {"dup", OPS(0x35, 0x12, 0x22), 0, 10},
    {"drop", OPS(0x35, 0x36, 0x13), 0, 5},
    {"over", OPS(0x35, 0x36, 0x14), 0, 5},
    {"pick", OPS(0x31, 0x32, 0x33, 0x15, 2), 0, 1},
    {"pick beyond", OPS(0x31, 0x15, 2), SEEP_STEP_BAD_CFI, 0},
    {"swap", OPS(0x35, 0x33, 0x16, 0x1c), 0, (uint64_t)-2},
    {"rot: the third is the top", OPS(0x31, 0x32, 0x33, 0x17), 0, 2},
    {"rot: the top is the third", OPS(0x31, 0x32, 0x33, 0x17, 0x13, 0x13), 0, 3},
    {"abs", OPS(0x09, 0xfb, 0x19), 0, 5},
    {"abs of a positive", OPS(0x35, 0x19), 0, 5},
    {"and", OPS(0x3c, 0x36, 0x1a), 0, 4},
    {"div", OPS(0x09, 0xf6, 0x33, 0x1b), 0, (uint64_t)-3},
    {"div by zero", OPS(0x35, 0x30, 0x1b), SEEP_STEP_BAD_CFI, 0},
    {"div that overflows", OPS(0x31, 0x08, 63, 0x24, 0x09, 0xff, 0x1b), 0, (uint64_t)1 << 63},
    {"minus", OPS(0x35, 0x37, 0x1c), 0, (uint64_t)-2},
    {"mod", OPS(0x3b, 0x34, 0x1d), 0, 3},
    {"mod by zero", OPS(0x3b, 0x30, 0x1d), SEEP_STEP_BAD_CFI, 0},
    {"mul", OPS(0x35, 0x09, 0xff, 0x1e), 0, (uint64_t)-5},
    {"neg", OPS(0x35, 0x1f), 0, (uint64_t)-5},
    {"not", OPS(0x35, 0x20), 0, ~(uint64_t)5},
    {"or", OPS(0x35, 0x3a, 0x21), 0, 15},
    {"plus", OPS(0x35, 0x3a, 0x22), 0, 15},
    {"plus_uconst", OPS(0x35, 0x23, 0x80, 1), 0, 133},
    {"shl", OPS(0x33, 0x34, 0x24), 0, 48},
    {"shl by 64", OPS(0x33, 0x08, 64, 0x24), 0, 0},
    {"shr", OPS(0x09, 0xff, 0x08, 60, 0x25), 0, 15},
    {"shr by 64", OPS(0x09, 0xff, 0x08, 64, 0x25), 0, 0},
    {"shra", OPS(0x09, 0xf0, 0x32, 0x26), 0, (uint64_t)-4},
    {"shra by 200", OPS(0x09, 0xf0, 0x08, 200, 0x26), 0, UINT64_MAX},
    {"xor", OPS(0x3c, 0x3a, 0x27), 0, 6},
    {"bra taken", OPS(0x35, 0x31, 0x28, 1, 0, 0x36), 0, 5},
    {"bra not taken", OPS(0x35, 0x30, 0x28, 1, 0, 0x36), 0, 6},
    {"eq", OPS(0x35, 0x35, 0x29), 0, 1},
    {"ge, signed", OPS(0x09, 0xff, 0x30, 0x2a), 0, 0},
    {"gt", OPS(0x31, 0x30, 0x2b), 0, 1},
    {"le", OPS(0x31, 0x30, 0x2c), 0, 0},
    {"lt, signed", OPS(0x09, 0xff, 0x30, 0x2d), 0, 1},
    {"ne", OPS(0x35, 0x35, 0x2e), 0, 0},
    {"skip", OPS(0x35, 0x2f, 1, 0, 0xff), 0, 5},
    {"skip to the end", OPS(0x35, 0x2f, 0, 0), 0, 5},
    {"skip beyond the end", OPS(0x35, 0x2f, 1, 0), SEEP_STEP_BAD_CFI, 0},
    {"skip before the beginning", OPS(0x35, 0x2f, 0xfb, 0xff), SEEP_STEP_BAD_CFI, 0},
    {"a loop that ends", OPS(0x3f, 0x31, 0x1c, 0x12, 0x28, 0xfa, 0xff), 0, 0},
    {"a loop for ever", OPS(0x2f, 0xfd, 0xff), SEEP_STEP_BAD_CFI, 0},
    {"a loop that pushes for ever", OPS(0x30, 0x2f, 0xfc, 0xff), SEEP_STEP_BAD_CFI, 0},
    {"lit31", OPS(0x4f), 0, 31},
    {"reg3", OPS(0x53), 0, 0x1300},
    {"breg3", OPS(0x73, 0x7f), 0, 0x12ff},
    {"breg of an unknown register", OPS(0x79, 0), SEEP_STEP_BAD_READ, 0},
    {"regx", OPS(0x90, SEEP_CFI_NR_REGS - 2), 0, 0x1000 + (SEEP_CFI_NR_REGS - 2) * 0x100},
    {"regx of a register not kept", OPS(0x90, SEEP_CFI_NR_REGS), SEEP_STEP_BAD_READ, 0},
    {"bregx", OPS(0x92, 3, 2), 0, 0x1302},
    {"deref_size 1", OPS(0x77, 5, 0x94, 1), 0, 5},
    {"deref_size 2", OPS(0x77, 6, 0x94, 2), 0, 0x0706},
    {"deref_size 4 over two words", OPS(0x77, 6, 0x94, 4), 0, 0x09080706},
    {"deref_size 8", OPS(0x77, 0, 0x94, 8), 0, 0x0706050403020100},
    {"deref_size of the last byte", OPS(0x77, 0xff, 1, 0x94, 1), 0, 0xff},
    {"deref_size over the end", OPS(0x77, 0xff, 1, 0x94, 2), SEEP_STEP_BAD_READ, 0},
    {"deref_size 0", OPS(0x77, 0, 0x94, 0), SEEP_STEP_BAD_CFI, 0},
    {"deref_size 9", OPS(0x77, 0, 0x94, 9), SEEP_STEP_BAD_CFI, 0},
    {"pop of nothing", OPS(0x13, 0x13), SEEP_STEP_BAD_CFI, 0},
    {"nothing left", OPS(0x13), SEEP_STEP_BAD_CFI, 0},
    {"plus of one", OPS(0x22), SEEP_STEP_BAD_CFI, 0},
    {"cut operand", OPS(0x0c, 1, 2, 3), SEEP_STEP_BAD_CFI, 0},
    {"cut LEB128", OPS(0x10, 0x80), SEEP_STEP_BAD_CFI, 0},
    {"cut distance", OPS(0x2f, 0), SEEP_STEP_BAD_CFI, 0},
    {"xderef", OPS(0x30, 0x18), SEEP_STEP_BAD_CFI, 0},
    {"fbreg", OPS(0x91, 0), SEEP_STEP_BAD_CFI, 0},
    {"call_frame_cfa", OPS(0x9c), SEEP_STEP_BAD_CFI, 0},
    {"stack_value", OPS(0x9f), SEEP_STEP_BAD_CFI, 0},
    {"unknown", OPS(0xff), SEEP_STEP_BAD_CFI, 0},
    {"operation 0", OPS(0x00), SEEP_STEP_BAD_CFI, 0},
#ifdef __x86_64__
    {"the pc", OPS(0x80, 0), 0, 0x123456789abc},
#endif
};

static void test_expressions(void **state) {
    struct seep_regs regs = some_regs();
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(expression_cases); i++) {
        const struct expression_case *c = &expression_cases[i];
        uint64_t value = 0x5a5a;
        enum seep_step status = seep_expression(c->ops, (uint32_t)c->nr_bytes, &regs, true, CFA_PUSHED,
                                                read_memory, NULL, &value);
        if (status != c->status || value != (status ? 0x5a5a : c->value))
            fail_msg("%s: status %d, value %#llx", c->name, status, (unsigned long long)value);
    }
    uint64_t value = 0x5a5a;
    assert_int_equal(seep_expression((const uint8_t *)"", 0, &regs, false, 0, read_memory, NULL, &value),
                     SEEP_STEP_BAD_CFI);
    assert_int_equal(value, 0x5a5a);
}

// Every expression of three bytes from a few that matter: ends, and touches nothing on failure.
static void test_expressions_of_any_bytes(void **state) {
    struct seep_regs regs = some_regs();
    for (unsigned i = 0; i < 256 * 256; i++) {
        const uint8_t ops[] = {(uint8_t)(0x30 + i % 7), (uint8_t)i, (uint8_t)(i >> 8), 0x77, 0, 0x22};
        uint8_t *exact = malloc(sizeof(ops));
        assert_non_null(exact);
        memcpy(exact, ops, sizeof(ops));
        uint64_t value = 0x5a5a5a;
        enum seep_step status =
            seep_expression(exact, sizeof(ops), &regs, i & 1, 1, read_memory, NULL, &value);
        assert_true(status == SEEP_STEP_OK || value == 0x5a5a5a);
        assert_true(status == SEEP_STEP_OK || status == SEEP_STEP_BAD_READ || status == SEEP_STEP_BAD_CFI);
        free(exact);
    }
}

static struct seep_cfi_row row_with(struct seep_cfi_rule cfa, struct seep_cfi_rule return_rule) {
    struct seep_cfi_row row = {.start = 0x500000, .end = 0x500001, .cfa = cfa, .return_reg = 16};
    row.regs[16] = return_rule;
    return row;
}

static void test_steps(void **state) {
    const struct seep_regs before = some_regs();
    struct seep_regs regs = before;
    struct seep_cfi_row row =
        row_with((struct seep_cfi_rule)REG(7, 16), (struct seep_cfi_rule)IS(OFFSET, -8));
    row.regs[3] = (struct seep_cfi_rule)REG(5, 0);
    row.regs[4] = (struct seep_cfi_rule)REG(9, 0); // not known
    row.regs[6] = (struct seep_cfi_rule)IS(OFFSET, -16);
    row.regs[12] = (struct seep_cfi_rule)IS(VAL_OFFSET, 32);
    row.regs[13] = (struct seep_cfi_rule)IS(UNDEFINED, 0);
    row.regs[14] = (struct seep_cfi_rule)IS(OFFSET, 0x10000); // not readable
    row.regs[15] = (struct seep_cfi_rule){
        .kind = SEEP_CFI_EXPRESSION, .expression = (const uint8_t *)"\x40\x22", .expression_bytes = 2};
    row.regs[10] = (struct seep_cfi_rule){
        .kind = SEEP_CFI_VAL_EXPRESSION, .expression = (const uint8_t *)"\x40\x22", .expression_bytes = 2};
    row.signal_frame = true;
    assert_int_equal(seep_step(&row, &regs, read_memory, NULL), SEEP_STEP_OK);
    assert_int_equal(regs.pc, 0x0f0e0d0c0b0a0908);
    assert_true(regs.pc_exact);
    assert_int_equal(regs.value[3], before.value[5]);
    assert_int_equal(regs.value[6], 0x0706050403020100);
    assert_int_equal(regs.value[12], MEMORY + 48);
    assert_int_equal(regs.value[15], 0x2726252423222120);
    assert_int_equal(regs.value[10], MEMORY + 32);
    assert_int_equal(regs.value[1], before.value[1]);
    assert_int_equal(~regs.known & 0xffff, 1u << 4 | 1u << 9 | 1u << 13 | 1u << 14);
#ifdef __x86_64__
    assert_int_equal(regs.value[7], MEMORY + 16);
#endif
}

static void test_steps_that_fail(void **state) {
    static const struct seep_cfi_rule sp = REG(7, 16), unknown = REG(9, 16), saved = IS(OFFSET, -8);
    const struct {
        const char *name;
        struct seep_cfi_rule cfa, return_rule;
        enum seep_step status;
    } cases[] = {
        {"end", sp, IS(UNDEFINED, 0), SEEP_STEP_END},
        {"CFA of an unknown register", unknown, saved, SEEP_STEP_BAD_READ},
        {"CFA of an unknown kind", IS(OFFSET, 0), saved, SEEP_STEP_BAD_CFI},
        {"CFA of a bad expression",
         {.kind = SEEP_CFI_VAL_EXPRESSION, .expression = (const uint8_t *)"\xff", .expression_bytes = 1},
         saved,
         SEEP_STEP_BAD_CFI},
        {"return address not readable", sp, IS(OFFSET, 0x10000), SEEP_STEP_BAD_READ},
        {"return address in an unknown register", sp, REG(9, 0), SEEP_STEP_BAD_READ},
#ifdef __x86_64__
        {"return address never saved", sp, IS(SAME, 0), SEEP_STEP_BAD_CFI},
#endif
    };
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(cases); i++) {
        const struct seep_regs before = some_regs();
        struct seep_regs regs = before;
        struct seep_cfi_row row = row_with(cases[i].cfa, cases[i].return_rule);
        enum seep_step status = seep_step(&row, &regs, read_memory, NULL);
        if (status != cases[i].status || memcmp(&regs, &before, sizeof(regs)))
            fail_msg("%s: status %d", cases[i].name, status);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_expressions),
        cmocka_unit_test(test_expressions_of_any_bytes),
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_steps_that_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
