// SPDX-License-Identifier: BSD-2-Clause
//
// The rings of events under ThreadSanitizer: the library's own code fills them from several threads, the tool's own code
// takes them in another one at the same time, and rings are full again and again. An event that
// is read before it is complete, or overwritten while it is read, is a data race. What the tool reads by system calls is
// read from the memory itself here, so that ThreadSanitizer sees it. A single number is read with acquire order, because
// a system call gives at least that.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sched.h>
#include <unistd.h>

#include "base/read_at.h"
#include "preload/events.h"
#include "source/image/event_rings.h"

#include "handed_blocks.h"

// The first slots have long rings: threads that do nothing take them.
enum { IDLE = 4, THREADS = 3, ROUNDS = 40, EVENTS = THREADS * ROUNDS * BLOCKS * 2 };

static pthread_barrier_t idle_in;
static _Atomic bool finished;

static struct taken {
    struct seep_event event;
    size_t slot;
} taken[EVENTS + IDLE];
static size_t nr_taken;

// ---- memory in place of a file -----------------------------------------------------------------------

__attribute__((no_sanitize("thread"))) static void copy_unseen(void *to, const void *from, size_t nr_bytes) {
    for (size_t i = 0; i < nr_bytes; i++)
        ((volatile unsigned char *)to)[i] = ((const volatile unsigned char *)from)[i];
}

bool seep_read_at(int fd, uint64_t off, void *ret_bytes, size_t nr_bytes) {
    (void)fd;
    const unsigned char *from = seep_g.base + off;
    if (nr_bytes == sizeof(uint64_t)) {
        uint64_t number = __atomic_load_n((const uint64_t *)from, __ATOMIC_ACQUIRE);
        memcpy(ret_bytes, &number, sizeof(number));
    } else if (nr_bytes == sizeof(uint32_t)) {
        uint32_t number = __atomic_load_n((const uint32_t *)from, __ATOMIC_ACQUIRE);
        memcpy(ret_bytes, &number, sizeof(number));
    } else if (nr_bytes == sizeof(struct seep_ring)) { // a look that is checked: no order is asked of it
        copy_unseen(ret_bytes, from, nr_bytes);
    } else {
        memcpy(ret_bytes, from, nr_bytes);
    }
    return true;
}

bool seep_write_memory_file(int fd, uint64_t off, const void *bytes, size_t nr_bytes) {
    (void)fd;
    uint64_t number;
    if (nr_bytes != sizeof(number))
        return false;
    memcpy(&number, bytes, sizeof(number));
    __atomic_store_n((uint64_t *)(seep_g.base + off), number, __ATOMIC_RELEASE);
    return true;
}

// ---- the program -------------------------------------------------------------------------------------

// A tool that the machine lets wait is waited for here, without order: the library would take over from it.
static void wait_for_room(const struct seep_thread *thread) {
    while (thread->ring &&
           thread->ring_written - __atomic_load_n(&thread->ring->read, __ATOMIC_RELAXED) > thread->ring_mask)
        sched_yield();
}

static void allocate(uint64_t address) {
    struct seep_thread *thread = enter();
    if (!thread)
        return;
    wait_for_room(thread);
    struct seep_caller caller = SEEP_HOOK_CALLER();
    seep_record_allocation(thread, (const void *)address, 48, SEEP_VIA_MALLOC, caller.pc, caller.sp,
                           caller.bp);
    thread_leave(thread);
}

static void release(uint64_t address) {
    struct seep_thread *thread = enter();
    if (!thread)
        return;
    wait_for_room(thread);
    nr_not_known += !record_free(thread, (const void *)address, SEEP_RELEASE_FREE, SEEP_HOOK_CALLER());
    thread_leave(thread);
}

static void *be_idle(void *argument) {
    allocate(address_of(THREADS + (uintptr_t)argument, 0));
    pthread_barrier_wait(&idle_in);
    pthread_barrier_wait(&all_done);
    return NULL;
}

static void *work(void *argument) {
    uint64_t self = (uintptr_t)argument;
    for (int round = 0; round < ROUNDS; round++) {
        for (uint64_t i = 0; i < BLOCKS; i++)
            allocate(address_of(self, i));
        hand_over_and_release(self, release);
    }
    pthread_barrier_wait(&all_done);
    return NULL;
}

// ---- the tool ----------------------------------------------------------------------------------------

static size_t take_all(struct seep_event_rings *rings, bool over) {
    static struct seep_event events[SEEP_RING_EVENTS];
    size_t most = nr_taken;
    assert_true(seep_event_rings_look(rings));
    for (size_t slot = 0; slot < rings->nr_rings; slot++) {
        size_t nr = seep_event_rings_waiting(rings, slot, over);
        nr = seep_event_rings_take(rings, slot, events, nr, over);
        for (size_t i = 0; i < nr && nr_taken < SEEP_ARRAY_SIZE(taken); i++)
            taken[nr_taken++] = (struct taken){events[i], slot};
        if (nr)
            seep_event_rings_done(rings, slot, 0);
    }
    return nr_taken - most;
}

static void *drain(void *argument) {
    struct seep_event_rings *rings = argument;
    for (uint64_t beat = 1; !finished; beat++) {
        take_all(rings, false);
        seep_event_rings_beat(rings, beat);
    }
    while (take_all(rings, true))
        ;
    return NULL;
}

// ---- the test ----------------------------------------------------------------------------------------

static int by_stamp(const void *left, const void *right) {
    uint64_t a = ((const struct taken *)left)->event.stamp_kind,
             b = ((const struct taken *)right)->event.stamp_kind;
    return (a > b) - (a < b);
}

static void test_events_are_taken_whole_and_in_order(void **state) {
    (void)state;
    static unsigned char page[SEEP_IMAGE_PAGE];
    struct seep_event_rings rings = {.fd = -1};
    assert_true(seep_start());
    assert_true(events_are_kept());
    seep_g.handed_over = true; // so that a full ring is waited for
    memcpy(page, seep_g.base, sizeof(page));
    struct seep_error *error = seep_image_head_decode(page, sizeof(page), "image", &rings.head);
    assert_null(error);
    rings.pages_off = rings.head.header.areas[SEEP_AREA_PAGES].off;
    rings.pages_bytes = rings.head.header.areas[SEEP_AREA_PAGES].size;
    rings.dir_off = rings.pages_off + (uint64_t)rings.head.header.ring_dir_page * SEEP_IMAGE_PAGE;
    pthread_t idle[IDLE], threads[THREADS], tool;
    pthread_barrier_init(&idle_in, NULL, IDLE + 1);
    pthread_barrier_init(&all_done, NULL, IDLE + THREADS);
    for (uintptr_t i = 0; i < IDLE; i++)
        assert_int_equal(pthread_create(&idle[i], NULL, be_idle, (void *)i), 0);
    pthread_barrier_wait(&idle_in);
    assert_int_equal(pthread_create(&tool, NULL, drain, &rings), 0);
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, (void *)i), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < IDLE; i++)
        pthread_join(idle[i], NULL);
    finished = true;
    pthread_join(tool, NULL);
    seep_event_rings_deinit(&rings);

    assert_int_equal(nr_not_entered, 0);
    assert_int_equal(nr_not_known, 0);
    assert_int_equal(*seep_lost_place(SEEP_LOST_EVENT), 0);
    assert_int_equal(nr_taken, EVENTS + IDLE);
    uint64_t last_of_slot[IDLE + THREADS] = {0};
    for (size_t i = 0; i < nr_taken; i++) {
        assert_true(taken[i].slot < SEEP_ARRAY_SIZE(last_of_slot));
        assert_true(SEEP_EVENT_STAMP(taken[i].event) > last_of_slot[taken[i].slot]);
        last_of_slot[taken[i].slot] = SEEP_EVENT_STAMP(taken[i].event);
    }
    qsort(taken, nr_taken, sizeof(*taken), by_stamp);
    static bool lives[THREADS + IDLE][BLOCKS];
    for (size_t i = 0; i < nr_taken; i++) {
        uint64_t off = taken[i].event.address - address_of(0, 0);
        bool *is_live = &lives[off >> 27][(off & ((1u << 27) - 1)) / 64];
        assert_int_equal(SEEP_EVENT_KIND(taken[i].event), *is_live ? SEEP_EVENT_FREE : SEEP_EVENT_ALLOCATION);
        *is_live = !*is_live;
    }
}

static void *beat_only(void *argument) {
    (void)argument;
    while (!finished) {
        __atomic_fetch_add(&seep_g.header->ring_beat, 1, __ATOMIC_RELAXED);
        usleep(1000);
    }
    return NULL;
}

// Its file cannot be made either: what finds no room is counted, and waited for once.
static void test_a_tool_that_beats_and_takes_nothing_is_not_waited_for_without_end(void **state) {
    (void)state;
    pthread_t tool;
    finished = false;
    assert_int_equal(pthread_create(&tool, NULL, beat_only, NULL), 0);
    struct seep_thread *thread = thread_enter();
    assert_non_null(thread);
    thread_leave(thread);
    for (uint64_t i = 0; !*seep_lost_place(SEEP_LOST_EVENT); i++) {
        assert_true(i <= 2 * SEEP_RING_EVENTS);
        thread = thread_enter();
        assert_non_null(thread);
        struct seep_caller caller = SEEP_HOOK_CALLER();
        seep_record_allocation(thread, (const void *)address_of(0, 2 * BLOCKS + i), 48, SEEP_VIA_MALLOC,
                               caller.pc, caller.sp, caller.bp);
        thread_leave(thread);
    }
    assert_true(thread->ring_given_up);
    finished = true;
    pthread_join(tool, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_events_are_taken_whole_and_in_order),
        cmocka_unit_test(test_a_tool_that_beats_and_takes_nothing_is_not_waited_for_without_end)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
