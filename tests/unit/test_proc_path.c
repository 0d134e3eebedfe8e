// SPDX-License-Identifier: BSD-2-Clause
// Paths in /proc that the library makes without libc.
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

#include "preload/proc_path.h"

static void test_numbers(void **state) {
    (void)state;
    assert_string_equal(seep_proc_path("/proc/self/fd/", 0, "").text, "/proc/self/fd/0");
    assert_string_equal(seep_proc_path("/proc/", 10, "/stat").text, "/proc/10/stat");
    assert_string_equal(seep_proc_path("/proc/self/task/", UINT32_MAX, "/syscall").text,
                        "/proc/self/task/4294967295/syscall");
}

static void test_too_long(void **state) {
    (void)state;
    char before[100];
    memset(before, 'x', sizeof(before) - 1);
    before[sizeof(before) - 1] = 0;
    struct seep_proc_path path = seep_proc_path(before, 7, before);
    assert_int_equal(strlen(path.text), sizeof(path.text) - 1);
    assert_memory_equal(path.text, before, sizeof(path.text) - 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_too_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
