// SPDX-License-Identifier: BSD-2-Clause
// The agent's malloc: what it hands out is aligned, holds what is written to it beside all others, and is used
// again.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/small_malloc.h"

enum { NR_PLACES = 200, NR_STEPS = 10000 };

static struct {
    unsigned char *block;
    size_t nr_bytes;
    unsigned char filled;
} places[NR_PLACES];

static uint32_t next_random(uint32_t *state) {
    *state = *state * 1664525 + 1013904223;
    return *state >> 8;
}

static size_t some_size(uint32_t *state) {
    static const size_t most[] = {64, 64, 512, 4096, 40000, 400000};
    return next_random(state) % most[next_random(state) % 6];
}

static void check(size_t i) {
    for (size_t k = 0; k < places[i].nr_bytes; k++)
        if (places[i].block[k] != places[i].filled)
            fail_msg("byte %zu of %zu at place %zu", k, places[i].nr_bytes, i);
}

static void fill(size_t i, void *block, size_t nr_bytes, uint32_t *state) {
    assert_non_null(block);
    assert_int_equal((uintptr_t)block % (2 * sizeof(size_t)), 0);
    places[i].block = block;
    places[i].nr_bytes = nr_bytes;
    places[i].filled = (unsigned char)next_random(state);
    if (nr_bytes)
        memset(block, places[i].filled, nr_bytes);
}

static void test_blocks_are_apart(void **state) {
    (void)state;
    uint32_t random = 1;
    for (size_t step = 0; step < NR_STEPS; step++) {
        size_t i = next_random(&random) % NR_PLACES, nr = some_size(&random);
        check(i);
        if (!places[i].block) {
            fill(i, seep_small_malloc(nr), nr, &random);
        } else if (next_random(&random) % 2) {
            unsigned char *moved = seep_small_realloc(places[i].block, nr);
            places[i].block = moved;
            places[i].nr_bytes = nr < places[i].nr_bytes ? nr : places[i].nr_bytes;
            check(i);
            fill(i, moved, nr, &random);
        } else {
            seep_small_free(places[i].block);
            memset(&places[i], 0, sizeof(places[i]));
        }
    }
    for (size_t i = 0; i < NR_PLACES; i++)
        seep_small_free(places[i].block);
}

static void test_each_size_is_used_again(void **state) {
    (void)state;
    for (size_t nr = 0; nr <= 16000; nr++) {
        void *first = seep_small_malloc(nr);
        seep_small_free(first);
        void *again = seep_small_malloc(nr);
        assert_ptr_equal(again, first);
        seep_small_free(again);
    }
}

static void test_calloc_is_zero(void **state) {
    (void)state;
    static const size_t sizes[] = {0, 1, 24, 100, 5000, 16000, 16384, 100000};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        unsigned char *used = seep_small_malloc(sizes[i]);
        memset(used, 0xff, sizes[i]);
        seep_small_free(used);
        unsigned char *zero = seep_small_calloc(sizes[i], 1);
        for (size_t k = 0; k < sizes[i]; k++)
            assert_int_equal(zero[k], 0);
        seep_small_free(zero);
    }
}

static void test_too_much(void **state) {
    (void)state;
    static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 8, PTRDIFF_MAX, PTRDIFF_MAX - 8, SIZE_MAX / 4};
    char *small = seep_small_malloc(3), *large = seep_small_malloc(20000);
    memcpy(small, "ab", 3);
    memcpy(large, "cd", 3);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        errno = 0;
        assert_null(seep_small_malloc(sizes[i]));
        assert_int_equal(errno, ENOMEM);
        assert_null(seep_small_realloc(small, sizes[i]));
        assert_null(seep_small_realloc(large, sizes[i]));
    }
    assert_null(seep_small_calloc(SIZE_MAX / 2, 4));
    assert_string_equal(small, "ab");
    assert_string_equal(large, "cd");
    errno = 5;
    seep_small_free(small);
    seep_small_free(large);
    seep_small_free(NULL);
    assert_int_equal(errno, 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks_are_apart),
        cmocka_unit_test(test_each_size_is_used_again),
        cmocka_unit_test(test_calloc_is_zero),
        cmocka_unit_test(test_too_much),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
