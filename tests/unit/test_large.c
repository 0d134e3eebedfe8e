// SPDX-License-Identifier: BSD-2-Clause
//
// Large arrays are in huge pages, where the kernel has them: asked of the kernel, which notes it at the mapping.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
// cmocka needs those above.
#include <cmocka.h>

#include "base/large.h"
#include "base/map.h"

#define LARGE ((size_t)16 << 20)

// Whether the mapping of this address has the flag of MADV_HUGEPAGE. Source: proc_pid_smaps(5), VmFlags.
static bool is_advised(const void *address) {
    FILE *file = fopen("/proc/self/smaps", "re");
    assert_non_null(file);
    char line[4096];
    unsigned long from, to;
    bool within = false, advised = false;
    while (fgets(line, sizeof(line), file)) {
        if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
            within = (uintptr_t)address >= from && (uintptr_t)address < to;
        else if (within && strncmp(line, "VmFlags:", 8) == 0)
            advised = strstr(line, " hg") != NULL;
    }
    fclose(file);
    return advised;
}

static void grown_arrays(void **state) {
    (void)state;
    if (access("/sys/kernel/mm/transparent_hugepage/enabled", R_OK) != 0)
        return;
    unsigned char *bytes = NULL;
    size_t capacity = 0;
    assert_true(seep_grow(&bytes, &capacity, LARGE, 1));
    assert_true(is_advised(bytes + LARGE / 2));
    memset(bytes, 1, LARGE);
    assert_true(seep_grow(&bytes, &capacity, LARGE + 1, 1));
    assert_int_equal(capacity, 2 * LARGE);
    assert_true(is_advised(bytes + LARGE + LARGE / 2));
    assert_int_equal(bytes[LARGE - 1], 1);
    assert_int_equal(bytes[LARGE], 0);
    free(bytes);
    bytes = seep_large_alloc(LARGE, 1);
    assert_non_null(bytes);
    assert_true(is_advised(bytes + LARGE / 2));
    free(bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(grown_arrays)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
