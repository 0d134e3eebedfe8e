// SPDX-License-Identifier: BSD-2-Clause
// Other names of the kernel's caches, of a folder as the kernel has it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "source/kernel/kernel_caches.h"

static char folder[] = "/tmp/seep-caches-XXXXXX";

static void add_link(const char *name, const char *of) {
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    assert_int_equal(symlink(of, path), 0);
}

static void remove_link(const char *name) {
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    unlink(path);
}

static const char *const names[] = {"cred", "pid", "alone", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8"};

static void test_aliases(void **state) {
    assert_non_null(mkdtemp(folder));
    add_link("cred", ":A-0000192");
    add_link("pid", ":A-0000192");
    add_link("alone", ":0000512");
    for (size_t i = 3; i < SEEP_ARRAY_SIZE(names); i++)
        add_link(names[i], ":0000064");
    struct seep_kernel_caches *caches;
    struct seep_arena arena = {0};
    assert_null(seep_kernel_caches_read(folder, &caches));
    assert_string_equal(seep_kernel_caches_aliases(caches, "cred", &arena), "pid");
    assert_string_equal(seep_kernel_caches_aliases(caches, "pid", &arena), "cred");
    assert_null(seep_kernel_caches_aliases(caches, "alone", &arena));
    assert_null(seep_kernel_caches_aliases(caches, "unknown", &arena));
    assert_string_equal(seep_kernel_caches_aliases(caches, "c2", &arena),
                        "c1, c3, c4, c5, c6, c7 and 1 more");
    seep_kernel_caches_destroy(caches);
    seep_arena_deinit(&arena);
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(names); i++)
        remove_link(names[i]);
    rmdir(folder);
}

static void test_no_folder(void **state) {
    struct seep_kernel_caches *caches;
    struct seep_arena arena = {0};
    assert_null(seep_kernel_caches_read("/nowhere", &caches));
    assert_null(seep_kernel_caches_aliases(caches, "cred", &arena));
    seep_kernel_caches_destroy(caches);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_aliases),
        cmocka_unit_test(test_no_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
