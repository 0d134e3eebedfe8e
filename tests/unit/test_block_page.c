// SPDX-License-Identifier: BSD-2-Clause
//
// Pages of blocks by their size: whatever the sizes are, pages one after the other are all of them, in order.
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "server/block_page.h"

static uint64_t next_random(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

static bool is_after(const struct seep_server_block *a, const struct seep_server_block *b) {
    if (a->block.size != b->block.size)
        return a->block.size > b->block.size;
    return a->process != b->process ? a->process < b->process : a->block.address < b->block.address;
}

static struct seep_error *blocks_of(const void *process, seep_block_visit *visit, void *data) {
    const struct seep_profile *profile = process;
    for (size_t i = 0; i < profile->nr_blocks && visit(data, &profile->blocks[i]); i++)
        continue;
    return NULL;
}

static void make(const struct seep_session *session, uint64_t process, uint64_t site, uint64_t first,
                 uint64_t nr, struct seep_server_page *ret_page) {
    assert_null(seep_server_page_make(blocks_of, (const void *const *)session->profiles, session->nr_profiles,
                                      process, site, first, nr, ret_page));
}

static void check(struct seep_session *session, uint64_t process, uint64_t site, uint64_t step) {
    struct seep_server_block last = {.process = UINT32_MAX};
    uint64_t nr = 0, nr_all = 0, expected = 0;
    for (size_t p = 0; p < session->nr_profiles; p++)
        for (size_t i = 0; i < session->profiles[p]->nr_blocks; i++)
            expected += !site || (p == process && session->profiles[p]->blocks[i].site == site);
    do {
        struct seep_server_page page;
        make(session, process, site, nr, step, &page);
        nr_all = page.nr_all;
        assert_int_equal(page.nr_blocks, nr < nr_all ? SEEP_MIN(step, nr_all - nr) : 0);
        for (size_t i = 0; i < page.nr_blocks; i++) {
            assert_true(last.process == UINT32_MAX || is_after(&last, &page.blocks[i]));
            assert_true(!site || (page.blocks[i].process == process && page.blocks[i].block.site == site));
            last = page.blocks[i];
        }
        nr += page.nr_blocks;
        free(page.blocks);
    } while (nr < nr_all);
    assert_int_equal(nr, expected);
}

// Pages of one block each are as many as blocks, and each is made of all of them: of few.
static void check_pages(size_t nr, uint64_t first_step) {
    // Of one size; few; many about the border of the exact buckets; of all magnitudes.
    static const uint64_t spans[][2] = {
        {64, 1}, {0, 40}, {2040, 16}, {1, UINT64_C(1) << 40}, {UINT64_C(1) << 36, 3}};
    uint64_t random = 1;
    for (size_t s = 0; s < sizeof(spans) / sizeof(*spans); s++) {
        struct seep_session *session = NULL;
        assert_null(seep_session_create(&session));
        for (uint32_t p = 0; p < 2; p++) {
            struct seep_profile *profile = NULL;
            assert_null(seep_profile_create(&profile));
            profile->blocks = seep_arena_alloc(&profile->arena, nr, sizeof(*profile->blocks));
            assert_non_null(profile->blocks);
            profile->nr_blocks = nr / (p + 1);
            for (size_t i = 0; i < profile->nr_blocks; i++) {
                uint64_t span = (next_random(&random) << 31 | next_random(&random)) % spans[s][1];
                profile->blocks[i] =
                    (struct seep_block){.address = 4096 + 16 * i,
                                        .size = spans[s][0] + (span >> next_random(&random) % 40),
                                        .site = 1 + (uint32_t)(next_random(&random) % 5)};
            }
            assert_null(seep_session_add(session, profile));
        }
        for (uint64_t step = first_step; step < 2 * nr; step = step * 7 + 100) {
            check(session, 0, 0, step);
            check(session, 1, 3, step);
        }
        struct seep_server_page page;
        make(session, 0, 0, UINT64_MAX, UINT64_MAX, &page);
        assert_int_equal(page.nr_blocks, 0);
        make(session, UINT64_MAX, 7, 0, 10, &page);
        assert_int_equal(page.nr_blocks + page.nr_all, 0);
        seep_session_destroy(session);
    }
}

static void test_pages(void **state) {
    check_pages(400, 1);
    check_pages(5000, 107);
}

// Many blocks of two sizes; in one test more at each pass.
struct many {
    uint64_t nr;
    uint64_t factor;
};

static struct seep_error *many_blocks(const void *process, seep_block_visit *visit, void *data) {
    struct many *many = *(struct many *const *)process;
    many->nr *= many->factor;
    for (uint64_t i = 1; i <= many->nr; i++)
        if (!visit(data, &(struct seep_block){.address = 16 * i, .size = 16 + 16 * (i % 2), .site = 1}))
            break;
    return NULL;
}

static void test_a_page_takes_its_own_room_only(void **state) {
    struct many many = {100000, 1}, *process = &many;
    const void *processes[] = {&process};
    struct seep_server_page page;
    assert_null(seep_server_page_make(many_blocks, processes, 1, 0, 0, many.nr / 2 - 1, 2, &page));
    assert_int_equal(page.nr_blocks, 2);
    assert_int_equal(page.blocks[0].block.address, 16 * (many.nr - 1));
    assert_int_equal(page.blocks[1].block.address, 32);
    assert_in_range(malloc_usable_size(page.blocks), 1, 1 << 16);
    free(page.blocks);
    many = (struct many){2, 1000};
    assert_null(seep_server_page_make(many_blocks, processes, 1, 0, 0, 0, 1000, &page));
    assert_int_equal(page.nr_blocks, 1000);
    free(page.blocks);
    many = (struct many){2, 300};
    assert_null(seep_server_page_make(many_blocks, processes, 1, 0, 0, 0, 10000, &page));
    assert_int_equal(page.nr_blocks, 600);
    assert_in_range(malloc_usable_size(page.blocks), 1, 1 << 17);
    free(page.blocks);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pages),
        cmocka_unit_test(test_a_page_takes_its_own_room_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
