// SPDX-License-Identifier: BSD-2-Clause
// Profiles and sessions: making, derived figures, the words for enums.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "profile/verdict.h"
#include "profile/profile.h"
#include "profile/runtime_memory.h"

static struct seep_profile *make(uint32_t nr_sites) {
    struct seep_profile *profile = NULL;
    assert_null(seep_profile_create(&profile));
    if (nr_sites) {
        profile->sites = seep_arena_alloc(&profile->arena, nr_sites, sizeof(*profile->sites));
        assert_non_null(profile->sites);
        profile->nr_sites = nr_sites;
    }
    return profile;
}

static void test_new_profile_has_valid_index_0(void **state) {
    struct seep_profile *profile = make(0);
    assert_int_equal(profile->nr_modules, 1);
    assert_int_equal(profile->nr_nodes, 1);
    assert_int_equal(profile->nr_sites, 1);
    assert_string_equal(profile->modules[0].path, "(no module)");
    assert_int_equal(profile->nodes[0].parent, 0);
    assert_true(profile->sites[0].counters.size_min > profile->sites[0].counters.size_max);
    assert_string_equal(profile->process.exe, "");
    assert_int_equal(profile->nr_threads + profile->nr_blocks + profile->nr_thread_sites, 0);
    seep_profile_destroy(profile);
    seep_profile_destroy(NULL);
}

static void test_session_keeps_order(void **state) {
    struct seep_session *session = NULL;
    assert_null(seep_session_create(&session));
    for (uint32_t i = 0; i < 100; i++) {
        struct seep_profile *profile = make(0);
        profile->process.pid = i;
        assert_null(seep_session_add(session, profile));
        assert_int_equal(session->nr_profiles, i + 1);
    }
    for (uint32_t i = 0; i < 100; i++)
        assert_int_equal(session->profiles[i]->process.pid, i);
    seep_session_destroy(session);
    seep_session_destroy(NULL);
}

// The pieces of a runtime are known by the module, and by the size of each.
static void test_memory_of_runtimes(void **state) {
    static const struct {
        const char *module;
        uint64_t maps, bytes; // mapped in all
        uint64_t most[SEEP_RUNTIME_NR];
    } cases[] = {
        {"/usr/bin/python3.11", 3, 3 << 20, {[SEEP_RUNTIME_PYTHON] = 3 << 20}},
        {"/opt/lib/libpython3.9.so.1.0", 2, 512 << 10, {[SEEP_RUNTIME_PYTHON] = 512 << 10}},
        {"/usr/bin/python3.11", 2, 3 << 20, {0}},
        {"/usr/bin/php8.2", 2, 8 << 20, {[SEEP_RUNTIME_PHP] = 8 << 20}},
        {"/usr/lib/apache2/modules/libphp8.2.so", 1, 2 << 20, {[SEEP_RUNTIME_PHP] = 2 << 20}},
        {"/usr/bin/php8.2", 1, (2 << 20) + 4096, {0}},
        {"/usr/bin/other", 2, 8 << 20, {0}},
        {NULL, 2, 8 << 20, {0}},
        {"/usr/bin/php8.2", 0, 0, {0}},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct seep_profile *profile = make(2);
        struct seep_mapping_site site = {
            .site = 1,
            .counts = {.maps = cases[i].maps, .mapped_bytes = cases[i].bytes, .peak_bytes = cases[i].bytes}};
        profile->modules[0].path = cases[i].module;
        profile->mapping_sites = &site;
        profile->nr_mapping_sites = 1;
        for (unsigned runtime = 0; runtime < SEEP_RUNTIME_NR; runtime++)
            assert_int_equal(seep_runtime_bytes(profile, (enum seep_runtime)runtime), cases[i].most[runtime]);
        profile->nr_mapping_sites = 0;
        seep_profile_destroy(profile);
    }
}

static void test_derive_sums_sites(void **state) {
    struct seep_profile *profile = make(4);
    profile->sites[0].counters.allocations = 1000; // site 0 is never used: must not count
    profile->sites[1].via = SEEP_VIA_MALLOC;
    profile->sites[1].counters = (struct seep_counters){
        .allocations = 10, .allocated_bytes = 100, .frees = 4, .freed_bytes = 40, .temporary = 2};
    profile->sites[2].via = SEEP_VIA_CALLOC; // a live snapshot may see a free before its allocation
    profile->sites[2].counters =
        (struct seep_counters){.allocations = 1, .allocated_bytes = 8, .frees = 2, .freed_bytes = 16};
    profile->sites[3].via = 999;
    profile->sites[3].counters = (struct seep_counters){.allocations = 3, .allocated_bytes = 3};
    profile->health.cut[SEEP_CUT_NO_CFI] = 5;
    profile->health.cut[SEEP_CUT_DEPTH] = 6;
    profile->totals.peak_bytes = 77;
    profile->totals.failed = 7;
    profile->totals.releases[SEEP_RELEASE_FREE] = 6;
    seep_profile_derive(profile);
    seep_profile_derive(profile); // once more changes nothing

    const struct seep_totals *totals = &profile->totals;
    assert_int_equal(profile->sites[1].live_blocks, 6);
    assert_int_equal(profile->sites[1].live_bytes, 60);
    assert_int_equal(profile->sites[2].live_blocks, 0);
    assert_int_equal(profile->sites[2].live_bytes, 0);
    assert_int_equal(totals->allocations, 14);
    assert_int_equal(totals->allocated_bytes, 111);
    assert_int_equal(totals->frees, 6);
    assert_int_equal(totals->freed_bytes, 56);
    assert_int_equal(totals->live_blocks, 9); // the sum over sites, so that reports add up
    assert_int_equal(totals->live_bytes, 63);
    assert_int_equal(totals->temporary, 2);
    assert_int_equal(totals->by_function[SEEP_VIA_MALLOC], 10);
    assert_int_equal(totals->by_function[SEEP_VIA_CALLOC], 1);
    assert_int_equal(totals->by_function[SEEP_VIA_NONE], 3);
    assert_int_equal(profile->health.events, 20);
    assert_int_equal(profile->health.stacks_cut, 11);
    // What only capture knows is left alone.
    assert_int_equal(totals->peak_bytes, 77);
    assert_int_equal(totals->failed, 7);
    assert_int_equal(totals->releases[SEEP_RELEASE_FREE], 6);
    seep_profile_destroy(profile);
}

static void test_derive_stops_at_the_largest_number(void **state) {
    struct seep_profile *profile = make(3);
    for (uint32_t i = 1; i < 3; i++)
        profile->sites[i].counters = (struct seep_counters){
            .allocations = UINT64_MAX, .allocated_bytes = UINT64_MAX, .temporary = UINT64_MAX};
    seep_profile_derive(profile);
    assert_true(profile->totals.allocations == UINT64_MAX);
    assert_true(profile->totals.live_bytes == UINT64_MAX);
    assert_true(profile->totals.temporary == UINT64_MAX);
    assert_true(profile->health.events == UINT64_MAX);
    seep_profile_destroy(profile);
}

static void check_names(const char *(*name_of)(uint32_t), uint32_t first, uint32_t nr) {
    for (uint32_t i = first; i < nr; i++) {
        const char *name = name_of(i);
        assert_string_not_equal(name, "unknown");
        for (const char *at = name; *at; at++)
            assert_non_null(strchr("abcdefghijklmnopqrstuvwxyz_ []", *at));
        for (uint32_t k = first; k < i; k++)
            assert_string_not_equal(name, name_of(k));
    }
    assert_string_equal(name_of(nr), "unknown");
    assert_string_equal(name_of(UINT32_MAX), "unknown");
}

static void test_names(void **state) {
    check_names(seep_via_name, SEEP_VIA_MALLOC, SEEP_VIA_OTEL + 1);
    check_names(seep_release_name, 0, SEEP_RELEASE_IMPLICIT + 1);
    check_names(seep_lost_name, 0, SEEP_LOST_STOPPED + 1);
    check_names(seep_misuse_name, SEEP_MISUSE_MISMATCH, SEEP_MISUSE_NR);
    check_names(seep_cut_name, 0, SEEP_CUT_PROBE + 1);
    assert_string_equal(seep_via_name(SEEP_VIA_NONE), "unknown");
    assert_string_equal(seep_via_name(SEEP_VIA_NEW_ARRAY), "operator new[]");
    assert_string_equal(seep_lost_name(SEEP_LOST_NO_LEAF), "no_leaf");
}

// One sentence each, which says what it means and, behind a colon, what follows or what to do.
static void check_meanings(const char *(*meaning_of)(uint32_t), uint32_t nr) {
    for (uint32_t i = 0; i < nr; i++) {
        const char *meaning = meaning_of(i);
        assert_non_null(strchr(meaning, ':'));
        assert_null(strchr(meaning, '\n'));
        assert_true(meaning[strlen(meaning) - 1] != '.');
        assert_null(strstr(meaning, "does not know: update"));
    }
    assert_non_null(strstr(meaning_of(UINT32_MAX), "update seep"));
}

static const char *name_of(const char *exe, const char *first_arg) {
    static char kept[64];
    const char *args[] = {first_arg};
    struct seep_profile *profile;
    assert_null(seep_profile_create(&profile));
    profile->process.exe = exe;
    profile->process.args = args;
    profile->process.nr_args = first_arg != NULL;
    seep_process_name_derive(profile);
    snprintf(kept, sizeof(kept), "%s%s", profile->process.name,
             seep_process_is_named_otherwise(&profile->process) ? "!" : "");
    seep_profile_destroy(profile);
    return kept;
}

// The name by which a program was run, "!" behind it where that is not its executable's.
static void test_names_of_processes(void **state) {
    (void)state;
    assert_string_equal(name_of("/usr/bin/app", "./app"), "app");
    assert_string_equal(name_of("/usr/bin/app", NULL), "app");
    assert_string_equal(name_of("/usr/bin/app", ""), "app");
    assert_string_equal(name_of("/usr/bin/redis-check-rdb", "redis-server"), "redis-server!");
    assert_string_equal(name_of("/usr/bin/redis-check-rdb", "/usr/bin/redis-server *:6379"), "redis-server!");
    assert_string_equal(name_of("/usr/sbin/nginx", "nginx: worker process"), "nginx");
    assert_string_equal(name_of("/usr/sbin/nginx", "nginx: master process /usr/sbin/nginx -c x"), "nginx");
    assert_string_equal(name_of("/usr/bin/dash", "-sh"), "sh!");
    assert_string_equal(name_of("/opt/my tools/run me", "/opt/my tools/run me"), "run me");
    assert_string_equal(name_of("/usr/bin/app", " "), "app");
    assert_string_equal(name_of("/usr/bin/app", "-"), "app");
    assert_string_equal(name_of("", "odd/"), "odd/");
    assert_string_equal(name_of("", NULL), "(program not known)");
}

static void test_meanings(void **state) {
    check_meanings(seep_lost_meaning, SEEP_LOST_STOPPED + 1);
    check_meanings(seep_cut_meaning, SEEP_CUT_PROBE + 1);
    check_meanings(seep_passive_meaning, SEEP_PASSIVE_NR);
}

static void check_why(struct seep_profile *profile, enum seep_verdict verdict, const char *why) {
    assert_int_equal(seep_profile_verdict(profile), verdict);
    assert_string_equal(seep_profile_why_incomplete(profile, &profile->arena), why);
}

static void test_why_incomplete(void **state) {
    struct seep_profile *profile;
    assert_null(seep_profile_create(&profile));
    struct seep_health *health = &profile->health;
    char expected[512];
    assert_int_equal(seep_profile_verdict(profile), SEEP_VERDICT_COMPLETE);
    health->events = 9;
    health->lost[SEEP_LOST_NO_SITE] = 2;
    health->lost[SEEP_LOST_RING] = 5;
    snprintf(expected, sizeof(expected), "lost 5 (ring): %s", seep_lost_meaning(SEEP_LOST_RING));
    check_why(profile, SEEP_VERDICT_INCOMPLETE, expected);
    health->flags |= SEEP_FLAG_PREEMPTED;
    assert_int_equal(seep_profile_verdict(profile), SEEP_VERDICT_INCOMPLETE);
    const char *why = seep_profile_why_incomplete(profile, &profile->arena);
    assert_non_null(strstr(why, " of the program itself "));
    assert_non_null(strstr(why, seep_profile_preempted_advice(profile)));
    health->state = SEEP_STATE_PASSIVE;
    health->passive_reason = SEEP_PASSIVE_FORK;
    snprintf(expected, sizeof(expected), "seep gave up: %s", seep_passive_meaning(SEEP_PASSIVE_FORK));
    check_why(profile, SEEP_VERDICT_INCOMPLETE, expected);
    health->events = 0;
    check_why(profile, SEEP_VERDICT_NOT_TRACED, expected);
    assert_null(seep_profile_note(profile, SEEP_NOTE_CANNOT_PRELOAD, "it is static"));
    check_why(profile, SEEP_VERDICT_NOT_TRACED, "it is static");

    struct seep_profile *whole;
    assert_null(seep_profile_create(&whole));
    assert_int_equal(seep_profiles_verdict((struct seep_profile *[]){whole, profile}, 2),
                     SEEP_VERDICT_NOT_TRACED);
    assert_int_equal(seep_profiles_verdict(&whole, 1), SEEP_VERDICT_COMPLETE);
    seep_profile_destroy(whole);
    seep_profile_destroy(profile);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_new_profile_has_valid_index_0),
        cmocka_unit_test(test_session_keeps_order),
        cmocka_unit_test(test_memory_of_runtimes),
        cmocka_unit_test(test_derive_sums_sites),
        cmocka_unit_test(test_derive_stops_at_the_largest_number),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_names_of_processes),
        cmocka_unit_test(test_meanings),
        cmocka_unit_test(test_why_incomplete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
