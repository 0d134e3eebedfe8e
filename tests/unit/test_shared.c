// SPDX-License-Identifier: BSD-2-Clause
//
// The structures that threads of a traced program share (heap map, stack tree, rules, slots, odd
// table), driven from many threads under ThreadSanitizer: the library's own code, without the hooks,
// on blocks that this test makes up. What the program owes is here too: a block handed from one
// thread to another is handed over with synchronisation.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "handed_blocks.h"

enum { THREADS = HANDING_THREADS_MAX, ROUNDS = 12, SHORT_THREADS = 200 };

// None of these is an address that the heap map has a place for.
#define ODD_ADDRESS(i) (UINT64_C(0x500000000001) + (i)*16)

static void allocate(uint64_t address, uint64_t size, enum seep_via via) {
    struct seep_thread *thread = enter();
    if (!thread)
        return;
    struct seep_caller caller = SEEP_HOOK_CALLER();
    if (!record_allocation_short(thread, (const void *)address, size, via, caller))
        seep_record_allocation(thread, (const void *)address, size, via, caller.pc, caller.sp, caller.bp);
    thread_leave(thread);
}

static void release(uint64_t address) {
    struct seep_thread *thread = enter();
    if (!thread)
        return;
    bool known = record_free_short(thread, (const void *)address, SEEP_RELEASE_FREE) ||
                 record_free(thread, (const void *)address, SEEP_RELEASE_FREE, SEEP_HOOK_CALLER());
    thread_leave(thread);
    nr_not_known += !known;
}

static void assert_all_went_well(void) {
    for (int i = 0; i < SEEP_LOST_NR; i++)
        if (*seep_lost_place((enum seep_lost)i))
            print_error("lost for reason %d: %llu\n", i,
                        (unsigned long long)*seep_lost_place((enum seep_lost)i));
    assert_int_equal(nr_not_entered, 0);
    assert_int_equal(nr_not_known, 0);
    for (int i = 0; i < SEEP_LOST_NR; i++)
        assert_int_equal(*seep_lost_place((enum seep_lost)i), 0);
}

// Different depths make different stacks, so that all threads grow the tree at the same time.
static __attribute__((noinline)) void allocate_at_depth(int depth, uint64_t address, uint64_t size) {
    if (depth == 0)
        allocate(address, size, SEEP_VIA_MALLOC);
    else
        allocate_at_depth(depth - 1, address, size);
    __asm__ volatile("" ::: "memory");
}

static void *work(void *argument) {
    uint64_t self = (uint64_t)(uintptr_t)argument;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < BLOCKS; i++)
            allocate_at_depth((i * 7 + (int)self + round) % 40, address_of(self, (uint64_t)i),
                              16 + (uint64_t)i);
        hand_over_and_release(self, release);
    }
    // That a thread is gone only the kernel knows: no other may take its slot over meanwhile.
    pthread_barrier_wait(&all_done);
    return NULL;
}

static void *work_shortly(void *argument) {
    uint64_t address = address_of(THREADS, (uintptr_t)argument);
    allocate(address, 64, SEEP_VIA_CALLOC);
    release(address);
    // Beyond what an entry holds: the odd table.
    allocate(address, UINT64_C(1) << 40, SEEP_VIA_MALLOC);
    release(address);
    return NULL;
}

static struct seep_image_counters sum_of_all(void) {
    struct seep_image_counters sum = {0};
    uint64_t nr_sites = seep_g.header->areas[SEEP_AREA_SITES].used;
    for (uint64_t slot = 0; slot < seep_g.header->areas[SEEP_AREA_THREADS].used; slot++) {
        const uint32_t *dir =
            (const uint32_t *)(seep_g.pages + seep_g.threads[slot].chunk_dir_page * SEEP_IMAGE_PAGE);
        for (uint64_t site = 1; site < nr_sites; site++) {
            uint32_t page = dir[site >> SEEP_CHUNK_SITES_SHIFT];
            if (!page)
                continue;
            const struct seep_image_counters *counters =
                (const struct seep_image_counters *)(seep_g.pages + (uint64_t)page * SEEP_IMAGE_PAGE) +
                (site & (SEEP_CHUNK_SITES - 1));
            sum.allocations += counters->allocations;
            sum.allocated_bytes += counters->allocated_bytes;
            sum.frees += counters->frees;
            sum.freed_bytes += counters->freed_bytes;
        }
    }
    return sum;
}

static void test_all_at_once(void **state) {
    (void)state;
    assert_true(seep_start());
    pthread_t threads[THREADS];
    pthread_barrier_init(&all_done, NULL, THREADS);
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, (void *)i), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    // A thread may leave while others have just handed blocks over: those are ours to free.
    while (handed.nr)
        release(handed.blocks[--handed.nr]);
    assert_all_went_well();
    struct seep_image_counters sum = sum_of_all();
    assert_int_equal(sum.allocations, THREADS * ROUNDS * BLOCKS);
    assert_int_equal(sum.frees, sum.allocations);
    assert_int_equal(sum.freed_bytes, sum.allocated_bytes);
}

static void test_slots_are_reused(void **state) {
    (void)state;
    for (uintptr_t i = 0; i < SHORT_THREADS; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, work_shortly, (void *)i), 0);
        pthread_join(thread, NULL);
    }
    // A thread may still be on its way out of the kernel when it has been joined: some new slots.
    assert_true(seep_g.header->areas[SEEP_AREA_THREADS].used <= THREADS + SHORT_THREADS / 4);
    assert_all_went_well();
    struct seep_image_counters sum = sum_of_all();
    assert_int_equal(sum.frees, sum.allocations);
    assert_int_equal(sum.freed_bytes, sum.allocated_bytes);
}

// More odd blocks than the table takes: some are refused, and the rest can be taken out again, to the last.
static void test_odd_table_is_full(void **state) {
    (void)state;
    uint64_t nr_kept = 0, nr_found = 0;
    for (uint64_t i = 0; i < 2 * SEEP_ODD_SLOTS; i++)
        nr_kept += seep_map_put_odd(ODD_ADDRESS(i), 1, i);
    assert_in_range(nr_kept, SEEP_ODD_SLOTS / 2, SEEP_ODD_SLOTS);
    for (uint64_t i = 0; i < 2 * SEEP_ODD_SLOTS; i++) {
        uint64_t size = 0;
        nr_found += seep_map_take_odd(ODD_ADDRESS(i), &size) == 1 && size == i;
    }
    assert_int_equal(nr_found, nr_kept);
    for (uint64_t i = 0; i < SEEP_ODD_SLOTS; i++)
        assert_int_equal(seep_g.odd[i].address, 0);
    for (uint64_t i = 0; i < nr_kept; i++)
        assert_true(seep_map_put_odd(ODD_ADDRESS(i), 1, i));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_at_once),
        cmocka_unit_test(test_slots_are_reused),
        cmocka_unit_test(test_odd_table_is_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
