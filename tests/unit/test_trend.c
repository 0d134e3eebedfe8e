// SPDX-License-Identifier: BSD-2-Clause
// Verdicts of growth on fixed series: what people would say of them, seep says.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/attr.h"
#include "growth/trend.h"

#define NR 20

static const double seconds[SEEP_TREND_MOST + 1] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,
                                                    10, 11, 12, 13, 14, 15, 16, 17, 18, 19};

static struct seep_trend judge(const double *values, size_t nr) {
    struct seep_trend trend;
    seep_trend_judge(seconds, values, nr, &trend);
    return trend;
}

static void test_line(void **state) {
    (void)state;
    double values[NR];
    for (size_t i = 0; i < NR; i++)
        values[i] = 1000 + 250 * (double)i;
    struct seep_trend trend = judge(values, NR);
    assert_int_equal(trend.verdict, SEEP_TREND_GROWING);
    assert_true(trend.slope == 250 && trend.slope_low == 250 && trend.slope_high == 250);
    assert_true(trend.confidence > 0.999);
    for (size_t i = 0; i < NR; i++)
        values[i] = 1e6 - 250 * (double)i;
    assert_int_equal(judge(values, NR).verdict, SEEP_TREND_SHRINKING);
}

static void test_noisy_line(void **state) {
    (void)state;
    // 100 a second, and up to 250 of noise.
    static const double values[NR] = {1120, 1010, 1390, 1180, 1610, 1320, 1850, 1560, 1700, 2080,
                                      1880, 2240, 1990, 2450, 2280, 2370, 2790, 2520, 2960, 2740};
    struct seep_trend trend = judge(values, NR);
    assert_int_equal(trend.verdict, SEEP_TREND_GROWING);
    assert_true(trend.slope > 85 && trend.slope < 105);
    assert_true(trend.slope_low < trend.slope && trend.slope < trend.slope_high);
    assert_true(trend.slope_low > 75 && trend.slope_high < 115);
}

// One value that is far off does not turn the slope: it is a median.
static void test_outlier(void **state) {
    (void)state;
    double values[NR];
    for (size_t i = 0; i < NR; i++)
        values[i] = 1000 + 100 * (double)i;
    values[10] = 1700;
    struct seep_trend trend = judge(values, NR);
    assert_int_equal(trend.verdict, SEEP_TREND_GROWING);
    assert_true(fabs(trend.slope - 100) < 2);
}

// What programs take when they start is no part of how they grow.
static void test_start(void **state) {
    (void)state;
    double values[NR];
    for (size_t i = 0; i < NR; i++)
        values[i] = i < 3 ? 50000 * (double)i : 150000 + 100 * (double)(i - 3);
    struct seep_trend trend = judge(values, NR);
    assert_int_equal(trend.verdict, SEEP_TREND_GROWING);
    assert_true(fabs(trend.slope - 100) < 1);
}

static void test_faster_and_faster(void **state) {
    (void)state;
    double values[NR];
    for (size_t i = 0; i < NR; i++)
        values[i] = 1000 + 10 * (double)(i * i);
    assert_int_equal(judge(values, NR).verdict, SEEP_TREND_GROWING);
}

// A server under load: nearly a line, which bends by less than one of its steps.
static void test_line_that_bends_a_little(void **state) {
    (void)state;
    static const double steps[][7] = {
        {50, 47, 43, 50, 49, 46, 44}, {50, 49, 48, 47, 47, 46, 45}, {48, 51, 49, 50, 48, 47, 43}};
    for (size_t k = 0; k < SEEP_ARRAY_SIZE(steps); k++) {
        double values[8] = {472};
        for (size_t i = 0; i < 7; i++)
            values[i + 1] = values[i] + steps[k][i];
        assert_int_equal(judge(values, 8).verdict, SEEP_TREND_GROWING);
    }
}

// The machine was busy at first, or at the end: each look is higher, so it has not stopped.
static void test_rising_throughout(void **state) {
    (void)state;
    static const double values[][8] = {{446, 459, 472, 486, 516, 565, 608, 635},
                                       {481, 504, 514, 552, 596, 642, 690, 738},
                                       {227, 232, 237, 242, 248, 255, 259, 263}};
    for (size_t k = 0; k < SEEP_ARRAY_SIZE(values); k++)
        assert_int_equal(judge(values[k], 8).verdict, SEEP_TREND_GROWING);
}

static void test_steady(void **state) {
    (void)state;
    double values[NR];
    for (size_t i = 0; i < NR; i++)
        values[i] = 4096;
    struct seep_trend trend = judge(values, NR);
    assert_int_equal(trend.verdict, SEEP_TREND_STEADY);
    assert_true(trend.slope == 0 && trend.confidence == 0);
    static const double noise[NR] = {510, 480, 530, 470, 500, 520, 460, 540, 495, 505,
                                     525, 475, 490, 515, 485, 535, 465, 500, 510, 490};
    assert_int_equal(judge(noise, NR).verdict, SEEP_TREND_STEADY);
}

static void test_step(void **state) {
    (void)state;
    for (size_t at = 1; at < NR; at++) {
        double values[NR];
        for (size_t i = 0; i < NR; i++)
            values[i] = i < at ? 1000 : 9000;
        assert_int_not_equal(judge(values, NR).verdict, SEEP_TREND_GROWING);
    }
}

// Full after a third, a half: linearly, ever slower, as a table that doubles.
static void test_cache(void **state) {
    (void)state;
    for (size_t full = 2; full <= NR / 2; full++) {
        double line[NR], curve[NR], table[NR];
        for (size_t i = 0; i < NR; i++) {
            line[i] = 1000.0 * (double)(i < full ? i : full);
            curve[i] = 50000 * (1 - exp(-3 * (double)i / (double)full));
            table[i] = i < full ? pow(2, floor(8.0 * (double)i / (double)full)) : 256;
        }
        assert_int_equal(judge(line, NR).verdict, SEEP_TREND_PLATEAU);
        assert_int_not_equal(judge(curve, NR).verdict, SEEP_TREND_GROWING);
        assert_int_equal(judge(table, NR).verdict, SEEP_TREND_PLATEAU);
    }
}

static void test_sawtooth(void **state) {
    (void)state;
    for (size_t period = 4; period <= 9; period++) {
        double teeth[NR], climbing[NR];
        for (size_t i = 0; i < NR; i++) {
            teeth[i] = 1000 + 500.0 * (double)(i % period);
            climbing[i] = teeth[i] + 400.0 * (double)i;
        }
        assert_int_equal(judge(teeth, NR).verdict, SEEP_TREND_SAWTOOTH);
        // What never comes back to where it was is no sawtooth.
        assert_int_not_equal(judge(climbing, NR).verdict, SEEP_TREND_SAWTOOTH);
    }
}

static void test_bounds(void **state) {
    (void)state;
    double values[SEEP_TREND_MOST + 1], times[SEEP_TREND_MOST + 1];
    for (size_t i = 0; i <= SEEP_TREND_MOST; i++)
        times[i] = values[i] = (double)i;
    struct seep_trend trend;
    for (size_t nr = 0; nr <= SEEP_TREND_MOST + 1; nr++) {
        seep_trend_judge(times, values, nr, &trend);
        bool known = nr >= SEEP_TREND_LEAST && nr <= SEEP_TREND_MOST;
        assert_int_equal(trend.verdict, known ? SEEP_TREND_GROWING : SEEP_TREND_UNKNOWN);
    }
    // All at one moment: there is no slope.
    static const double same[NR] = {0};
    seep_trend_judge(same, values, NR, &trend);
    assert_int_equal(trend.verdict, SEEP_TREND_UNKNOWN);
    // Some moments twice, and figures at the end of what a size can be.
    double pairs[NR], huge[NR];
    for (size_t i = 0; i < NR; i++) {
        pairs[i] = (double)(i / 2);
        huge[i] = 0x1p63 + 0x1p40 * (double)i;
    }
    seep_trend_judge(pairs, huge, NR, &trend);
    assert_int_equal(trend.verdict, SEEP_TREND_GROWING);
    assert_true(fabs(trend.slope / 0x1p41 - 1) < 0.01);
}

// Up to sixteen times as much and back.
static void test_up_and_back(void **state) {
    (void)state;
    static const double sizes[] = {1, 4, 8, 12, 16, 12, 8, 4, 1};
    static const double times[] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    double nearly[SEEP_ARRAY_SIZE(sizes)];
    struct seep_trend trend;
    seep_trend_judge(times, sizes, SEEP_ARRAY_SIZE(sizes), &trend);
    assert_int_equal(trend.verdict, SEEP_TREND_NONE);
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(sizes); i++)
        nearly[i] = 20 + sizes[i];
    seep_trend_judge(times, nearly, SEEP_ARRAY_SIZE(sizes), &trend);
    assert_int_equal(trend.verdict, SEEP_TREND_STEADY);
}

static void test_names(void **state) {
    (void)state;
    static const char *const names[] = {"unknown",  "steady",    "growing", "plateau",
                                        "sawtooth", "shrinking", "no trend"};
    for (int i = 0; i < SEEP_TREND_NR; i++)
        assert_string_equal(seep_trend_name((enum seep_trend_verdict)i), names[i]);
    assert_string_equal(seep_trend_name(SEEP_TREND_NR), "unknown");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_line),
        cmocka_unit_test(test_noisy_line),
        cmocka_unit_test(test_outlier),
        cmocka_unit_test(test_start),
        cmocka_unit_test(test_faster_and_faster),
        cmocka_unit_test(test_line_that_bends_a_little),
        cmocka_unit_test(test_rising_throughout),
        cmocka_unit_test(test_steady),
        cmocka_unit_test(test_step),
        cmocka_unit_test(test_cache),
        cmocka_unit_test(test_sawtooth),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_up_and_back),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
