// SPDX-License-Identifier: BSD-2-Clause
// The interval of a ratio on made-up times: how often a thing differs from itself, and how often one that takes
// 3 % longer is found, with what machines do to times. The same numbers each time.
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "replay/statistics.h"

enum { ROUNDS = 10, COMPARISONS = 400 };

static uint64_t state = 88172645463325252u;

static double uniform(void) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return ((double)(state >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void) {
    return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
}

struct machine {
    double spread;         // of each run, relative
    double drift;          // of the machine, from round to round
    double disturbed_part; // of the runs, which take up to twice as long
};

// Percent of the comparisons in which they differ.
static int differing(const struct machine *machine, double ratio) {
    int nr = 0;
    for (int i = 0; i < COMPARISONS; i++) {
        double first[ROUNDS], second[ROUNDS], pace = 1;
        for (int k = 0; k < ROUNDS; k++) {
            pace *= exp(machine->drift * normal());
            first[k] = pace * exp(machine->spread * normal());
            second[k] = pace * ratio * exp(machine->spread * normal());
            first[k] *= uniform() < machine->disturbed_part ? 1 + uniform() : 1;
            second[k] *= uniform() < machine->disturbed_part ? 1 + uniform() : 1;
        }
        struct seep_interval interval = seep_ratio_interval(second, first, ROUNDS);
        assert_true(interval.low <= interval.middle && interval.middle <= interval.high);
        // Never where 1 is in what is shown.
        assert_true(!interval.differs || interval.low > 1 || interval.high < 1);
        nr += interval.differs;
    }
    return nr * 100 / COMPARISONS;
}

static const struct machine quiet = {0.01, 0, 0}, drifting = {0.01, 0.1, 0}, disturbed = {0.01, 0.02, 0.03},
                            noisy = {0.1, 0.1, 0.3};

static void test_the_same_twice_is_no_difference(void **unused) {
    (void)unused;
    assert_in_range(differing(&quiet, 1), 0, 2);
    assert_in_range(differing(&drifting, 1), 0, 2);
    assert_in_range(differing(&disturbed, 1), 0, 2);
    assert_in_range(differing(&noisy, 1), 0, 2);
}

static void test_three_percent_are_found(void **unused) {
    (void)unused;
    assert_in_range(differing(&quiet, 1.03), 95, 100);
    assert_in_range(differing(&drifting, 1.03), 95, 100);
    assert_in_range(differing(&drifting, 1 / 1.03), 95, 100);
    // Where runs differ by more than that it is not said either.
    assert_in_range(differing(&noisy, 1.03), 0, 10);
}

static void test_disturbed_rounds_do_not_hide_a_difference(void **unused) {
    (void)unused;
    assert_in_range(differing(&disturbed, 1.06), 70, 100);
}

static void test_few_rounds(void **unused) {
    (void)unused;
    const double first[] = {100, 101, 99}, same[] = {101, 99, 100}, twice[] = {200, 203, 199};
    assert_false(seep_ratio_interval(same, first, 3).differs);
    assert_true(seep_ratio_interval(twice, first, 3).differs);
    assert_false(seep_ratio_interval(twice, first, 1).differs);
    assert_true(isnan(seep_ratio_interval(twice, first, 0).middle));
}

static void test_what_is_noise(void **unused) {
    (void)unused;
    const double around[] = {5, -4, 3, -6, 2, 1, -2, 4, -3, 6}, above[] = {5, 4, 3, 6, 2, 1, -2, 4, 3, 6};
    const double few[] = {10, 11, 9}, wide[] = {10, 2, 90};
    assert_true(seep_is_noise(around, 10));
    assert_false(seep_is_noise(above, 10));
    assert_false(seep_is_noise(few, 3));
    assert_true(seep_is_noise(wide, 3));
    assert_true(seep_is_noise(few, 0));
    // A round in which the calls took less than nothing does not decide the ratio.
    assert_true(seep_ratio_interval(above, above, 10).middle == 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_same_twice_is_no_difference),
        cmocka_unit_test(test_three_percent_are_found),
        cmocka_unit_test(test_disturbed_rounds_do_not_hide_a_difference),
        cmocka_unit_test(test_few_rounds),
        cmocka_unit_test(test_what_is_noise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
