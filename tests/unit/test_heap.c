// SPDX-License-Identifier: BSD-2-Clause
// The heap that events tell of, and the table of its blocks against a plain oracle.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "profile/heap.h"
#include "image/bpf_events.h"

#define STACK 0x1234u

static struct seep_heap make_heap(void) {
    struct seep_heap heap;
    assert_null(seep_heap_init(getpid(), &heap));
    const struct seep_heap_operator operators[] = {{0x100, 0x140, SEEP_VIA_NEW}};
    struct seep_heap_module module = {.module = {.path = "/lib/a.so",
                                                 .bias_rt = 0x10000,
                                                 .start_rt = 0x10000,
                                                 .end_rt = 0x20000,
                                                 .unloaded_ns = -1},
                                      .operators = operators,
                                      .nr_operators = 1};
    uint32_t id;
    assert_null(seep_heap_add_module(&heap, &module, &id));
    assert_int_equal(id, 1);
    struct seep_heap_area area = {0x10000, 0x20000, id};
    assert_null(seep_heap_set_areas(&heap, &area, 1, 0));
    const uint64_t plain[] = {0x10200, 0x10300}, by_new[] = {0x10120, 0x10200, 0x10300};
    assert_null(seep_heap_stack(&heap, STACK, plain, 2, 0));
    assert_null(seep_heap_stack(&heap, STACK + 1, by_new, 3, 0));
    assert_null(seep_heap_stack(&heap, STACK + 2, plain, 1, 1 + SEEP_CUT_NO_CFI));
    heap.modules[1].operators = NULL; // the table was on our stack
    heap.modules[1].nr_operators = 0;
    return heap;
}

static struct seep_heap_event call(uint64_t address, uint64_t size, uint64_t stack) {
    return (struct seep_heap_event){
        .tid = 7, .via = SEEP_VIA_MALLOC, .address = address, .size = size, .stack = stack};
}

static struct seep_error *apply(struct seep_heap *heap, enum seep_heap_event_kind kind,
                                struct seep_heap_event *event) {
    event->kind = kind;
    return seep_heap_apply(heap, event);
}

static const struct seep_site *site_of(const struct seep_heap *heap, uint32_t via) {
    for (size_t i = 1; i < heap->nr_sites; i++)
        if (heap->sites[i].via == via && heap->sites[i].counters.allocations)
            return &heap->sites[i];
    return NULL;
}

static void test_stacks_share_nodes_and_lose_operator_new(void **state) {
    struct seep_heap heap = make_heap();
    assert_int_equal(heap.nr_frames, 2);
    assert_int_equal(heap.nr_nodes, 1 + 2 + 2); // the root, two frames, a cut with one frame on it
    struct seep_heap_event first = call(0x1000, 10, STACK), second = call(0x2000, 20, STACK + 1);
    assert_null(apply(&heap, SEEP_HEAP_ALLOC, &first));
    assert_null(apply(&heap, SEEP_HEAP_ALLOC, &second));
    assert_int_equal(site_of(&heap, SEEP_VIA_MALLOC)->node, site_of(&heap, SEEP_VIA_NEW)->node);
    seep_heap_deinit(&heap);
}

static void test_what_an_unknown_stack_allocates_is_counted(void **state) {
    struct seep_heap heap = make_heap();
    struct seep_heap_event lost = call(0x1000, 10, 99);
    assert_null(apply(&heap, SEEP_HEAP_ALLOC, &lost));
    assert_int_equal(heap.lost[SEEP_LOST_NO_SITE], 1);
    assert_int_equal(heap.sites[SEEP_SITE_UNKNOWN].counters.allocations, 1);
    seep_heap_deinit(&heap);
}

// What the heap keeps is of the profile's own types: what comes out is what went in.
static void test_the_profile_of_a_heap(void **state) {
    struct seep_heap heap = make_heap();
    struct seep_heap_event kept = call(0x1000, 10, STACK), freed = call(0x2000, 20, STACK + 2),
                           failed = call(0, 0, 0), mapped = call(0x7000, 4096, STACK);
    mapped.via = SEEP_VIA_MMAP;
    assert_null(apply(&heap, SEEP_HEAP_ALLOC, &kept));
    assert_null(apply(&heap, SEEP_HEAP_ALLOC, &freed));
    assert_null(apply(&heap, SEEP_HEAP_FREE, &freed));
    assert_null(apply(&heap, SEEP_HEAP_FAILED, &failed));
    assert_null(apply(&heap, SEEP_HEAP_MAP, &mapped));
    assert_true(seep_heap_has_events(&heap));
    struct seep_profile *profile;
    assert_null(seep_heap_profile(&heap, 500, &profile));
    seep_heap_deinit(&heap); // nothing of it is needed any more
    assert_string_equal(profile->modules[1].path, "/lib/a.so");
    assert_int_equal(profile->totals.allocations, 2);
    assert_int_equal(profile->totals.frees, 1);
    assert_int_equal(profile->totals.temporary, 1);
    assert_int_equal(profile->totals.failed, 1);
    assert_int_equal(profile->totals.live_bytes, 10);
    assert_int_equal(profile->totals.peak_bytes, 30);
    assert_int_equal(profile->nr_blocks, 1);
    assert_true(profile->blocks[0].address == 0x1000 && profile->blocks[0].age_ns == 500);
    const struct seep_site *site = &profile->sites[profile->blocks[0].site];
    assert_int_equal(profile->nodes[site->node].module, 1);
    assert_int_equal(profile->nodes[site->node].offset, 0x200);
    assert_int_equal(profile->health.cut[SEEP_CUT_NO_CFI], 1);
    assert_int_equal(profile->mapping_totals.mapped_bytes, 4096);
    assert_int_equal(profile->nr_mappings, 1);
    seep_profile_destroy(profile);
}

static void test_resizing(void **state) {
    struct seep_heap heap = make_heap();
    struct seep_heap_event old = call(0x1000, 10, STACK), larger = call(0x3000, 30, STACK),
                           failed = call(0, 99, 0), gone = call(0, 0, 0);
    assert_null(apply(&heap, SEEP_HEAP_ALLOC, &old));
    assert_null(apply(&heap, SEEP_HEAP_RESIZE, &old));
    assert_int_equal(heap.blocks.nr_used, 0);
    assert_null(apply(&heap, SEEP_HEAP_RESIZED, &failed));
    assert_int_equal(heap.blocks.nr_used, 1); // as it was
    assert_int_equal(heap.failed, 1);
    assert_int_equal(heap.live_bytes, 10);
    assert_null(apply(&heap, SEEP_HEAP_RESIZE, &old));
    assert_null(apply(&heap, SEEP_HEAP_RESIZED, &larger));
    assert_int_equal(heap.live_bytes, 30);
    assert_int_equal(heap.releases[SEEP_RELEASE_REALLOC], 1);
    assert_null(apply(&heap, SEEP_HEAP_RESIZE, &larger));
    assert_null(apply(&heap, SEEP_HEAP_RESIZED, &gone)); // realloc(block, 0) of glibc
    assert_int_equal(heap.live_bytes, 0);
    assert_int_equal(heap.blocks.nr_used, 0);
    assert_int_equal(heap.peak_bytes, 30);
    seep_heap_deinit(&heap);
}

static void assert_one_block(const struct seep_heap *heap, uint64_t address, uint64_t bytes) {
    struct seep_profile *profile;
    assert_null(seep_heap_profile(heap, 0, &profile));
    assert_int_equal(profile->totals.live_blocks, 1);
    assert_int_equal(profile->totals.live_bytes, bytes);
    assert_int_equal(profile->nr_blocks, 1);
    assert_int_equal(profile->blocks[0].address, address);
    seep_profile_destroy(profile);
}

static void test_a_block_is_live_while_realloc_has_it(void **state) {
    struct seep_heap heap = make_heap(), child;
    struct seep_heap_event old = call(0x1000, 10, STACK), again = call(0x1000, 25, STACK),
                           other = call(0x5000, 1, STACK), failed = call(0, 99, 0);
    again.tid = 8;
    assert_null(apply(&heap, SEEP_HEAP_ALLOC, &old));
    assert_null(apply(&heap, SEEP_HEAP_RESIZE, &old));
    assert_one_block(&heap, 0x1000, 10);
    assert_null(seep_heap_fork(&heap, 8, &child)); // by another thread
    assert_one_block(&child, 0x1000, 10);
    seep_heap_deinit(&child);
    // What became of the first call was lost with its event: the block is where it was.
    assert_null(apply(&heap, SEEP_HEAP_RESIZE, &other));
    assert_one_block(&heap, 0x1000, 10);
    // Another thread has got the address before the end of this call is known.
    assert_null(apply(&heap, SEEP_HEAP_RESIZED, &failed));
    assert_null(apply(&heap, SEEP_HEAP_RESIZE, &old));
    assert_null(apply(&heap, SEEP_HEAP_ALLOC, &again));
    assert_null(seep_heap_fork(&heap, 8, &child));
    assert_one_block(&child, 0x1000, 25);
    seep_heap_deinit(&child);
    // And both are in a realloc of it.
    assert_null(apply(&heap, SEEP_HEAP_RESIZE, &again));
    assert_null(seep_heap_fork(&heap, 8, &child));
    assert_one_block(&child, 0x1000, 25);
    seep_heap_deinit(&child);
    again.address = 0;
    assert_null(apply(&heap, SEEP_HEAP_RESIZED, &again)); // which fails
    assert_null(apply(&heap, SEEP_HEAP_RESIZE, &other));  // its end was lost, too
    assert_one_block(&heap, 0x1000, 25);
    assert_int_equal(heap.lost[SEEP_LOST_FREE_UNSEEN], 1);
    seep_heap_deinit(&heap);
}

static void test_frees_that_were_not_seen(void **state) {
    struct seep_heap heap = make_heap();
    struct seep_heap_event first = call(0x1000, 10, STACK), again = call(0x1000, 25, STACK),
                           strange = call(0x9000, 0, 0);
    assert_null(apply(&heap, SEEP_HEAP_ALLOC, &first));
    assert_null(apply(&heap, SEEP_HEAP_ALLOC, &again));
    assert_int_equal(heap.lost[SEEP_LOST_FREE_UNSEEN], 1);
    assert_int_equal(heap.live_bytes, 25);
    assert_null(apply(&heap, SEEP_HEAP_FREE, &strange));
    assert_int_equal(heap.unknown_frees, 1);
    seep_heap_deinit(&heap);
}

// Weights come from the program, so any may come.
static void test_samples(void **state) {
    struct seep_heap heap = make_heap();
    heap.is_sampled = true;
    static const struct {
        uint64_t size, weight, bytes, number;
    } samples[] = {
        {100, 1000, 1000, 10 << 10}, {64, 0, 64, 1 << 10},
        {64, 63, 64, 1 << 10},       {0, 8, 8, 8 << 10},
        {0, 0, 0, 1 << 10},          {UINT64_MAX, UINT64_MAX, UINT64_C(1) << 47, 1 << 10},
    };
    uint64_t bytes = 0, number = 0;
    for (uint64_t i = 0; i < SEEP_ARRAY_SIZE(samples); i++) {
        struct seep_heap_event sample = call(0x1000 * (i + 1), samples[i].size, STACK);
        sample.weight = samples[i].weight;
        assert_null(apply(&heap, SEEP_HEAP_ALLOC, &sample));
        bytes += samples[i].bytes;
        number += samples[i].number;
        assert_int_equal(heap.live_bytes, bytes);
        assert_int_equal(heap.sites[heap.nr_sites - 1].counters.allocations, number);
    }
    assert_int_equal(heap.sites[heap.nr_sites - 1].counters.peak_bytes, SEEP_ARRAY_SIZE(samples));
    assert_int_equal(heap.least_weight, 8);
    struct seep_heap child;
    assert_null(seep_heap_fork(&heap, 8, &child));
    assert_int_equal(child.live_bytes, bytes);
    // The first one's free was not seen.
    struct seep_heap_event again = call(0x1000, 100, STACK), gone = call(0x1000, 0, 0);
    again.weight = 500;
    assert_null(apply(&child, SEEP_HEAP_ALLOC, &again));
    assert_int_equal(child.live_bytes, bytes - 500);
    assert_null(apply(&child, SEEP_HEAP_FREE, &gone));
    assert_null(apply(&heap, SEEP_HEAP_FREE, &gone));
    assert_int_equal(child.live_bytes, bytes - 1000);
    assert_int_equal(heap.live_bytes, bytes - 1000);
    assert_int_equal(heap.weights.nr_used, SEEP_ARRAY_SIZE(samples) - 1);
    seep_heap_deinit(&child);
    seep_heap_deinit(&heap);
}

// Addresses that collide on purpose, taken out in any order; a plain array is the oracle.
static void test_block_table(void **state) {
    enum { NR = 4096 };
    static uint64_t there[NR];
    struct seep_block_table table = {NULL};
    srand(1);
    for (int i = 0; i < 200000; i++) {
        size_t which = (size_t)rand() % NR;
        uint64_t address = (which + 1) << (which % 3 ? 4 : 23);
        struct seep_heap_block block;
        if (there[which]) {
            assert_true(seep_block_table_take(&table, address, &block));
            assert_int_equal(block.size, there[which]);
            assert_false(seep_block_table_take(&table, address, &block));
            there[which] = 0;
        } else {
            struct seep_heap_block *place = seep_block_table_at(&table, address);
            assert_int_equal(place->address, 0);
            there[which] = (uint64_t)i + 1;
            *place = (struct seep_heap_block){.address = address, .size = there[which]};
        }
    }
    size_t nr = 0;
    for (size_t i = 0; i < NR; i++)
        nr += there[i] != 0;
    assert_int_equal(table.nr_used, nr);
    seep_block_table_deinit(&table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stacks_share_nodes_and_lose_operator_new),
        cmocka_unit_test(test_what_an_unknown_stack_allocates_is_counted),
        cmocka_unit_test(test_the_profile_of_a_heap),
        cmocka_unit_test(test_resizing),
        cmocka_unit_test(test_a_block_is_live_while_realloc_has_it),
        cmocka_unit_test(test_frees_that_were_not_seen),
        cmocka_unit_test(test_samples),
        cmocka_unit_test(test_block_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
