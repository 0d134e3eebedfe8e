// SPDX-License-Identifier: BSD-2-Clause
// The heap that events tell of, and the table of its blocks against a plain oracle.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "profile/traced_heap.h"
#include "image/bpf_events.h"

#define STACK 0x1234u

static struct seep_traced_heap make_heap(void) {
    struct seep_traced_heap heap;
    assert_null(seep_traced_heap_init(getpid(), &heap));
    const struct seep_traced_operator operators[] = {{0x100, 0x140, SEEP_VIA_NEW}};
    struct seep_traced_module module = {.path = "/lib/a.so",
                                        .bias_rt = 0x10000,
                                        .start_rt = 0x10000,
                                        .end_rt = 0x20000,
                                        .unloaded_ns = -1,
                                        .operators = operators,
                                        .nr_operators = 1};
    uint32_t id;
    assert_null(seep_traced_add_module(&heap, &module, &id));
    assert_int_equal(id, 1);
    struct seep_traced_area area = {0x10000, 0x20000, id};
    assert_null(seep_traced_set_areas(&heap, &area, 1, 0));
    const uint64_t plain[] = {0x10200, 0x10300}, by_new[] = {0x10120, 0x10200, 0x10300};
    assert_null(seep_traced_stack(&heap, STACK, plain, 2, 0));
    assert_null(seep_traced_stack(&heap, STACK + 1, by_new, 3, 0));
    assert_null(seep_traced_stack(&heap, STACK + 2, plain, 1, 1 + SEEP_CUT_NO_CFI));
    heap.modules[1].operators = NULL; // the table was on our stack
    heap.modules[1].nr_operators = 0;
    return heap;
}

static struct seep_traced_call call(uint64_t address, uint64_t size, uint64_t stack) {
    return (struct seep_traced_call){
        .tid = 7, .via = SEEP_VIA_MALLOC, .address = address, .size = size, .stack = stack};
}

static const struct seep_traced_site *site_of(const struct seep_traced_heap *heap, uint32_t via) {
    for (size_t i = 1; i < heap->nr_sites; i++)
        if (heap->sites[i].via == via && heap->sites[i].counters.allocations)
            return &heap->sites[i];
    return NULL;
}

static void test_stacks_share_nodes_and_lose_operator_new(void **state) {
    struct seep_traced_heap heap = make_heap();
    assert_int_equal(heap.nr_frames, 2);
    assert_int_equal(heap.nr_nodes, 1 + 2 + 2); // the root, two frames, a cut with one frame on it
    struct seep_traced_call first = call(0x1000, 10, STACK), second = call(0x2000, 20, STACK + 1);
    assert_null(seep_traced_alloc(&heap, &first));
    assert_null(seep_traced_alloc(&heap, &second));
    assert_int_equal(site_of(&heap, SEEP_VIA_MALLOC)->node, site_of(&heap, SEEP_VIA_NEW)->node);
    seep_traced_heap_deinit(&heap);
}

static void test_what_an_unknown_stack_allocates_is_counted(void **state) {
    struct seep_traced_heap heap = make_heap();
    struct seep_traced_call lost = call(0x1000, 10, 99);
    assert_null(seep_traced_alloc(&heap, &lost));
    assert_int_equal(heap.lost[SEEP_LOST_NO_SITE], 1);
    assert_int_equal(heap.sites[SEEP_SITE_UNKNOWN].counters.allocations, 1);
    seep_traced_heap_deinit(&heap);
}

static void test_resizing(void **state) {
    struct seep_traced_heap heap = make_heap();
    struct seep_traced_call old = call(0x1000, 10, STACK), larger = call(0x3000, 30, STACK),
                            failed = call(0, 99, 0), gone = call(0, 0, 0);
    assert_null(seep_traced_alloc(&heap, &old));
    assert_null(seep_traced_resize(&heap, &old));
    assert_int_equal(heap.blocks.nr_used, 0);
    assert_null(seep_traced_resized(&heap, &failed));
    assert_int_equal(heap.blocks.nr_used, 1); // as it was
    assert_int_equal(heap.failed, 1);
    assert_int_equal(heap.live_bytes, 10);
    assert_null(seep_traced_resize(&heap, &old));
    assert_null(seep_traced_resized(&heap, &larger));
    assert_int_equal(heap.live_bytes, 30);
    assert_int_equal(heap.releases[SEEP_RELEASE_REALLOC], 1);
    assert_null(seep_traced_resize(&heap, &larger));
    assert_null(seep_traced_resized(&heap, &gone)); // realloc(block, 0) of glibc
    assert_int_equal(heap.live_bytes, 0);
    assert_int_equal(heap.blocks.nr_used, 0);
    assert_int_equal(heap.peak_bytes, 30);
    seep_traced_heap_deinit(&heap);
}

static void test_frees_that_were_not_seen(void **state) {
    struct seep_traced_heap heap = make_heap();
    struct seep_traced_call first = call(0x1000, 10, STACK), again = call(0x1000, 25, STACK),
                            strange = call(0x9000, 0, 0);
    assert_null(seep_traced_alloc(&heap, &first));
    assert_null(seep_traced_alloc(&heap, &again));
    assert_int_equal(heap.lost[SEEP_LOST_FREE_UNSEEN], 1);
    assert_int_equal(heap.live_bytes, 25);
    assert_null(seep_traced_free(&heap, &strange));
    assert_int_equal(heap.unknown_frees, 1);
    seep_traced_heap_deinit(&heap);
}

// Weights come from the program, so any may come.
static void test_samples(void **state) {
    struct seep_traced_heap heap = make_heap();
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
        struct seep_traced_call sample = call(0x1000 * (i + 1), samples[i].size, STACK);
        sample.weight = samples[i].weight;
        assert_null(seep_traced_alloc(&heap, &sample));
        bytes += samples[i].bytes;
        number += samples[i].number;
        assert_int_equal(heap.live_bytes, bytes);
        assert_int_equal(heap.sites[heap.nr_sites - 1].counters.allocations, number);
    }
    assert_int_equal(heap.sites[heap.nr_sites - 1].counters.peak_bytes, SEEP_ARRAY_SIZE(samples));
    assert_int_equal(heap.least_weight, 8);
    struct seep_traced_heap child;
    assert_null(seep_traced_heap_fork(&heap, 8, &child));
    assert_int_equal(child.live_bytes, bytes);
    // The first one's free was not seen.
    struct seep_traced_call again = call(0x1000, 100, STACK), gone = call(0x1000, 0, 0);
    again.weight = 500;
    assert_null(seep_traced_alloc(&child, &again));
    assert_int_equal(child.live_bytes, bytes - 500);
    assert_null(seep_traced_free(&child, &gone));
    assert_null(seep_traced_free(&heap, &gone));
    assert_int_equal(child.live_bytes, bytes - 1000);
    assert_int_equal(heap.live_bytes, bytes - 1000);
    assert_int_equal(heap.weights.nr_used, SEEP_ARRAY_SIZE(samples) - 1);
    seep_traced_heap_deinit(&child);
    seep_traced_heap_deinit(&heap);
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
        struct seep_traced_block block;
        if (there[which]) {
            assert_true(seep_block_table_take(&table, address, &block));
            assert_int_equal(block.size, there[which]);
            assert_false(seep_block_table_take(&table, address, &block));
            there[which] = 0;
        } else {
            struct seep_traced_block *place = seep_block_table_at(&table, address);
            assert_int_equal(place->address, 0);
            there[which] = (uint64_t)i + 1;
            *place = (struct seep_traced_block){.address = address, .size = there[which]};
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
        cmocka_unit_test(test_resizing),
        cmocka_unit_test(test_frees_that_were_not_seen),
        cmocka_unit_test(test_samples),
        cmocka_unit_test(test_block_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
