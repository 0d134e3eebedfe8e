// SPDX-License-Identifier: BSD-2-Clause
//
// The folder of a drop-in whose lock another process holds: any user can take it. The wait for it ends.
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <cmocka.h>

#include "service/drop_in.h"

static void test_a_lock_that_another_holds(void **state) {
    (void)state;
    char folder[] = "/tmp/seep-drop-in-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/50-seep.conf", folder);
    int other = open(folder, O_RDONLY | O_DIRECTORY);
    assert_int_equal(flock(other, LOCK_EX), 0);
    struct seep_error *error = seep_drop_in_write(path, "text");
    assert_non_null(error);
    assert_non_null(strstr(error->message, "lock"));
    seep_error_destroy(error);
    assert_int_equal(access(path, F_OK), -1);
    close(other);
    assert_null(seep_drop_in_write(path, "text"));
    bool was = false;
    assert_null(seep_drop_in_remove(path, &was));
    assert_true(was);
    rmdir(folder); // it is gone where nothing else was in it
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_lock_that_another_holds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
