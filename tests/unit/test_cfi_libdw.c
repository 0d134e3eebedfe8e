// SPDX-License-Identifier: BSD-2-Clause
//
// Compares every row of call-frame information in real libraries with elfutils: bounds, CFA, return
// address, bp and the other registers that a call keeps. Walks all code, from row to row and at least
// every 16 bytes; where elfutils knows nothing, every byte must be unknown to us too. Prints how many
// rows fit a rule.

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unwind/rule.h"

struct file {
    int fd;
    Elf *elf;
    Dwarf_CFI *cfi;
    uint8_t *image; // the segments where they belong
    struct seep_cfi_object object;
};

struct counts {
    unsigned nr_rows, nr_pcs, nr_uncovered, nr_differences;
    unsigned by_kind[16];
    uint64_t row_start, row_end; // of the row before
};

// elfutils gives expressions as operations: written as bytes again, to be compared with ours.
struct bytes {
    uint8_t at[64];
    size_t size;
};

static bool put_leb(struct bytes *bytes, int64_t value) {
    for (; value < -64 || value > 63; value >>= 7) {
        if (bytes->size + 1 >= sizeof(bytes->at))
            return false;
        bytes->at[bytes->size++] = (uint8_t)(value | 0x80);
    }
    bytes->at[bytes->size++] = value & 0x7f;
    return true;
}

static bool encode(const Dwarf_Op *ops, size_t nr_ops, struct bytes *ret_bytes) {
    struct bytes bytes = {.size = 0};
    for (size_t i = 0; i < nr_ops; i++) {
        if (bytes.size + 12 > sizeof(bytes.at))
            return false;
        bytes.at[bytes.size++] = ops[i].atom;
        if (ops[i].atom >= DW_OP_breg0 && ops[i].atom <= DW_OP_breg31) {
            if (!put_leb(&bytes, (int64_t)ops[i].number))
                return false;
        } else if (ops[i].atom != DW_OP_deref && !(ops[i].atom >= DW_OP_abs && ops[i].atom <= DW_OP_plus) &&
                   !(ops[i].atom >= DW_OP_shl && ops[i].atom <= DW_OP_lit31)) {
            return false; // has operands that are not written here
        }
    }
    *ret_bytes = bytes;
    return true;
}

static bool same_expression(const struct seep_cfi_rule *rule, const Dwarf_Op *ops, size_t nr_ops) {
    struct bytes bytes;
    return encode(ops, nr_ops, &bytes) && bytes.size == rule->expression_bytes &&
           memcmp(bytes.at, rule->expression, bytes.size) == 0;
}

static bool same_cfa(Dwarf_Frame *frame, const struct seep_cfi_row *row) {
    Dwarf_Op *ops;
    size_t nr_ops;
    if (dwarf_frame_cfa(frame, &ops, &nr_ops) || !nr_ops)
        return false;
    if (row->cfa.kind != SEEP_CFI_REGISTER)
        return same_expression(&row->cfa, ops, nr_ops);
    return nr_ops == 1 && ops->atom == DW_OP_bregx && ops->number == row->cfa.reg &&
           (int64_t)ops->number2 == row->cfa.offset;
}

// The CFA (pushed, or as DW_OP_call_frame_cfa) plus an offset, and perhaps DW_OP_stack_value.
static bool same_offset(const Dwarf_Op *ops, size_t nr_ops, const struct seep_cfi_rule *rule) {
    bool value = nr_ops && ops[nr_ops - 1].atom == DW_OP_stack_value;
    nr_ops -= value;
    if (value != (rule->kind == SEEP_CFI_VAL_OFFSET) || !nr_ops || ops[0].atom != DW_OP_call_frame_cfa)
        return false;
    if (nr_ops == 1)
        return rule->offset == 0;
    return nr_ops == 2 && ops[1].atom == DW_OP_plus_uconst && (int64_t)ops[1].number == rule->offset;
}

static bool same_register(Dwarf_Frame *frame, unsigned reg, const struct seep_cfi_rule *rule) {
    Dwarf_Op space[3], *ops;
    size_t nr_ops;
    if (dwarf_frame_register(frame, (int)reg, space, &ops, &nr_ops))
        return false;
    // elfutils 0.188 has the numbers of rax and rbx exchanged in its defaults for what no CFI mentions.
    if (!nr_ops && ops && reg == 3 && rule->kind == SEEP_CFI_SAME)
        return true;
    if (!nr_ops)
        return rule->kind == (ops ? SEEP_CFI_UNDEFINED : SEEP_CFI_SAME);
    switch (rule->kind) {
    case SEEP_CFI_OFFSET:
    case SEEP_CFI_VAL_OFFSET:
        return same_offset(ops, nr_ops, rule);
    case SEEP_CFI_REGISTER:
        return nr_ops == 1 && ops->atom == DW_OP_regx && ops->number == rule->reg;
    case SEEP_CFI_VAL_EXPRESSION:
        nr_ops--;
        if (ops[nr_ops].atom != DW_OP_stack_value)
            return false;
        break;
    case SEEP_CFI_EXPRESSION:
        break;
    default:
        return false;
    }
    if (nr_ops && ops[0].atom == DW_OP_call_frame_cfa) { // its way to say what is pushed first
        ops++;
        nr_ops--;
    }
    return same_expression(rule, ops, nr_ops);
}

static const char *difference(Dwarf_Frame *frame, const struct seep_cfi_row *row) {
    static const unsigned kept[] = {3, 6, 12, 13, 14, 15}; // rbx, rbp, r12 to r15
    Dwarf_Addr start, end;
    bool signal_frame;
    int return_reg = dwarf_frame_info(frame, &start, &end, &signal_frame);
    if (return_reg != row->return_reg)
        return "return register";
    // After DW_CFA_restore_state elfutils says the start of the row that was remembered; so starts are
    // compared with where the row before ended (compare_at).
    if (start > row->start || end != row->end)
        return "bounds";
    if (signal_frame != row->signal_frame)
        return "signal frame";
    if (!same_cfa(frame, row))
        return "CFA";
    if (!same_register(frame, row->return_reg, &row->regs[row->return_reg]))
        return "return address";
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(kept); i++)
        if (!same_register(frame, kept[i], &row->regs[kept[i]]))
            return "kept register";
    return NULL;
}

// Returns the next pc to look at.
static uint64_t compare_at(const struct file *file, uint64_t pc, struct counts *counts) {
    struct seep_cfi_row row;
    Dwarf_Frame *frame = NULL;
    int status = seep_cfi_row_at(&file->object, pc, &row);
    int status_libdw = dwarf_cfi_addrframe(file->cfi, pc, &frame);
    const char *what = NULL;
    uint64_t next = pc + 1;
    counts->nr_pcs++;
    if ((status == SEEP_CFI_OK) != !status_libdw || status == SEEP_CFI_BAD)
        what = status_libdw ? "found where elfutils finds nothing" : "not found";
    else if (status == SEEP_CFI_OK)
        what = difference(frame, &row);
    else
        counts->nr_uncovered++;
    if (!what && status == SEEP_CFI_OK && row.start != (pc < counts->row_end ? counts->row_start : pc))
        what = "start";
    if (what && counts->nr_differences++ < 10)
        print_message("  at %#llx: %s (status %d)\n", (unsigned long long)pc, what, status);
    if (status == SEEP_CFI_OK) {
        counts->row_start = row.start;
        counts->row_end = row.end;
        next = SEEP_MIN(row.end, pc + 16);
        if (row.end <= pc + 16) { // each row once
            counts->nr_rows++;
            counts->by_kind[seep_rule_kind(seep_rule_pack(&row))]++;
        }
    }
    free(frame);
    return next;
}

static void open_file(const char *path, struct file *file) {
    *file = (struct file){.fd = open(path, O_RDONLY | O_CLOEXEC)};
    assert_true(file->fd >= 0);
    elf_version(EV_CURRENT);
    file->elf = elf_begin(file->fd, ELF_C_READ_MMAP, NULL);
    assert_non_null(file->elf);
    file->cfi = dwarf_getcfi_elf(file->elf);
    assert_non_null(file->cfi);
    size_t nr_headers, raw_bytes;
    char *raw = elf_rawfile(file->elf, &raw_bytes);
    assert_non_null(raw);
    assert_int_equal(elf_getphdrnum(file->elf, &nr_headers), 0);
    GElf_Phdr header;
    for (size_t i = 0; i < nr_headers; i++) {
        assert_non_null(gelf_getphdr(file->elf, (int)i, &header));
        if (header.p_type == PT_LOAD)
            file->object.size_bytes = SEEP_MAX(file->object.size_bytes, header.p_vaddr + header.p_memsz);
        if (header.p_type == PT_GNU_EH_FRAME)
            file->object.eh_frame_hdr = header.p_vaddr;
    }
    file->image = calloc(1, file->object.size_bytes);
    assert_non_null(file->image);
    for (size_t i = 0; i < nr_headers; i++)
        if (gelf_getphdr(file->elf, (int)i, &header) && header.p_type == PT_LOAD)
            memcpy(file->image + header.p_vaddr, raw + header.p_offset, header.p_filesz);
    file->object.bytes = file->image;
}

static void close_file(struct file *file) {
    dwarf_cfi_end(file->cfi);
    elf_end(file->elf);
    close(file->fd);
    free(file->image);
}

static void compare_file(const char *path) {
    if (access(path, R_OK)) {
        print_message("SKIPPED: %s is not on this machine\n", path);
        skip();
    }
    struct file file;
    struct counts counts = {0};
    open_file(path, &file);
    size_t nr_headers;
    assert_int_equal(elf_getphdrnum(file.elf, &nr_headers), 0);
    for (size_t i = 0; i < nr_headers; i++) {
        GElf_Phdr header;
        assert_non_null(gelf_getphdr(file.elf, (int)i, &header));
        if (header.p_type != PT_LOAD || !(header.p_flags & PF_X))
            continue;
        for (uint64_t pc = header.p_vaddr; pc < header.p_vaddr + header.p_memsz;)
            pc = compare_at(&file, pc, &counts);
    }
    close_file(&file);
    unsigned nr_packed = counts.nr_rows - counts.by_kind[SEEP_RULE_SLOW];
    print_message(
        "%s: %u pcs (%u covered by nothing), %u rows: %u packed (sp %u, bp %u, bp deref %u, signal %u, "
        "end %u), %u slow; %u differences\n",
        path, counts.nr_pcs, counts.nr_uncovered, counts.nr_rows, nr_packed, counts.by_kind[SEEP_RULE_SP],
        counts.by_kind[SEEP_RULE_BP], counts.by_kind[SEEP_RULE_BP_DEREF], counts.by_kind[SEEP_RULE_SIGNAL],
        counts.by_kind[SEEP_RULE_END], counts.by_kind[SEEP_RULE_SLOW], counts.nr_differences);
    assert_int_equal(counts.nr_differences, 0);
    assert_true(counts.nr_rows > 100 && nr_packed > counts.nr_rows / 100 * 99);
}

static void test_libc(void **state) {
    compare_file("/lib/x86_64-linux-gnu/libc.so.6");
}

static void test_libstdcxx(void **state) {
    compare_file("/usr/lib/x86_64-linux-gnu/libstdc++.so.6");
}

static void test_python(void **state) {
    compare_file("/usr/bin/python3.11");
}

static void test_ld_so(void **state) {
    compare_file("/lib64/ld-linux-x86-64.so.2");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_libc),
        cmocka_unit_test(test_libstdcxx),
        cmocka_unit_test(test_python),
        cmocka_unit_test(test_ld_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
