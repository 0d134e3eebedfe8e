// SPDX-License-Identifier: BSD-2-Clause
// Where a probe is cheap: bytes of real functions, and what must not be mistaken.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "source/attach/prologue.h"

#define SITE(...) seep_prologue_site((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static void test_real_functions(void **state) {
    // glibc 2.36 free: test rdi,rdi; je
    assert_int_equal(SITE(0x48, 0x85, 0xff, 0x74, 0x5b, 0x55), 3);
    // endbr64; push rbp
    assert_int_equal(SITE(0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5), 4);
    // endbr64; test rdi,rdi; je near
    assert_int_equal(SITE(0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x85, 0xff, 0x0f, 0x84, 1, 2, 0, 0), 7);
    // push r14 first
    assert_int_equal(SITE(0x41, 0x56, 0x41, 0x55), 0);
    // mov rax,[rip+x]; push rbx
    assert_int_equal(SITE(0x48, 0x8b, 0x05, 1, 2, 3, 4, 0x53), 7);
    // cmp dword [rip+x],0; jne
    assert_int_equal(SITE(0x83, 0x3d, 1, 2, 3, 4, 0, 0x75, 0x10), 7);
    // jemalloc's free: mov rax,rdi; push
    assert_int_equal(SITE(0x48, 0x89, 0xf8, 0x53), 3);
}

static void test_what_changes_arguments_or_the_stack_ends_it(void **state) {
    assert_int_equal(SITE(0x48, 0x83, 0xec, 0x08, 0x74, 0x10), 0); // sub rsp,8
    assert_int_equal(SITE(0x48, 0x89, 0xf7, 0x74, 0x10), 0);       // mov rdi,rsi
    assert_int_equal(SITE(0x31, 0xf6, 0x74, 0x10), 0);             // xor esi,esi
    assert_int_equal(SITE(0xba, 1, 0, 0, 0, 0x74, 0x10), 0);       // mov edx,1
    assert_int_equal(SITE(0x48, 0x89, 0xe5, 0x53), 0);             // mov rbp,rsp
    assert_int_equal(SITE(0x48, 0x8d, 0x7f, 0x01, 0x53), 0);       // lea rdi,[rdi+1]
    assert_int_equal(SITE(0x80, 0x3f, 0x00, 0xc3), 0);             // cmp byte [rdi],0; ret
    assert_int_equal(SITE(0x83, 0xc7, 0x01, 0x53), 0);             // add edi,1
}

static void test_jumps_back_to_the_place(void **state) {
    // test; je; ...; jmp to the je
    assert_int_equal(SITE(0x48, 0x85, 0xff, 0x74, 0x02, 0x90, 0x90, 0xeb, 0xfa), 0);
    // the same to the start is no harm: the probe counts a call of its own
    assert_int_equal(SITE(0x48, 0x85, 0xff, 0x74, 0x02, 0x90, 0x90, 0xeb, 0xf7), 3);
    // jne near to the je
    assert_int_equal(SITE(0x48, 0x85, 0xff, 0x74, 0x02, 0x0f, 0x85, 0xf8, 0xff, 0xff, 0xff), 0);
}

static void test_cut_short(void **state) {
    assert_int_equal(seep_prologue_site(NULL, 0), 0);
    assert_int_equal(SITE(0x48), 0);
    assert_int_equal(SITE(0x48, 0x8b, 0x05, 1), 0);
    assert_int_equal(SITE(0xf3, 0x0f, 0x1e), 0);
    assert_int_equal(SITE(0x48, 0x85, 0xff), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_real_functions),
        cmocka_unit_test(test_what_changes_arguments_or_the_stack_ends_it),
        cmocka_unit_test(test_jumps_back_to_the_place),
        cmocka_unit_test(test_cut_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
