// SPDX-License-Identifier: BSD-2-Clause
// Kernel functions by address: a text as the kernel writes it, and lines that are none.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "names/kallsyms.h"

static struct seep_kallsyms *parse(const char *text) {
    struct seep_kallsyms *symbols;
    assert_null(seep_kallsyms_parse(text, strlen(text), &symbols));
    return symbols;
}

static void test_functions_and_modules(void **state) {
    struct seep_kallsyms *symbols = parse("0000000000000000 A fixed_percpu_data\n"
                                          "ffffffff81000200 t second\n"
                                          "ffffffff81000100 T b_first\n"
                                          "ffffffff81000100 T a_first\n"
                                          "ffffffff81000180 d data\n"
                                          "ffffffffc0000000 t of_module\t[ext4]\n"
                                          "ffffffffc0001000 t bpf_prog_1_f\t[bpf]");
    struct seep_kernel_function function;
    assert_false(seep_kallsyms_find(symbols, UINT64_C(0xffffffff810000ff), &function));
    assert_true(seep_kallsyms_find(symbols, UINT64_C(0xffffffff810001ff), &function));
    assert_string_equal(function.name, "a_first");
    assert_string_equal(function.module, "kernel");
    assert_int_equal(function.offset, 0xff);
    assert_int_equal(function.bytes, 0x100);
    assert_true(seep_kallsyms_find(symbols, UINT64_C(0xffffffff81000200), &function));
    assert_string_equal(function.name, "second");
    assert_true(seep_kallsyms_find(symbols, UINT64_C(0xffffffffc0000004), &function));
    assert_string_equal(function.name, "of_module");
    assert_string_equal(function.module, "ext4");
    assert_true(seep_kallsyms_find(symbols, UINT64_MAX, &function));
    assert_string_equal(function.module, "bpf");
    assert_int_equal(function.bytes, function.offset + 1); // where it ends is not known
    assert_int_equal(seep_kallsyms_base(symbols, "kernel"), UINT64_C(0xffffffff81000100));
    assert_int_equal(seep_kallsyms_base(symbols, "ext4"), UINT64_C(0xffffffffc0000000));
    assert_int_equal(seep_kallsyms_base(symbols, "xfs"), 0);
    seep_kallsyms_destroy(symbols);
}

static void test_other_lines_are_left_out(void **state) {
    struct seep_kallsyms *symbols = parse("\n\n \nffffffff81000000\nffffffff81000000 T\nffffffff81000000 T \n"
                                          "ffffffff81000000Tname\nzzz T name\n"
                                          "fffffffffffffffff T more_than_64_bits\nffffffff81000000 T a\t[\n");
    struct seep_kernel_function function;
    assert_true(seep_kallsyms_find(symbols, UINT64_MAX, &function));
    assert_string_equal(function.name, "a");
    assert_string_equal(function.module, "kernel");
    assert_int_equal(function.offset, UINT64_MAX - UINT64_C(0xffffffff81000000));
    seep_kallsyms_destroy(symbols);
    symbols = parse("");
    assert_false(seep_kallsyms_find(symbols, UINT64_MAX, &function));
    seep_kallsyms_destroy(symbols);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions_and_modules),
        cmocka_unit_test(test_other_lines_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
