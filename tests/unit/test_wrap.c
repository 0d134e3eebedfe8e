// SPDX-License-Identifier: BSD-2-Clause
// Tables on terminals, see output/wrap.h.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output/wrap.h"

// So many lines that the test would take minutes if each line looked at all later ones.
enum { NR_LINES = 40000 };

static char *wrapped(unsigned width, unsigned nr_lines, const char *format, size_t *ret_nr) {
    char *text = NULL;
    FILE *out = open_memstream(&text, ret_nr);
    const struct seep_style style = {.width = width};
    struct seep_wrap wrap;
    assert_non_null(out);
    FILE *to = seep_wrap_begin(&wrap, out, &style);
    for (unsigned i = 0; i < nr_lines; i++)
        fprintf(to, format, 100000 + i);
    assert_null(seep_wrap_end(&wrap, NULL));
    assert_int_equal(fclose(out), 0);
    return text;
}

static void test_long_table_stays(void **state) {
    (void)state;
    size_t nr;
    char *text = wrapped(80, NR_LINES, "0x%u  100  2\n", &nr);
    assert_int_equal(nr, NR_LINES * strlen("0x100000  100  2\n"));
    free(text);
}

static void test_long_table_is_folded(void **state) {
    (void)state;
    size_t nr;
    char *text = wrapped(30, NR_LINES, "0x%u  first cell  second cell  third\n", &nr);
    assert_memory_equal(text, "0x100000  first cell\n    second cell  third\n0x100001", 52);
    assert_int_equal(nr, NR_LINES * strlen("0x100000  first cell\n    second cell  third\n"));
    free(text);
}

// In its own column the path would not fit the terminal; further left it does.
static void test_wide_word_keeps_to_the_width(void **state) {
    (void)state;
    size_t nr;
    char *text = wrapped(
        80, 1, "0x%u  0x200000  number of pages  module  /lib/of/a/cpu/name-of-a-library.so.8\n", &nr);
    assert_string_equal(
        text, "0x100000  0x200000  number of pages  module\n    /lib/of/a/cpu/name-of-a-library.so.8\n");
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_long_table_stays),
        cmocka_unit_test(test_long_table_is_folded),
        cmocka_unit_test(test_wide_word_keeps_to_the_width),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
