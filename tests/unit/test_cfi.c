// SPDX-License-Identifier: BSD-2-Clause
//
// Call-frame information from bytes made here: every operation, pointer encoding and augmentation, the
// packing of rows, and damage (cut, overwritten, lying). The objects are copied to the end of an allocation
// of exactly their size, so that a build with AddressSanitizer sees any read beyond.

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "unwind/rule.h"

#define START  0x400000u // address of the object
#define CODE   0x500000u // what its FDE covers: [CODE, CODE + 0x1000)
#define LENGTH 0x1000u

// ---- building --------------------------------------------------------------------------------------

struct bytes {
    uint8_t at[2048];
    size_t size;
};

static void put(struct bytes *bytes, uint64_t value, unsigned nr_bytes) {
    for (unsigned i = 0; i < nr_bytes; i++)
        bytes->at[bytes->size++] = (uint8_t)(value >> 8 * i);
}

static void put_at(struct bytes *bytes, size_t at, uint64_t value, unsigned nr_bytes) {
    for (unsigned i = 0; i < nr_bytes; i++)
        bytes->at[at + i] = (uint8_t)(value >> 8 * i);
}

static void put_leb(struct bytes *bytes, int64_t value) {
    for (; value < -64 || value > 63; value >>= 7)
        put(bytes, (uint64_t)value | 0x80, 1);
    put(bytes, value & 0x7f, 1);
}

static void put_all(struct bytes *bytes, const void *from, size_t nr_bytes) {
    memcpy(bytes->at + bytes->size, from, nr_bytes);
    bytes->size += nr_bytes;
}

// A pointer in an encoding; the bases that this knows: absolute, pcrel, datarel (START), aligned.
static void put_encoded(struct bytes *bytes, uint8_t encoding, uint64_t value) {
    uint8_t base = encoding & 0x70;
    if (base == 0x50)
        while ((START + bytes->size) % 8)
            put(bytes, 0, 1);
    if (base == 0x10)
        value -= START + bytes->size;
    if (base == 0x30)
        value -= START;
    switch (encoding & 0x0f) {
    case 0x01: // put_leb writes signed ones; the values here are small and positive either way
    case 0x09:
        put_leb(bytes, (int64_t)value);
        break;
    case 0x02:
    case 0x0a:
        put(bytes, value, 2);
        break;
    case 0x03:
    case 0x0b:
        put(bytes, value, 4);
        break;
    default:
        put(bytes, value, 8);
        break;
    }
}

struct spec {
    uint8_t table;   // encoding of the search table
    uint8_t count;   // of its count
    uint8_t frame;   // of eh_frame_ptr
    uint8_t code;    // of addresses in the FDE
    uint8_t version; // of the CIE
    const char *augmentation;
    uint8_t personality; // encoding, if the augmentation has P
    bool wide;           // 64-bit lengths
    int code_align;
    int data_align;
    int return_reg;
    const uint8_t *cie_program;
    size_t cie_bytes;
    const uint8_t *program;
    size_t program_bytes;
};

static const uint8_t usual_cie[] = {0x0c, 7, 8, 0x90, 1}; // def_cfa rsp+8; rip at cfa-8

static const struct spec usual = {
    .table = 0x3b,
    .count = 0x03,
    .frame = 0x1b,
    .code = 0x1b,
    .version = 1,
    .augmentation = "zR",
    .personality = 0x9b,
    .code_align = 1,
    .data_align = -8,
    .return_reg = 16,
    .cie_program = usual_cie,
    .cie_bytes = sizeof(usual_cie),
};

// Begins an entry; finish_entry() sets its length. Returns where the content begins.
static size_t begin_entry(struct bytes *bytes, bool wide) {
    put(bytes, 0xffffffff, 4);
    if (wide)
        put(bytes, 0, 8);
    return bytes->size;
}

static void finish_entry(struct bytes *bytes, bool wide, size_t begin) {
    put_at(bytes, begin - (wide ? 8 : 4), bytes->size - begin, wide ? 8 : 4);
}

static void put_cie(struct bytes *bytes, const struct spec *spec) {
    size_t begin = begin_entry(bytes, spec->wide);
    put(bytes, 0, 4);
    put(bytes, spec->version, 1);
    put_all(bytes, spec->augmentation, strlen(spec->augmentation) + 1);
    if (spec->version == 4)
        put(bytes, 8, 2); // address size, no segments
    put_leb(bytes, spec->code_align);
    put_leb(bytes, spec->data_align);
    put(bytes, (uint64_t)spec->return_reg, 1);
    if (spec->augmentation[0] == 'z') {
        size_t length_at = bytes->size;
        put(bytes, 0, 1);
        for (const char *letter = spec->augmentation + 1; *letter; letter++) {
            if (*letter == 'R')
                put(bytes, spec->code, 1);
            if (*letter == 'L')
                put(bytes, 0x1b, 1);
            if (*letter == 'P') {
                put(bytes, spec->personality, 1);
                if (spec->personality != 0xff)
                    put_encoded(bytes, spec->personality, 0x123456);
            }
        }
        bytes->at[length_at] = (uint8_t)(bytes->size - length_at - 1);
    }
    put_all(bytes, spec->cie_program, spec->cie_bytes);
    finish_entry(bytes, spec->wide, begin);
}

struct image {
    struct bytes bytes;
    size_t count_at;
    size_t table_at;
    size_t cie_at;
    size_t fde_at;
    size_t pointer_at; // of the FDE to its CIE
    struct seep_cfi_object object;
};

// One CIE and one FDE, and the search table in front of them. The last byte is the FDE's.
static void build(const struct spec *spec, struct image *image) {
    struct bytes *bytes = &image->bytes;
    memset(image, 0, sizeof(*image));
    put(bytes, 1, 1);
    put(bytes, spec->frame, 1);
    put(bytes, spec->count, 1);
    put(bytes, spec->table, 1);
    if (spec->frame != 0xff)
        put_encoded(bytes, spec->frame, START + 100);
    image->count_at = bytes->size;
    if (spec->count != 0xff)
        put_encoded(bytes, spec->count, 1);
    image->table_at = bytes->size;
    bytes->size += 32;
    image->cie_at = bytes->size;
    put_cie(bytes, spec);
    image->fde_at = bytes->size;
    size_t begin = begin_entry(bytes, spec->wide);
    image->pointer_at = begin;
    put(bytes, begin - image->cie_at, 4);
    put_encoded(bytes, spec->code, CODE);
    put_encoded(bytes, spec->code & 0x0f, LENGTH);
    if (spec->augmentation[0] == 'z')
        put(bytes, 0, 1);
    if (spec->program)
        put_all(bytes, spec->program, spec->program_bytes);
    finish_entry(bytes, spec->wide, begin);
    struct bytes table = {.size = image->table_at};
    if (spec->table != 0xff) {
        put_encoded(&table, spec->table, CODE);
        put_encoded(&table, spec->table, START + image->fde_at);
        memcpy(bytes->at + image->table_at, table.at + image->table_at, table.size - image->table_at);
    }
    image->object = (struct seep_cfi_object){
        .bytes = bytes->at, .start = START, .size_bytes = bytes->size, .eh_frame_hdr = START};
}

static void check_row(const struct seep_cfi_object *object, uint64_t pc, const struct seep_cfi_row *row) {
    const uint8_t *end = object->bytes + object->size_bytes;
    assert_true(row->start <= pc && pc < row->end);
    assert_true(row->return_reg < SEEP_CFI_NR_REGS);
    assert_true(row->cfa.kind == SEEP_CFI_REGISTER || row->cfa.kind == SEEP_CFI_VAL_EXPRESSION);
    for (int i = -1; i < SEEP_CFI_NR_REGS; i++) {
        const struct seep_cfi_rule *rule = i < 0 ? &row->cfa : &row->regs[i];
        assert_true(rule->kind <= SEEP_CFI_VAL_EXPRESSION && rule->reg < SEEP_CFI_NR_REGS);
        if (rule->kind == SEEP_CFI_EXPRESSION || rule->kind == SEEP_CFI_VAL_EXPRESSION)
            assert_true(rule->expression >= object->bytes && rule->expression <= end &&
                        rule->expression_bytes <= (size_t)(end - rule->expression));
    }
}

// From a copy of exactly object->size_bytes; expressions then point into `object` itself.
static int row_at(const struct seep_cfi_object *object, uint64_t pc, struct seep_cfi_row *ret_row) {
    struct seep_cfi_object copy = *object;
    uint8_t *bytes = malloc(object->size_bytes + 1);
    assert_non_null(bytes);
    memcpy(bytes + 1, object->bytes, object->size_bytes);
    copy.bytes = bytes + 1;
    struct seep_cfi_row row;
    memset(&row, 0x5a, sizeof(row));
    int status = seep_cfi_row_at(&copy, pc, &row);
    if (status == SEEP_CFI_OK) {
        check_row(&copy, pc, &row);
        struct seep_rule rule = seep_rule_at(&copy, pc);
        assert_true(seep_rule_kind(rule) != SEEP_RULE_UNKNOWN && seep_rule_kind(rule) < SEEP_RULE_NO_CFI);
        for (int i = -1; i < SEEP_CFI_NR_REGS; i++) {
            struct seep_cfi_rule *moved = i < 0 ? &row.cfa : &row.regs[i];
            if (moved->expression_bytes)
                moved->expression = object->bytes + (moved->expression - copy.bytes);
        }
        *ret_row = row;
    } else {
        for (size_t i = 0; i < sizeof(row); i++)
            assert_int_equal(((uint8_t *)&row)[i], 0x5a); // untouched on failure
        assert_int_equal(seep_rule_kind(seep_rule_at(&copy, pc)),
                         status == SEEP_CFI_NONE ? SEEP_RULE_NO_CFI : SEEP_RULE_BAD);
    }
    free(bytes);
    return status;
}

static int row_of(const struct spec *spec, uint64_t pc, struct seep_cfi_row *ret_row) {
    static struct image image; // the row's expressions point into it
    build(spec, &image);
    return row_at(&image.object, pc, ret_row);
}

static int row_of_program(const uint8_t *program, size_t nr_bytes, uint64_t pc,
                          struct seep_cfi_row *ret_row) {
    struct spec spec = usual;
    spec.program = program;
    spec.program_bytes = nr_bytes;
    return row_of(&spec, pc, ret_row);
}

// ---- operations ------------------------------------------------------------------------------------

#define OPS(...) {__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__})
#define REG(n, o)                                                                                            \
    { .kind = SEEP_CFI_REGISTER, .reg = (n), .offset = (o) }
#define IS(k, o)                                                                                             \
    { .kind = SEEP_CFI_##k, .offset = (o) }
#define CFA REG(7, 8)

struct op_case {
    const char *name;
    uint8_t program[40];
    size_t nr_bytes;
    struct seep_cfi_rule cfa;
    unsigned reg;
    struct seep_cfi_rule rule;
};

// All asked at CODE + 0x20, with the usual CIE.
static const struct op_case op_cases[] = {
    {"nothing", OPS(0), CFA, 16, IS(OFFSET, -8)},
    {"offset", OPS(0x80 | 6, 2), CFA, 6, IS(OFFSET, -16)},
    {"offset, long", OPS(0x80 | 6, 0x80, 1), CFA, 6, IS(OFFSET, -1024)},
    {"offset_extended", OPS(0x05, 6, 3), CFA, 6, IS(OFFSET, -24)},
    {"offset_extended of a register not kept", OPS(0x05, 0x80, 1, 3), CFA, 6, IS(SAME, 0)},
    {"offset_extended_sf", OPS(0x11, 6, 0x7f), CFA, 6, IS(OFFSET, 8)},
    {"negative_offset_extended", OPS(0x2f, 6, 2), CFA, 6, IS(OFFSET, 16)},
    {"val_offset", OPS(0x14, 6, 2), CFA, 6, IS(VAL_OFFSET, -16)},
    {"val_offset_sf", OPS(0x15, 6, 0x7e), CFA, 6, IS(VAL_OFFSET, 16)},
    {"undefined", OPS(0x07, 16), CFA, 16, IS(UNDEFINED, 0)},
    {"same_value", OPS(0x86, 2, 0x08, 6), CFA, 6, IS(SAME, 0)},
    {"register", OPS(0x09, 6, 3), CFA, 6, REG(3, 0)},
    {"register not kept", OPS(0x09, 6, 50), CFA, 6, IS(UNDEFINED, 50)},
    {"restore", OPS(0x07, 16, 0xc0 | 16), CFA, 16, IS(OFFSET, -8)},
    {"restore of what the CIE left", OPS(0x86, 2, 0xc0 | 6), CFA, 6, IS(SAME, 0)},
    {"restore_extended", OPS(0x07, 16, 0x06, 16), CFA, 16, IS(OFFSET, -8)},
    {"restore_extended of a register not kept", OPS(0x06, 0xff, 1), CFA, 16, IS(OFFSET, -8)},
    {"def_cfa", OPS(0x0c, 6, 16), REG(6, 16), 16, IS(OFFSET, -8)},
    {"def_cfa_sf", OPS(0x12, 6, 0x7e), REG(6, 16), 16, IS(OFFSET, -8)},
    {"def_cfa_register", OPS(0x0d, 6), REG(6, 8), 16, IS(OFFSET, -8)},
    {"def_cfa_offset", OPS(0x0e, 0x90, 1), REG(7, 0x90), 16, IS(OFFSET, -8)},
    {"def_cfa_offset_sf", OPS(0x13, 0x7d), REG(7, 24), 16, IS(OFFSET, -8)},
    {"advance_loc", OPS(0x40 | 0x20, 0x0e, 16, 0x41, 0x0e, 24), REG(7, 16), 16, IS(OFFSET, -8)},
    {"advance_loc1", OPS(0x02, 0x20, 0x0e, 16, 0x02, 1, 0x0e, 24), REG(7, 16), 16, IS(OFFSET, -8)},
    {"advance_loc2", OPS(0x03, 0x20, 0, 0x0e, 16, 0x03, 0, 1, 0x0e, 24), REG(7, 16), 16, IS(OFFSET, -8)},
    {"advance_loc4", OPS(0x04, 0x20, 0, 0, 0, 0x0e, 16, 0x04, 0, 0, 1, 0, 0x0e, 24), REG(7, 16), 16,
     IS(OFFSET, -8)},
    {"advance_loc8", OPS(0x1d, 0x20, 0, 0, 0, 0, 0, 0, 0, 0x0e, 16, 0x1d, 0, 0, 0, 0, 1, 0, 0, 0, 0x0e, 24),
     REG(7, 16), 16, IS(OFFSET, -8)},
    {"what follows is not read", OPS(0x61, 0x3f), CFA, 16, IS(OFFSET, -8)},
    {"remember and restore state", OPS(0x0a, 0x0c, 6, 32, 0x86, 2, 0x0b), CFA, 6, IS(SAME, 0)},
    {"remembered eight deep", OPS(0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0e, 32, 0x0a, 0x0e, 40, 0x0b),
     REG(7, 32), 16, IS(OFFSET, -8)},
    {"GNU_args_size", OPS(0x2e, 32), CFA, 16, IS(OFFSET, -8)},
    {"negate_ra_state", OPS(0x2d, 0x2c), CFA, 16, IS(OFFSET, -8)},
};

static void test_operations(void **state) {
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(op_cases); i++) {
        const struct op_case *c = &op_cases[i];
        struct seep_cfi_row row;
        int status = row_of_program(c->program, c->nr_bytes, CODE + 0x20, &row);
        const struct seep_cfi_rule *rule = &row.regs[c->reg];
        if (status || row.cfa.kind != c->cfa.kind || row.cfa.reg != c->cfa.reg ||
            row.cfa.offset != c->cfa.offset || rule->kind != c->rule.kind || rule->reg != c->rule.reg ||
            (rule->kind != SEEP_CFI_UNDEFINED && rule->offset != c->rule.offset))
            fail_msg("%s: status %d", c->name, status);
        assert_int_equal(row.return_reg, 16);
        assert_false(row.signal_frame);
        assert_int_equal(row.args_bytes, c->program[0] == 0x2e ? 32 : 0);
    }
}

static void test_bad_operations(void **state) {
    static const struct {
        const char *name;
        uint8_t program[24];
        size_t nr_bytes;
    } cases[] = {
        {"unknown operation", OPS(0x3f)},
        {"unknown operation in the middle", OPS(0x17)},
        {"CFA from a register not kept", OPS(0x0c, 34, 8)},
        {"restore_state without remember_state", OPS(0x0b)},
        {"remembered too deep", OPS(0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a)},
        {"def_cfa_register after an expression", OPS(0x0f, 1, 0x57, 0x0d, 6)},
        {"def_cfa_offset after an expression", OPS(0x0f, 1, 0x57, 0x0e, 6)},
        {"set_loc backwards", OPS(0x41, 0x01, 0, 0, 0xf0, 0xff)},
        {"advance_loc8 over the end of addresses", OPS(0x1d, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)},
        {"no operand", OPS(0x86)},
        {"half an operand", OPS(0x0e, 0x80)},
        {"an operand of more than 64 bits",
         OPS(0x0e, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2)},
        {"a block longer than the program", OPS(0x10, 6, 3, 0x77, 0)},
        {"a block of nearly 2^64 bytes",
         OPS(0x16, 6, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1)},
    };
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(cases); i++) {
        struct seep_cfi_row row;
        int status = row_of_program(cases[i].program, cases[i].nr_bytes, CODE + 0x20, &row);
        if (status != SEEP_CFI_BAD)
            fail_msg("%s: status %d", cases[i].name, status);
    }
}

static void test_cie_programs(void **state) {
    struct spec spec = usual;
    struct seep_cfi_row row;
    static const uint8_t advances[] = {0x0c, 7, 8, 0x41}, restores[] = {0x0c, 7, 8, 0xd0},
                         nothing[] = {0x90, 1};
    spec.cie_program = advances;
    spec.cie_bytes = sizeof(advances);
    assert_int_equal(row_of(&spec, CODE, &row), SEEP_CFI_BAD);
    spec.cie_program = restores;
    spec.cie_bytes = sizeof(restores);
    assert_int_equal(row_of(&spec, CODE, &row), SEEP_CFI_BAD);
    spec.cie_program = nothing; // never says what the CFA is
    spec.cie_bytes = sizeof(nothing);
    assert_int_equal(row_of(&spec, CODE, &row), SEEP_CFI_BAD);
}

static void test_row_bounds(void **state) {
    static const uint8_t program[] = {0x44, 0x0e, 16, 0x48, 0x0e, 24}; // at 4, at 12
    static const struct {
        uint64_t pc, start, end;
        int64_t cfa;
    } rows[] = {{0, 0, 4, 8},    {3, 0, 4, 8},         {4, 4, 12, 16},
                {11, 4, 12, 16}, {12, 12, LENGTH, 24}, {LENGTH - 1, 12, LENGTH, 24}};
    struct seep_cfi_row row;
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(rows); i++) {
        assert_int_equal(row_of_program(program, sizeof(program), CODE + rows[i].pc, &row), SEEP_CFI_OK);
        assert_int_equal(row.start, CODE + rows[i].start);
        assert_int_equal(row.end, CODE + rows[i].end);
        assert_int_equal(row.cfa.offset, rows[i].cfa);
    }
    assert_int_equal(row_of_program(program, sizeof(program), CODE - 1, &row), SEEP_CFI_NONE);
    assert_int_equal(row_of_program(program, sizeof(program), CODE + LENGTH, &row), SEEP_CFI_NONE);
    assert_int_equal(row_of_program(program, sizeof(program), 0, &row), SEEP_CFI_NONE);
    assert_int_equal(row_of_program(program, sizeof(program), UINT64_MAX, &row), SEEP_CFI_NONE);

    struct spec spec = usual; // code_align scales every advance
    spec.code_align = 4;
    spec.program = program;
    spec.program_bytes = sizeof(program);
    assert_int_equal(row_of(&spec, CODE + 17, &row), SEEP_CFI_OK);
    assert_int_equal(row.start, CODE + 16);
    assert_int_equal(row.end, CODE + 48);
}

static void test_set_loc(void **state) {
    uint8_t program[13] = {0x01, 0, 0, 0, 0, 0, 0, 0, 0, 0x0e, 16, 0x41, 0};
    uint64_t location = CODE + 8;
    memcpy(program + 1, &location, 8);
    struct spec spec = usual;
    spec.code = 0x00;
    spec.program = program;
    spec.program_bytes = sizeof(program);
    struct seep_cfi_row row;
    assert_int_equal(row_of(&spec, CODE + 7, &row), SEEP_CFI_OK);
    assert_int_equal(row.end, location);
    assert_int_equal(row.cfa.offset, 8);
    assert_int_equal(row_of(&spec, CODE + 8, &row), SEEP_CFI_OK);
    assert_int_equal(row.start, location);
    assert_int_equal(row.end, location + 1);
    assert_int_equal(row.cfa.offset, 16);
}

static void test_expressions_in_rows(void **state) {
    static const uint8_t program[] = {0x0f, 2, 0x77, 8, 0x10, 6, 3, 0x76, 0x80, 0x7f, 0x16, 3, 1, 0x31};
    struct seep_cfi_row row;
    assert_int_equal(row_of_program(program, sizeof(program), CODE, &row), SEEP_CFI_OK);
    assert_int_equal(row.cfa.kind, SEEP_CFI_VAL_EXPRESSION);
    assert_int_equal(row.cfa.expression_bytes, 2);
    assert_memory_equal(row.cfa.expression, program + 2, 2);
    assert_int_equal(row.regs[6].kind, SEEP_CFI_EXPRESSION);
    assert_int_equal(row.regs[6].expression_bytes, 3);
    assert_memory_equal(row.regs[6].expression, program + 7, 3);
    assert_int_equal(row.regs[3].kind, SEEP_CFI_VAL_EXPRESSION);
    assert_int_equal(row.regs[3].expression_bytes, 1);
    assert_int_equal(row.regs[3].expression[0], 0x31);
}

// ---- encodings and headers -------------------------------------------------------------------------

static void test_table_encodings(void **state) {
    static const uint8_t good[] = {0x00, 0x03, 0x04, 0x08, 0x0b, 0x0c, 0x10, 0x14,
                                   0x1b, 0x1c, 0x30, 0x33, 0x34, 0x3b, 0x3c};
    static const uint8_t bad[] = {0x01, 0x09, 0x39, 0x05, 0x0f, 0x2b, 0x4b, 0x50, 0x60, 0x70, 0x7b};
    struct seep_cfi_row row;
    for (size_t i = 0; i < sizeof(good); i++) {
        struct spec spec = usual;
        spec.table = good[i];
        if (row_of(&spec, CODE + 1, &row) != SEEP_CFI_OK)
            fail_msg("table encoding %#x", good[i]);
    }
    for (size_t i = 0; i < sizeof(bad); i++) {
        struct spec spec = usual;
        spec.table = bad[i];
        if (row_of(&spec, CODE + 1, &row) != SEEP_CFI_BAD)
            fail_msg("table encoding %#x", bad[i]);
    }
    struct spec none = usual;
    none.table = 0xff;
    assert_int_equal(row_of(&none, CODE + 1, &row), SEEP_CFI_NONE);
    none = usual;
    none.count = 0xff;
    assert_int_equal(row_of(&none, CODE + 1, &row), SEEP_CFI_NONE);
}

static void test_count_and_frame_encodings(void **state) {
    static const uint8_t counts[] = {0x00, 0x01, 0x02, 0x03, 0x04, 0x09, 0x0a, 0x0b, 0x0c};
    static const uint8_t frames[] = {0x00, 0x01, 0x03, 0x0b, 0x1b, 0x1c, 0x33, 0x3b, 0x50, 0xff, 0x9b};
    struct seep_cfi_row row;
    for (size_t i = 0; i < sizeof(counts); i++) {
        struct spec spec = usual;
        spec.count = counts[i];
        if (row_of(&spec, CODE + 1, &row) != SEEP_CFI_OK)
            fail_msg("count encoding %#x", counts[i]);
    }
    for (size_t i = 0; i < sizeof(frames); i++) {
        struct spec spec = usual;
        spec.frame = frames[i];
        if (row_of(&spec, CODE + 1, &row) != SEEP_CFI_OK)
            fail_msg("frame encoding %#x", frames[i]);
    }
}

static void test_code_encodings(void **state) {
    static const uint8_t good[] = {0x00, 0x01, 0x03, 0x04, 0x08, 0x09, 0x0b,
                                   0x0c, 0x10, 0x14, 0x1b, 0x1c, 0x50};
    static const uint8_t bad[] = {0x05, 0x0f, 0x20, 0x2b, 0x3b, 0x40, 0x4b, 0x60, 0x70, 0xff};
    static const uint8_t program[] = {0x41, 0x0e, 16};
    struct seep_cfi_row row;
    for (size_t i = 0; i < sizeof(good) + sizeof(bad); i++) {
        struct spec spec = usual;
        spec.code = i < sizeof(good) ? good[i] : bad[i - sizeof(good)];
        spec.program = program;
        spec.program_bytes = sizeof(program);
        int status = row_of(&spec, CODE + 1, &row);
        if (status != (i < sizeof(good) ? SEEP_CFI_OK : SEEP_CFI_BAD))
            fail_msg("code encoding %#x: status %d", spec.code, status);
        if (status == SEEP_CFI_OK)
            assert_true(row.start == CODE + 1 && row.end == CODE + LENGTH && row.cfa.offset == 16);
    }
}

// An indirect address is followed where its slot is in the object, and only there.
static void test_indirect(void **state) {
    struct spec spec = usual;
    spec.table = 0x80 | 0x3b;
    struct image image;
    build(&spec, &image);
    struct bytes *bytes = &image.bytes;
    put_at(bytes, image.table_at, bytes->size, 4);
    put_at(bytes, image.table_at + 4, bytes->size + 8, 4);
    put(bytes, CODE, 8);
    put(bytes, START + image.fde_at, 8);
    image.object.size_bytes = bytes->size;
    struct seep_cfi_row row;
    assert_int_equal(row_at(&image.object, CODE, &row), SEEP_CFI_OK);
    image.object.size_bytes--;
    assert_int_equal(row_at(&image.object, CODE, &row), SEEP_CFI_BAD);
}

static void test_augmentations(void **state) {
    static const struct {
        const char *letters;
        int status;
    } cases[] = {
        {"zR", 0},
        {"zPLR", 0},
        {"zRS", 0},
        {"zRB", 0},
        {"zRPLSB", 0},
        {"zRG", 0},
        {"z", SEEP_CFI_NONE}, // the FDE's address is then absolute
        {"", SEEP_CFI_NONE},
        {"eh", SEEP_CFI_BAD},
        {"R", SEEP_CFI_BAD},
        {"zX", SEEP_CFI_BAD},
        {"zRX", SEEP_CFI_BAD},
    };
    static const uint8_t personalities[] = {0x00, 0x03, 0x1b, 0x9b, 0x9c, 0x50, 0xff};
    struct seep_cfi_row row;
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(cases); i++) {
        for (size_t j = 0; j < sizeof(personalities); j++) {
            struct spec spec = usual;
            spec.augmentation = cases[i].letters;
            spec.personality = personalities[j];
            spec.code = cases[i].status == SEEP_CFI_NONE ? 0 : usual.code;
            int wanted = cases[i].status == SEEP_CFI_NONE ? 0 : cases[i].status;
            if (row_of(&spec, CODE, &row) != wanted)
                fail_msg("augmentation %s, personality %#x", cases[i].letters, personalities[j]);
            if (!wanted)
                assert_int_equal(row.signal_frame, strchr(cases[i].letters, 'S') != NULL);
        }
    }
}

static void test_headers(void **state) {
    struct seep_cfi_row row;
    struct spec spec = usual;
    spec.wide = true;
    assert_int_equal(row_of(&spec, CODE, &row), SEEP_CFI_OK);
    for (int version = 0; version < 8; version++) {
        spec = usual;
        spec.version = (uint8_t)version;
        bool known = version == 1 || version == 3 || version == 4;
        assert_int_equal(row_of(&spec, CODE, &row), known ? SEEP_CFI_OK : SEEP_CFI_BAD);
    }
    spec = usual;
    spec.return_reg = SEEP_CFI_NR_REGS - 1;
    assert_int_equal(row_of(&spec, CODE, &row), SEEP_CFI_OK);
    assert_int_equal(row.return_reg, SEEP_CFI_NR_REGS - 1);
    spec.return_reg = SEEP_CFI_NR_REGS;
    assert_int_equal(row_of(&spec, CODE, &row), SEEP_CFI_BAD);
}

// Many FDEs of one CIE, each covering 8 bytes of every 16: each pc finds its own, and gaps nothing.
static void test_search(void **state) {
    enum { NR = 37 };
    struct image image;
    struct seep_cfi_row row;
    for (unsigned nr = 0; nr <= NR; nr++) {
        struct bytes *bytes = &image.bytes;
        bytes->size = 0;
        put(bytes, 0x3b031b01, 4);
        put(bytes, 0, 4);
        put(bytes, nr, 4);
        size_t table_at = bytes->size, cie_at = table_at + 8 * (size_t)nr;
        bytes->size = cie_at;
        put_cie(bytes, &usual);
        for (unsigned i = 0; i < nr; i++) {
            put_at(bytes, table_at + 8 * i, CODE + 16 * i - START, 4);
            put_at(bytes, table_at + 8 * i + 4, bytes->size, 4);
            put(bytes, 4 + 8 + 1 + 2, 4);
            put(bytes, bytes->size - cie_at, 4);
            put(bytes, CODE + 16 * i - START - bytes->size, 4);
            put(bytes, 8, 4);
            put(bytes, 0, 1);
            put(bytes, 0x0e, 1);
            put(bytes, i, 1);
        }
        struct seep_cfi_object object = {bytes->at, START, bytes->size, START};
        for (unsigned i = 0; i < 16 * nr + 16; i++) {
            int status = row_at(&object, CODE + i, &row);
            bool covered = i / 16 < nr && i % 16 < 8;
            assert_int_equal(status, covered ? SEEP_CFI_OK : SEEP_CFI_NONE);
            if (covered)
                assert_int_equal(row.cfa.offset, i / 16);
        }
        assert_int_equal(row_at(&object, CODE - 1, &row), SEEP_CFI_NONE);
    }
}

// ---- damage ----------------------------------------------------------------------------------------

static const uint8_t rich_program[] = {0x44, 0x0e, 16,   0x86, 2,    0x43, 0x0d, 6, 0x0a,
                                       0x0f, 3,    0x76, 0x78, 0x06, 0x10, 6,    2, 0x76,
                                       0,    0x0b, 0x2e, 8,    0x05, 3,    5};

static void build_rich(struct image *image) {
    struct spec spec = usual;
    spec.augmentation = "zPLR";
    spec.program = rich_program;
    spec.program_bytes = sizeof(rich_program);
    build(&spec, image);
}

static void test_cut_everywhere(void **state) {
    struct image image;
    build_rich(&image);
    struct seep_cfi_row row;
    assert_int_equal(row_at(&image.object, CODE + 100, &row), SEEP_CFI_OK);
    for (size_t size = 0; size < image.bytes.size; size++) {
        image.object.size_bytes = size;
        assert_int_equal(row_at(&image.object, CODE + 100, &row), SEEP_CFI_BAD);
    }
}

// Any result is right as long as it is one of the three, and a row keeps its promises (check_row).
static void test_every_byte_overwritten(void **state) {
    static const uint8_t values[] = {0x00, 0x01, 0x7f, 0x80, 0xfe, 0xff, 0x0a, 0x0b, 0x10, 0x1d, 0x50};
    struct image image;
    build_rich(&image);
    unsigned nr[3] = {0};
    for (size_t at = 0; at < image.bytes.size; at++) {
        uint8_t old = image.bytes.at[at];
        for (size_t i = 0; i < sizeof(values) + 8; i++) {
            struct seep_cfi_row row;
            image.bytes.at[at] = i < sizeof(values) ? values[i] : (uint8_t)(old ^ 1 << (i - sizeof(values)));
            int status = row_at(&image.object, CODE + 100, &row);
            assert_true(status <= 0 && status >= SEEP_CFI_BAD);
            nr[-status]++;
        }
        image.bytes.at[at] = old;
    }
    assert_true(nr[0] > 100 && nr[1] > 10 && nr[2] > 100);
}

static void test_lies(void **state) {
    struct image image;
    struct seep_cfi_row row;
    static const uint64_t lengths[] = {0, 1, 3, 4, 0x7fffffff, 0xfffffff0, 0xfffffffe, 0xffffffff};
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(lengths); i++) {
        build_rich(&image);
        put_at(&image.bytes, image.fde_at, lengths[i], 4);
        assert_int_equal(row_at(&image.object, CODE, &row), SEEP_CFI_BAD);
        build_rich(&image);
        put_at(&image.bytes, image.cie_at, lengths[i], 4);
        assert_int_equal(row_at(&image.object, CODE, &row), SEEP_CFI_BAD);
    }
    // CIE pointers: none (it says it is a CIE), itself, another FDE's place, before the object.
    uint64_t to_self = image.pointer_at - image.fde_at;
    const uint64_t pointers[] = {0, to_self, 1, image.pointer_at + 1, 0x80000000, 0xffffffff};
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(pointers); i++) {
        build_rich(&image);
        put_at(&image.bytes, image.pointer_at, pointers[i], 4);
        assert_int_equal(row_at(&image.object, CODE, &row), SEEP_CFI_BAD);
    }
    static const uint32_t counts[] = {100, 0x1fffffff, 0x20000000, 0x7fffffff, 0x80000000, 0xffffffff};
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(counts); i++) {
        build_rich(&image);
        put_at(&image.bytes, image.count_at, counts[i], 4);
        assert_int_equal(row_at(&image.object, CODE, &row), SEEP_CFI_BAD);
    }
    build_rich(&image);
    put_at(&image.bytes, image.count_at, 0, 4);
    assert_int_equal(row_at(&image.object, CODE, &row), SEEP_CFI_NONE);
}

// Counts whose size in bytes wraps around to something small.
static void test_wide_counts(void **state) {
    static const uint64_t counts[] = {0x2000000000000001, 0x2000000000000000, 0x8000000000000001, UINT64_MAX};
    struct spec spec = usual;
    spec.count = 0x04;
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(counts); i++) {
        struct image image;
        struct seep_cfi_row row;
        build(&spec, &image);
        put_at(&image.bytes, image.count_at, counts[i], 8);
        assert_int_equal(row_at(&image.object, CODE, &row), SEEP_CFI_BAD);
    }
}

static void test_lying_object(void **state) {
    struct image image;
    struct seep_cfi_row row;
    build_rich(&image);
    struct seep_cfi_object object = image.object;
    object.start = UINT64_MAX - 10; // wraps
    assert_int_equal(row_at(&object, CODE, &row), SEEP_CFI_BAD);
    object = image.object;
    object.eh_frame_hdr = START - 1;
    assert_int_equal(row_at(&object, CODE, &row), SEEP_CFI_BAD);
    object.eh_frame_hdr = START + object.size_bytes;
    assert_int_equal(row_at(&object, CODE, &row), SEEP_CFI_BAD);
    object.eh_frame_hdr = UINT64_MAX;
    assert_int_equal(row_at(&object, CODE, &row), SEEP_CFI_BAD);
    object.eh_frame_hdr = 0;
    assert_int_equal(row_at(&object, CODE, &row), SEEP_CFI_BAD);
}

// ---- rules -----------------------------------------------------------------------------------------

static struct seep_rule rule_of_program(const uint8_t *program, size_t nr_bytes, bool signal_frame) {
    struct spec spec = usual;
    spec.augmentation = signal_frame ? "zRS" : "zR";
    spec.program = program;
    spec.program_bytes = nr_bytes;
    struct image image;
    build(&spec, &image);
    return seep_rule_at(&image.object, CODE + 8);
}

static void test_rule_bits(void **state) {
    static const int64_t cfas[] = {0, 1, -1, INT32_MAX, INT32_MIN, 160},
                         bps[] = {0, -1, (1 << 23) - 1, -(1 << 23)};
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(cfas); i++) {
        for (size_t j = 0; j < SEEP_ARRAY_SIZE(bps); j++) {
            struct seep_rule rule = seep_rule_make(SEEP_RULE_BAD, cfas[i], j & 1, bps[j]);
            assert_int_equal(seep_rule_kind(rule), SEEP_RULE_BAD);
            assert_int_equal(seep_rule_cfa_offset(rule), cfas[i]);
            assert_int_equal(seep_rule_bp_offset(rule), bps[j]);
            assert_int_equal(seep_rule_bp_saved(rule), j & 1);
        }
    }
}

static void test_no_rules(void **state) {
    struct image image;
    build_rich(&image);
    assert_int_equal(seep_rule_kind(seep_rule_at(&image.object, CODE - 1)), SEEP_RULE_NO_CFI);
    image.object.size_bytes--;
    assert_int_equal(seep_rule_kind(seep_rule_at(&image.object, CODE)), SEEP_RULE_BAD);
}

#ifdef __x86_64__

#define SIGNAL_OPS(cfa_low, pc_low, bp_low)                                                                  \
    0x0f, 4, 0x77, cfa_low, 1, 0x06, 0x10, 16, 3, 0x77, pc_low, 1, 0x10, 6, 3, 0x77, bp_low, 0

struct rule_case {
    const char *name;
    uint8_t program[40];
    size_t nr_bytes;
    bool signal_frame;
    enum seep_rule_kind kind;
    int64_t cfa_offset;
    bool bp_saved;
    int64_t bp_offset;
};

static const struct rule_case rule_cases[] = {
    {"sp", OPS(0x0e, 32), false, SEEP_RULE_SP, 32, false, 0},
    {"sp, bp saved", OPS(0x0e, 32, 0x86, 2), false, SEEP_RULE_SP, 32, true, -16},
    {"other registers do not matter", OPS(0x0e, 32, 0x83, 2, 0x10, 12, 1, 0x30), false, SEEP_RULE_SP, 32,
     false, 0},
    {"sp's own rule says the CFA", OPS(0x14, 7, 0), false, SEEP_RULE_SP, 8, false, 0},
    {"bp", OPS(0x0c, 6, 16, 0x86, 2), false, SEEP_RULE_BP, 16, true, -16},
    {"bp, not saved", OPS(0x0c, 6, 16), false, SEEP_RULE_BP, 16, false, 0},
    {"greatest CFA offset", OPS(0x0e, 0xff, 0xff, 0xff, 0xff, 0x07), false, SEEP_RULE_SP, INT32_MAX, false,
     0},
    {"CFA offset too great", OPS(0x0e, 0x80, 0x80, 0x80, 0x80, 0x08), false, SEEP_RULE_SLOW, 0, false, 0},
    {"least bp offset", OPS(0x86, 0x80, 0x80, 0x40), false, SEEP_RULE_SP, 8, true, -(1 << 23)},
    {"bp offset too low", OPS(0x86, 0x81, 0x80, 0x40), false, SEEP_RULE_SLOW, 0, false, 0},
    {"bp in a register", OPS(0x09, 6, 3), false, SEEP_RULE_SLOW, 0, false, 0},
    {"bp undefined", OPS(0x07, 6), false, SEEP_RULE_SLOW, 0, false, 0},
    {"bp a value", OPS(0x14, 6, 2), false, SEEP_RULE_SLOW, 0, false, 0},
    {"bp by expression", OPS(0x10, 6, 2, 0x77, 0), false, SEEP_RULE_SLOW, 0, false, 0},
    {"sp saved", OPS(0x87, 2), false, SEEP_RULE_SLOW, 0, false, 0},
    {"return address elsewhere", OPS(0x90, 2), false, SEEP_RULE_SLOW, 0, false, 0},
    {"return address in a register", OPS(0x09, 16, 3), false, SEEP_RULE_SLOW, 0, false, 0},
    {"CFA of another register", OPS(0x0c, 10, 0), false, SEEP_RULE_SLOW, 0, false, 0},
    {"end", OPS(0x07, 16), false, SEEP_RULE_END, 0, false, 0},
    {"realigned", OPS(0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0), false, SEEP_RULE_BP_DEREF, -8, true,
     0},
    {"realigned, far", OPS(0x0f, 4, 0x76, 0x80, 0x7f, 0x06, 0x10, 6, 2, 0x76, 8), false, SEEP_RULE_BP_DEREF,
     -128, true, 8},
    {"realigned, bp kept", OPS(0x0f, 3, 0x76, 0x78, 0x06), false, SEEP_RULE_BP_DEREF, -8, false, 0},
    {"realigned, bp saved at the CFA", OPS(0x0f, 3, 0x76, 0x78, 0x06, 0x86, 2), false, SEEP_RULE_SLOW, 0,
     false, 0},
    {"realigned, of another register", OPS(0x0f, 3, 0x77, 0x78, 0x06), false, SEEP_RULE_SLOW, 0, false, 0},
    {"no deref", OPS(0x0f, 2, 0x76, 0x78), false, SEEP_RULE_SLOW, 0, false, 0},
    {"deref alone", OPS(0x0f, 1, 0x06), false, SEEP_RULE_SLOW, 0, false, 0},
    {"empty expression", OPS(0x0f, 0), false, SEEP_RULE_SLOW, 0, false, 0},
    {"more than breg and deref", OPS(0x0f, 5, 0x76, 0x78, 0x31, 0x22, 0x06), false, SEEP_RULE_SLOW, 0, false,
     0},
    {"offset without an end", OPS(0x0f, 3, 0x76, 0xf8, 0x06), false, SEEP_RULE_SLOW, 0, false, 0},
    {"offset of ten bytes",
     OPS(0x0f, 12, 0x76, 0xf8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0x06), false,
     SEEP_RULE_SLOW, 0, false, 0},
    {"PLT", OPS(0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22), false, SEEP_RULE_SLOW,
     0, false, 0},
    {"signal", OPS(SIGNAL_OPS(0xa0, 0xa8, 0xf8)), true, SEEP_RULE_SIGNAL, 0, false, 0},
    {"signal, sp said too", OPS(SIGNAL_OPS(0xa0, 0xa8, 0xf8), 0x10, 7, 3, 0x77, 0xa0, 1), true,
     SEEP_RULE_SIGNAL, 0, false, 0},
    {"signal, another sp", OPS(SIGNAL_OPS(0xa0, 0xa8, 0xf8), 0x10, 7, 3, 0x77, 0xa1, 1), true, SEEP_RULE_SLOW,
     0, false, 0},
    {"signal, another CFA", OPS(SIGNAL_OPS(0xa1, 0xa8, 0xf8)), true, SEEP_RULE_SLOW, 0, false, 0},
    {"signal, another pc", OPS(SIGNAL_OPS(0xa0, 0xa9, 0xf8)), true, SEEP_RULE_SLOW, 0, false, 0},
    {"signal, another bp", OPS(SIGNAL_OPS(0xa0, 0xa8, 0xf9)), true, SEEP_RULE_SLOW, 0, false, 0},
    {"signal frame without expressions", OPS(0), true, SEEP_RULE_SLOW, 0, false, 0},
    {"such expressions without S", OPS(SIGNAL_OPS(0xa0, 0xa8, 0xf8)), false, SEEP_RULE_SLOW, 0, false, 0},
};

static void test_rules(void **state) {
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(rule_cases); i++) {
        const struct rule_case *c = &rule_cases[i];
        struct seep_rule rule = rule_of_program(c->program, c->nr_bytes, c->signal_frame);
        if (seep_rule_kind(rule) != c->kind || seep_rule_cfa_offset(rule) != c->cfa_offset ||
            seep_rule_bp_saved(rule) != c->bp_saved || seep_rule_bp_offset(rule) != c->bp_offset)
            fail_msg("%s: kind %d, cfa %lld, bp %d at %lld", c->name, (int)seep_rule_kind(rule),
                     (long long)seep_rule_cfa_offset(rule), seep_rule_bp_saved(rule),
                     (long long)seep_rule_bp_offset(rule));
    }
}

#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operations),
        cmocka_unit_test(test_bad_operations),
        cmocka_unit_test(test_cie_programs),
        cmocka_unit_test(test_row_bounds),
        cmocka_unit_test(test_set_loc),
        cmocka_unit_test(test_expressions_in_rows),
        cmocka_unit_test(test_table_encodings),
        cmocka_unit_test(test_count_and_frame_encodings),
        cmocka_unit_test(test_code_encodings),
        cmocka_unit_test(test_indirect),
        cmocka_unit_test(test_augmentations),
        cmocka_unit_test(test_headers),
        cmocka_unit_test(test_search),
        cmocka_unit_test(test_cut_everywhere),
        cmocka_unit_test(test_every_byte_overwritten),
        cmocka_unit_test(test_lies),
        cmocka_unit_test(test_wide_counts),
        cmocka_unit_test(test_lying_object),
        cmocka_unit_test(test_rule_bits),
        cmocka_unit_test(test_no_rules),
#ifdef __x86_64__
        cmocka_unit_test(test_rules),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
