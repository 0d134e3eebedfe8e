// SPDX-License-Identifier: BSD-2-Clause
// The agent's division beside the CPU's, on the edges of 32 bits and on numbers of all lengths.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "agent/small_division.h"

static const uint32_t edges[] = {0,          1,          2,          3,         7,          10,
                                 4095,       4096,       65535,      65536,     0x7ffffffe, 0x7fffffff,
                                 0x80000000, 0x80000001, 0xfffffffe, 0xffffffff};
#define NR_EDGES (sizeof(edges) / sizeof(edges[0]))

static void check(uint32_t value, uint32_t by) {
    if (!by)
        return;
    assert_int_equal(seep_small_divide(value, by), (uint64_t)(value % by) << 32 | value / by);
    int32_t with_sign = (int32_t)value, by_sign = (int32_t)by;
    if (with_sign == INT32_MIN && by_sign == -1)
        return;
    assert_int_equal(seep_small_divide_signed(with_sign, by_sign),
                     (uint64_t)(uint32_t)(with_sign % by_sign) << 32 | (uint32_t)(with_sign / by_sign));
}

static void test_edges(void **state) {
    (void)state;
    for (size_t i = 0; i < NR_EDGES; i++)
        for (size_t k = 0; k < NR_EDGES; k++)
            check(edges[i], edges[k]);
}

static void test_numbers_of_all_lengths(void **state) {
    (void)state;
    uint64_t random = 1;
    for (int i = 0; i < 100000; i++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        check((uint32_t)(random >> 32) >> (i % 32), (uint32_t)random >> (i / 32 % 32));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_edges),
                                       cmocka_unit_test(test_numbers_of_all_lengths)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
