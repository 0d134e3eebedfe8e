// SPDX-License-Identifier: BSD-2-Clause
// Snapshots that come and are given up: what is kept is what each site had then, whatever was dropped
// between.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "growth/growth.h"
#include "growth/series.h"

#define SITES  9u
#define SECOND INT64_C(1000000000)

// What site i has at look `at`: some never change, some do now and then, new ones come.
static uint64_t live(uint32_t site, uint64_t at) {
    if (site == 1)
        return 100 * (at + 1);
    return site > at ? 0 : at / (site * site) * 10 + site;
}

static struct seep_profile *profile_at(uint64_t at) {
    struct seep_profile *profile = NULL;
    assert_null(seep_profile_create(&profile));
    profile->nr_sites = SITES;
    profile->sites = seep_arena_alloc(&profile->arena, SITES, sizeof(*profile->sites));
    assert_non_null(profile->sites);
    for (uint32_t i = 1; i < SITES; i++)
        profile->sites[i] = (struct seep_site){
            .via = SEEP_VIA_MALLOC, .live_blocks = live(i, at) > 0, .live_bytes = live(i, at)};
    profile->process.duration_ns = (int64_t)at * SECOND;
    return profile;
}

static struct seep_profile *after(uint64_t nr_looks) {
    struct seep_series series = {0};
    struct seep_series_memory memory = {.limit_bytes = 1 << 20, .limit = "memory.max of /x"};
    for (uint64_t at = 0; at < nr_looks; at++) {
        struct seep_profile *profile = profile_at(at);
        memory.rss_bytes = 4096 * (at + 1);
        memory.used_bytes = at;
        assert_null(seep_series_add(&series, profile, &memory));
        seep_profile_destroy(profile);
    }
    struct seep_profile *last = profile_at(nr_looks);
    assert_null(seep_series_give(&series, last));
    seep_series_deinit(&series);
    return last;
}

static void check_values(const struct seep_profile *profile) {
    uint64_t bytes[SITES] = {0};
    for (uint32_t i = 0; i < profile->nr_snapshots; i++) {
        const struct seep_snapshot *snapshot = &profile->snapshots[i];
        uint64_t at = (uint64_t)(snapshot->at_ns / SECOND);
        assert_true(!i || snapshot->at_ns > snapshot[-1].at_ns);
        assert_int_equal(snapshot->rss_bytes, 4096 * (at + 1));
        assert_int_equal(snapshot->used_bytes, at);
        for (uint32_t k = 0; k < snapshot->nr_sites; k++) {
            assert_true(!k || snapshot->sites[k].site > snapshot->sites[k - 1].site);
            bytes[snapshot->sites[k].site] = snapshot->sites[k].live_bytes;
        }
        for (uint32_t site = 1; site < SITES; site++)
            assert_int_equal(bytes[site], live(site, at));
    }
}

static void test_all_are_kept(void **state) {
    (void)state;
    struct seep_profile *profile = after(SEEP_SERIES_MOST);
    assert_int_equal(profile->nr_snapshots, SEEP_SERIES_MOST);
    check_values(profile);
    assert_int_equal(profile->limit_bytes, 1 << 20);
    assert_string_equal(profile->limit, "memory.max of /x");
    seep_profile_destroy(profile);
}

static void test_others_are_given_up(void **state) {
    (void)state;
    for (uint64_t nr = SEEP_SERIES_MOST + 1; nr < 3000; nr += nr / 3) {
        struct seep_profile *profile = after(nr);
        assert_in_range(profile->nr_snapshots, SEEP_SERIES_MOST / 2, SEEP_SERIES_MOST);
        check_values(profile);
        // They cover all of the time.
        uint64_t step = nr / (SEEP_SERIES_MOST / 2) + 1;
        assert_true((uint64_t)(profile->snapshots[0].at_ns / SECOND) <= 2 * step);
        assert_true((uint64_t)(profile->snapshots[profile->nr_snapshots - 1].at_ns / SECOND) + 2 * step >=
                    nr);
        seep_profile_destroy(profile);
    }
}

static void test_judged(void **state) {
    (void)state;
    struct seep_profile *profile = after(500);
    assert_non_null(profile->growth);
    const struct seep_growth_of *first = &profile->growth->sites[1];
    assert_int_equal(first->trend.verdict, SEEP_TREND_GROWING);
    assert_true(first->trend.slope > 99.9 && first->trend.slope < 100.1);
    assert_int_equal(profile->growth->rss.trend.verdict, SEEP_TREND_GROWING);
    assert_true(seep_growth_seconds(first, 1000) > 9.9 && seep_growth_seconds(first, 1000) < 10.1);
    seep_profile_destroy(profile);
    profile = after(3);
    assert_int_equal(profile->growth->live.trend.verdict, SEEP_TREND_UNKNOWN);
    assert_true(seep_growth_seconds(&profile->growth->live, 1000) < 0);
    seep_profile_destroy(profile);
    profile = after(0);
    assert_null(profile->growth);
    seep_profile_destroy(profile);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_are_kept),
        cmocka_unit_test(test_others_are_given_up),
        cmocka_unit_test(test_judged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
