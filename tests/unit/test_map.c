// SPDX-License-Identifier: BSD-2-Clause
// The hash map with keys that were chosen to fall on one place, as a hostile file has them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/map.h"

#define NR_KEYS 20000u

static uint64_t inverse(uint64_t odd) {
    uint64_t result = odd;
    for (unsigned i = 0; i < 6; i++)
        result *= 2 - odd * result;
    return result;
}

// The key that seep_hash64() makes `hash` of.
static uint64_t key_of(uint64_t hash) {
    hash ^= hash >> 33;
    hash *= inverse(UINT64_C(0xc4ceb9fe1a85ec53));
    hash ^= hash >> 33;
    hash *= inverse(UINT64_C(0xff51afd7ed558ccd));
    return hash ^ hash >> 33;
}

static uint64_t on_one_place(uint64_t nr) {
    return key_of(nr << 32);
}

static uint64_t ordinary(uint64_t nr) {
    return 0x7f0000000000 + nr * 32;
}

static void fill(struct seep_map *map, uint64_t (*key)(uint64_t)) {
    for (uint64_t nr = 1; nr <= NR_KEYS; nr++) {
        bool is_new;
        uint64_t *value = seep_map_at(map, key(nr), &is_new);
        assert_true(value && is_new);
        *value = nr;
    }
    for (uint64_t nr = 1; nr <= NR_KEYS; nr += 2)
        seep_map_remove(map, key(nr));
    for (uint64_t nr = 1; nr <= NR_KEYS; nr++) {
        const uint64_t *value = seep_map_find(map, key(nr));
        assert_true(nr % 2 ? !value : value && *value == nr);
    }
    assert_int_equal(map->nr_used, NR_KEYS / 2);
}

static void chosen_keys_are_spread(void **state) {
    struct seep_map map = SEEP_MAP_INIT;
    assert_true(seep_hash64(on_one_place(7)) == UINT64_C(7) << 32);
    fill(&map, on_one_place);
    assert_true(map.seed != 0);
    seep_map_deinit(&map);
}

// Their order is the same in each run.
static void ordinary_keys_have_no_seed(void **state) {
    struct seep_map map = SEEP_MAP_INIT;
    fill(&map, ordinary);
    assert_true(map.seed == 0);
    seep_map_deinit(&map);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chosen_keys_are_spread),
        cmocka_unit_test(ordinary_keys_have_no_seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
