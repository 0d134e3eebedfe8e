// SPDX-License-Identifier: BSD-2-Clause
//
// Unwind tables of 32-bit ARM from bytes made here: each instruction, each way to store instructions, the
// search, and damage. The objects are copied to the end of an allocation of exactly their size, so that a
// build with AddressSanitizer sees any read beyond.

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "unwind/ehabi.h"

enum {
    START = 0x10000, // address of the object: the index, then tables
    CODE = 0x20000,  // of the first function; others follow each 256 bytes
    APART = 0x100,
    R7 = 7,
    SP = 13,
    LR = 14,
};

struct table {
    uint32_t words[600];
    unsigned nr;       // words
    unsigned nr_index; // entries, all made before any table
};

static uint32_t address_of(unsigned word) {
    return START + 4 * word;
}

static uint32_t relative(uint32_t to, unsigned word) {
    return (to - address_of(word)) & 0x7fffffff;
}

static void add_entry(struct table *table, uint32_t function, uint32_t content) {
    table->words[table->nr] = relative(function, table->nr);
    table->words[table->nr + 1] = content;
    table->nr += 2;
    table->nr_index++;
}

static int row_of(const struct table *table, uint32_t pc, struct seep_cfi_row *ret_row) {
    size_t size = table->nr * sizeof(uint32_t);
    uint8_t *bytes = malloc(size);
    assert_non_null(bytes);
    memcpy(bytes, table->words, size);
    struct seep_cfi_object object = {.bytes = bytes,
                                     .start = START,
                                     .size_bytes = size,
                                     .eh_frame_hdr = START,
                                     .exidx_bytes = table->nr_index * 8};
    int status = seep_ehabi_row_at(&object, pc, ret_row);
    free(bytes);
    return status;
}

// Ways to store instructions.
enum form { INLINE, SHORT, LONG, LONG_2, OF_COMPILER, NR_FORMS };

// A function at CODE with these instructions, and one after it that cannot be unwound. false: the form has no
// room for them.
static bool make(struct table *table, enum form form, const uint8_t *code, unsigned nr) {
    static const unsigned head_bytes[NR_FORMS] = {1, 1, 2, 2, 1};
    static const uint8_t heads[NR_FORMS] = {0x80, 0x80, 0x81, 0x82, 0};
    uint8_t bytes[1024];
    unsigned at = head_bytes[form], end = at + nr;
    memset(bytes, 0xb0, sizeof(bytes)); // finish
    memcpy(bytes + at, code, nr);
    unsigned nr_words = (end + 3) / 4;
    if (form <= SHORT && nr_words > 1)
        return false;
    bytes[0] = heads[form];
    if (form == OF_COMPILER)
        bytes[0] = (uint8_t)(nr_words - 1);
    else if (form > SHORT)
        bytes[1] = (uint8_t)(nr_words - 1);
    *table = (struct table){.nr = 0};
    add_entry(table, CODE, form == INLINE ? 0 : relative(address_of(4), 1));
    add_entry(table, CODE + APART, 1);
    if (form == OF_COMPILER)
        table->words[table->nr] = relative(0x30001, table->nr); // its personality routine
    table->nr += form == OF_COMPILER;
    for (unsigned i = 0; i < nr_words; i++) {
        uint32_t word = (uint32_t)bytes[4 * i] << 24 | (uint32_t)bytes[4 * i + 1] << 16 |
                        (uint32_t)bytes[4 * i + 2] << 8 | bytes[4 * i + 3];
        if (form == INLINE)
            table->words[1] = word;
        else
            table->words[table->nr++] = word;
    }
    return true;
}

struct slot {
    unsigned reg;
    int64_t offset; // from the CFA
};

struct known {
    const char *name;
    unsigned nr_bytes;
    uint8_t code[8];
    int status;
    unsigned cfa_reg;
    int64_t cfa_offset;
    struct slot slots[16]; // as long as offsets are not 0
    bool signal;
};

static const struct known known[] = {
    {"nothing: a leaf", 0, {0}, 0, SP, 0, {{0}}},
    {"finish", 1, {0xb0}, 0, SP, 0, {{0}}},
    {"nothing counts after finish", 3, {0x00, 0xb0, 0x3f}, 0, SP, 4, {{0}}},
    {"vsp + 4", 1, {0x00}, 0, SP, 4, {{0}}},
    {"vsp + 256", 1, {0x3f}, 0, SP, 256, {{0}}},
    {"vsp - 4, vsp - 256", 2, {0x40, 0x7f}, 0, SP, -260, {{0}}},
    {"pop {r4}", 2, {0x80, 0x01}, 0, SP, 4, {{4, -4}}},
    {"pop {r11, lr}", 2, {0x84, 0x80}, 0, SP, 8, {{11, -8}, {14, -4}}},
    {"pop {r12, pc}: that is the return address", 2, {0x89, 0x00}, 0, SP, 8, {{12, -8}, {14, -4}, {15, -4}}},
    {"pop {lr, pc}: pc is the return address", 2, {0x8c, 0x00}, 0, SP, 8, {{14, -4}, {15, -4}}},
    {"refuse to unwind", 2, {0x80, 0x00}, SEEP_CFI_NONE, 0, 0, {{0}}},
    {"pop {r4}, then refuse", 3, {0xa0, 0x80, 0x00}, SEEP_CFI_NONE, 0, 0, {{0}}},
    {"pop {r4}", 1, {0xa0}, 0, SP, 4, {{4, -4}}},
    {"pop {r4-r7}", 1, {0xa3}, 0, SP, 16, {{4, -16}, {5, -12}, {6, -8}, {7, -4}}},
    {"pop {r4-r11, lr}",
     1,
     {0xaf},
     0,
     SP,
     36,
     {{4, -36}, {5, -32}, {6, -28}, {7, -24}, {8, -20}, {9, -16}, {10, -12}, {11, -8}, {14, -4}}},
    {"pop {r3}", 2, {0xb1, 0x08}, 0, SP, 4, {{3, -4}}},
    {"pop {r0-r3}", 2, {0xb1, 0x0f}, 0, SP, 16, {{0, -16}, {1, -12}, {2, -8}, {3, -4}}},
    {"pop {}: spare", 2, {0xb1, 0x00}, SEEP_CFI_BAD, 0, 0, {{0}}},
    {"pop {r4} as r0-r3: spare", 2, {0xb1, 0x10}, SEEP_CFI_BAD, 0, 0, {{0}}},
    {"vsp + 0x204", 2, {0xb2, 0x00}, 0, SP, 0x204, {{0}}},
    {"vsp + 0x204 + 4 * 0x81", 3, {0xb2, 0x81, 0x01}, 0, SP, 0x204 + 4 * 0x81, {{0}}},
    {"vsp + 1 GiB and more", 6, {0xb2, 0xff, 0xff, 0xff, 0xff, 0x00}, 0, SP, 0x204 + 4 * 0xfffffffLL, {{0}}},
    {"vsp + 4 GiB and more", 6, {0xb2, 0xff, 0xff, 0xff, 0xff, 0x0f}, SEEP_CFI_BAD, 0, 0, {{0}}},
    {"a number without end", 7, {0xb2, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}, SEEP_CFI_BAD, 0, 0, {{0}}},
    {"pop {d8-d9}, by FSTMX", 2, {0xb3, 0x81}, 0, SP, 20, {{0}}},
    {"pop {d15-d16}, by FSTMX: no such", 2, {0xb3, 0xf1}, SEEP_CFI_BAD, 0, 0, {{0}}},
    {"pop {ra_auth_code}", 1, {0xb4}, 0, SP, 4, {{0}}},
    {"it was made of this vsp", 2, {0x00, 0xb5}, 0, SP, 4, {{0}}},
    {"spare", 1, {0xb6}, SEEP_CFI_BAD, 0, 0, {{0}}},
    {"spare", 1, {0xb7}, SEEP_CFI_BAD, 0, 0, {{0}}},
    {"pop {d8}, by FSTMX", 1, {0xb8}, 0, SP, 12, {{0}}},
    {"pop {d8-d15}, by FSTMX", 1, {0xbf}, 0, SP, 68, {{0}}},
    {"pop {wR10}", 1, {0xc0}, 0, SP, 8, {{0}}},
    {"pop {wR10-wR15}", 1, {0xc5}, 0, SP, 48, {{0}}},
    {"pop {wR2-wR3}", 2, {0xc6, 0x21}, 0, SP, 16, {{0}}},
    {"pop {wCGR0, wCGR3}", 2, {0xc7, 0x09}, 0, SP, 8, {{0}}},
    {"pop {}: spare", 2, {0xc7, 0x00}, SEEP_CFI_BAD, 0, 0, {{0}}},
    {"pop {wCGR4}: spare", 2, {0xc7, 0x10}, SEEP_CFI_BAD, 0, 0, {{0}}},
    {"pop {d16-d31}", 2, {0xc8, 0x0f}, 0, SP, 128, {{0}}},
    {"pop {d17-d32}: no such", 2, {0xc8, 0x1f}, SEEP_CFI_BAD, 0, 0, {{0}}},
    {"pop {d0-d15}", 2, {0xc9, 0x0f}, 0, SP, 128, {{0}}},
    {"spare", 1, {0xca}, SEEP_CFI_BAD, 0, 0, {{0}}},
    {"spare", 1, {0xcf}, SEEP_CFI_BAD, 0, 0, {{0}}},
    {"pop {d8}", 1, {0xd0}, 0, SP, 8, {{0}}},
    {"pop {d8-d15}", 1, {0xd7}, 0, SP, 64, {{0}}},
    {"spare", 1, {0xd8}, SEEP_CFI_BAD, 0, 0, {{0}}},
    {"spare", 1, {0xff}, SEEP_CFI_BAD, 0, 0, {{0}}},
    {"a frame of gcc: vsp = r7, + 8, pop {r7, lr}",
     4,
     {0x97, 0x01, 0x84, 0x08},
     0,
     R7,
     16,
     {{7, -8}, {14, -4}}},
    {"vsp = sp: reserved", 1, {0x9d}, SEEP_CFI_BAD, 0, 0, {{0}}},
    {"vsp = pc: reserved", 1, {0x9f}, SEEP_CFI_BAD, 0, 0, {{0}}},
    {"vsp = r7 after pop {r7}", 3, {0xa3, 0x97, 0x00}, SEEP_CFI_BAD, 0, 0, {{0}}},
    {"vsp = r7 after pop {lr}", 3, {0x84, 0x00, 0x97}, SEEP_CFI_BAD, 0, 0, {{0}}},
    {"pop {sp}", 2, {0x82, 0x00}, 0, SP, 4, {{13, -4}}},
    {"anything after pop {sp}", 3, {0x82, 0x00, 0x00}, SEEP_CFI_BAD, 0, 0, {{0}}},
    {"a signal: vsp + 160, pop {r0-r3}, pop {r4-pc}",
     5,
     {0x27, 0xb1, 0x0f, 0x8f, 0xff},
     0,
     SP,
     224,
     {{0, -64},
      {1, -60},
      {2, -56},
      {3, -52},
      {4, -48},
      {5, -44},
      {6, -40},
      {7, -36},
      {8, -32},
      {9, -28},
      {10, -24},
      {11, -20},
      {12, -16},
      {13, -12},
      {14, -4},
      {15, -4}},
     true},
};

static void check_row(const struct known *one, const struct seep_cfi_row *row) {
    uint64_t seen = 0;
    assert_int_equal(row->cfa.kind, SEEP_CFI_REGISTER);
    assert_int_equal(row->cfa.reg, one->cfa_reg);
    assert_int_equal(row->cfa.offset, one->cfa_offset);
    assert_int_equal(row->return_reg, LR);
    assert_int_equal(row->signal_frame, one->signal);
    assert_int_equal(row->start, CODE);
    assert_int_equal(row->end, CODE + APART);
    for (unsigned i = 0; i < 16 && one->slots[i].offset; i++) {
        unsigned reg = one->slots[i].reg;
        assert_int_equal(row->regs[reg].kind, SEEP_CFI_OFFSET);
        assert_int_equal(row->regs[reg].offset, one->slots[i].offset);
        seen |= UINT64_C(1) << reg;
    }
    for (unsigned reg = 0; reg < 16; reg++)
        if (!(seen >> reg & 1))
            assert_int_equal(row->regs[reg].kind, SEEP_CFI_SAME);
}

// Each instruction, stored in each way.
static void test_instructions(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        for (enum form form = INLINE; form < NR_FORMS; form++) {
            struct table table;
            struct seep_cfi_row row;
            if (!make(&table, form, known[i].code, known[i].nr_bytes))
                continue;
            int status = row_of(&table, CODE + 0x10, &row);
            if (status != known[i].status)
                print_error("%s, form %d: status %d\n", known[i].name, (int)form, status);
            assert_int_equal(status, known[i].status);
            if (!status)
                check_row(&known[i], &row);
        }
    }
}

// clang saves r8 and r9 below the frame that r7 points to: where is known only from sp, which is not that of
// the row.
static void test_registers_of_another_base(void **state) {
    (void)state;
    static const uint8_t code[] = {0x80, 0x30, 0x97, 0x41,
                                   0xab}; // pop {r8, r9}; vsp = r7 - 8; pop {r4-r7, lr}
    struct table table;
    struct seep_cfi_row row;
    assert_true(make(&table, LONG, code, sizeof(code)));
    assert_int_equal(row_of(&table, CODE, &row), SEEP_CFI_OK);
    assert_int_equal(row.cfa.reg, R7);
    assert_int_equal(row.cfa.offset, 12);
    assert_int_equal(row.regs[8].kind, SEEP_CFI_UNDEFINED);
    assert_int_equal(row.regs[9].kind, SEEP_CFI_UNDEFINED);
    assert_int_equal(row.regs[R7].offset, -8);
    assert_int_equal(row.regs[LR].offset, -4);
}

static void test_longest(void **state) {
    (void)state;
    uint8_t code[2 + 4 * 255];
    memset(code, 0x00, sizeof(code)); // vsp + 4
    struct table table;
    struct seep_cfi_row row;
    assert_true(make(&table, LONG, code, sizeof(code)));
    assert_int_equal(row_of(&table, CODE, &row), SEEP_CFI_OK);
    assert_int_equal(row.cfa.offset, 4 * (int64_t)sizeof(code));
    table.nr--; // its last word is not there
    assert_int_equal(row_of(&table, CODE, &row), SEEP_CFI_BAD);
}

// An index of `nr` functions, each with a frame of another size; every third begins with Thumb code.
static void test_search(void **state) {
    (void)state;
    for (unsigned nr = 1; nr <= 20; nr++) {
        struct table table = {.nr = 0};
        struct seep_cfi_row row;
        for (unsigned i = 0; i < nr; i++)
            add_entry(&table, CODE + i * APART + (i % 3 == 2), 0x8000b0b0 | i << 16);
        assert_int_equal(row_of(&table, CODE - 1, &row), SEEP_CFI_NONE);
        for (unsigned i = 0; i < nr; i++) {
            static const uint32_t places[] = {0, 1, APART / 2, APART - 1};
            for (unsigned place = 0; place < 4; place++) {
                assert_int_equal(row_of(&table, CODE + i * APART + places[place], &row), SEEP_CFI_OK);
                assert_int_equal(row.cfa.offset, 4 * (i + 1));
                assert_int_equal(row.start, CODE + i * APART);
            }
        }
    }
}

static void test_nothing_covers(void **state) {
    (void)state;
    struct table table;
    struct seep_cfi_row row = {.start = 77};
    assert_true(make(&table, INLINE, (const uint8_t[]){0xb0}, 1));
    assert_int_equal(row_of(&table, CODE - 2, &row), SEEP_CFI_NONE);
    assert_int_equal(row_of(&table, CODE + APART, &row), SEEP_CFI_NONE); // can't unwind
    table.nr_index = 0;
    assert_int_equal(row_of(&table, CODE, &row), SEEP_CFI_NONE);
    assert_int_equal(row.start, 77);
}

static void test_damage(void **state) {
    (void)state;
    static const struct {
        unsigned word;
        uint32_t value;
    } wrong[] = {
        {0, 0x80000000 | (CODE - START)}, // bit 31 of a function's address
        {1, 0x81b0b0b0},                  // a routine that has more words than there is room for
        {1, 0x90b0b0b0},                  // reserved
        {1, 0x00010000},                  // a table beyond the object
        {1, 0x7fffff00},                  // before it
        {1, 0x0000000d},                  // not aligned
        {4, 0x83b0b0b0},                  // no such routine
        {4, 0xc0b0b0b0},                  // reserved
        {4, 0x81ffb0b0},                  // more words than there are
        {4, 0x00000000},                  // a routine of a compiler, and the object ends
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct table table;
        struct seep_cfi_row row;
        assert_true(make(&table, SHORT, (const uint8_t[]){0xa8}, 1));
        assert_int_equal(row_of(&table, CODE, &row), SEEP_CFI_OK);
        table.words[wrong[i].word] = wrong[i].value;
        int status = row_of(&table, CODE, &row);
        if (status != SEEP_CFI_BAD)
            print_error("damage %zu: status %d\n", i, status);
        assert_int_equal(status, SEEP_CFI_BAD);
    }
}

// Cut at each byte, and each byte overwritten: nothing is read beyond (AddressSanitizer sees it).
static void test_cut_and_overwritten(void **state) {
    (void)state;
    static const uint8_t code[] = {0x97, 0x41, 0x84, 0x0d, 0xb2, 0x81, 0x01};
    for (enum form form = SHORT; form < NR_FORMS; form++) {
        struct table whole;
        struct seep_cfi_row row;
        if (!make(&whole, form, code, sizeof(code)))
            continue;
        for (unsigned nr = 0; nr < whole.nr; nr++) {
            struct table cut = whole;
            cut.nr = nr;
            assert_int_not_equal(row_of(&cut, CODE, &row), SEEP_CFI_OK);
        }
        for (unsigned at = 0; at < whole.nr * 4; at++) {
            for (unsigned value = 0; value < 256; value++) {
                struct table other = whole;
                ((uint8_t *)other.words)[at] = (uint8_t)value;
                int status = row_of(&other, CODE, &row);
                assert_true(status == SEEP_CFI_OK || status == SEEP_CFI_NONE || status == SEEP_CFI_BAD);
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_instructions),
        cmocka_unit_test(test_registers_of_another_base),
        cmocka_unit_test(test_longest),
        cmocka_unit_test(test_search),
        cmocka_unit_test(test_nothing_covers),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_cut_and_overwritten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
