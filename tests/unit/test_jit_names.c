// SPDX-License-Identifier: BSD-2-Clause
// Names of code made at run time: a text as compilers write it, lines that say nothing, and files that are
// not to be believed.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "names/jit_names.h"

static const struct seep_symbol_frame *find(struct seep_jit_names *names, uint64_t address, bool exact) {
    const struct seep_symbol *symbol;
    assert_null(seep_jit_names_resolve(names, address, exact, &symbol));
    assert_true(!symbol || symbol->nr_frames == 1);
    return symbol ? symbol->frames : NULL;
}

static void test_functions(void **state) {
    static const char text[] =
        "1000 10 first\n"
        "0x2000 0x20 JS:*grow /a b/c.js:1:2\n"
        "1008 4 inner\n"
        "1000 10 first again\n"
        "\n3000 10\n3000 10 \nzz 10 none\n4000 -1 none\nffffffffffffffff 2 none\n5000 0 none\n"
        "6000 1 last";
    struct seep_jit_names *names;
    assert_null(seep_jit_names_create(text, sizeof(text) - 1, &names));
    assert_null(find(names, 0x1000, false)); // a return address: the call is before it
    assert_string_equal(find(names, 0x1000, true)->function, "first again");
    assert_string_equal(find(names, 0x1004, false)->function, "first again");
    assert_string_equal(find(names, 0x100a, false)->function, "inner");
    assert_string_equal(find(names, 0x1010, false)->function, "first again");
    assert_null(find(names, 0x1011, false));
    assert_string_equal(find(names, 0x2010, false)->function, "JS:*grow /a b/c.js:1:2");
    assert_int_equal(find(names, 0x2010, false)->function_offset, 0x10);
    assert_null(find(names, 0x3004, false));
    assert_null(find(names, 0x4004, false));
    assert_null(find(names, UINT64_MAX, false));
    assert_null(find(names, 0, false));
    assert_string_equal(find(names, 0x6001, false)->function, "last");
    seep_jit_names_destroy(names);
    assert_null(seep_jit_names_create("", 0, &names));
    assert_null(find(names, 0x1000, true));
    seep_jit_names_destroy(names);
    seep_jit_names_destroy(NULL);
}

// A process number that no process can have here, so no file of anybody else is in the way.
#define NO_PID 4194999u

static void test_files(void **state) {
    char path[64];
    struct seep_jit_names *names;
    struct stat status;
    snprintf(path, sizeof(path), "/tmp/perf-%u.map", NO_PID);
    unlink(path);
    assert_null(seep_jit_names_open(NO_PID, 0, INT64_MAX, &names));
    assert_null(names);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs("1000 10 one\n", file);
    fclose(file);
    assert_int_equal(stat(path, &status), 0);
    int64_t written_ns = (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;
    assert_null(seep_jit_names_open(NO_PID, written_ns, written_ns, &names));
    assert_non_null(names);
    assert_string_equal(find(names, 0x1001, false)->function, "one");
    seep_jit_names_destroy(names);
    // Of another process of that number.
    assert_null(seep_jit_names_open(NO_PID, written_ns + 1, INT64_MAX, &names));
    assert_null(names);
    assert_null(seep_jit_names_open(NO_PID, 0, written_ns - 1, &names));
    assert_null(names);
    unlink(path);
    assert_int_equal(symlink("/proc/self/maps", path), 0);
    assert_null(seep_jit_names_open(NO_PID, 0, INT64_MAX, &names));
    assert_null(names);
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_null(seep_jit_names_open(NO_PID, 0, INT64_MAX, &names));
    assert_null(names);
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions),
        cmocka_unit_test(test_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
