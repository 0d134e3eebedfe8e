// SPDX-License-Identifier: BSD-2-Clause
// How many events are taken at once, when they were, and how many are left.
#include <errno.h>
#include <linux/bpf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "image/bpf_events.h"
#include "source/attach/attach_parts.h"

#define HALF_US (INT64_C(1) << 31) // of the lower half of a time in microseconds
enum { MANY = 1000, RING_BYTES = 1 << 20 };

static struct seep_attached attached_at(int64_t now_us, int64_t until_ns) {
    return (struct seep_attached){.process_ids = SEEP_MAP_INIT,
                                  .lenders = SEEP_MAP_INIT,
                                  .options = {.ring_bytes = RING_BYTES},
                                  .now_ns = now_us * 1000,
                                  .taken_us = now_us - 20,
                                  .until_ns = until_ns};
}

// So many events of that kind until one was the last; MANY: none was.
static int nr_taken(struct seep_attached *attached, uint8_t kind, int64_t time_us) {
    struct seep_bpf_event event = {.kind = kind, .pid = 1, .time_us = (uint32_t)time_us};
    int nr = 0;
    while (nr < MANY && seep_attach_take(attached, &event, sizeof(event)) == 0)
        nr++;
    return nr;
}

static void test_events_without_a_time_were_there(void **state) {
    (void)state;
    for (int64_t now_us = 100; now_us < 8 * HALF_US; now_us += HALF_US / 2) {
        struct seep_attached attached = attached_at(now_us, INT64_MAX);
        assert_int_equal(nr_taken(&attached, SEEP_BPF_STACK, 0), MANY);
        assert_int_equal(nr_taken(&attached, SEEP_BPF_ALLOC, 0), MANY);
        assert_int_equal(nr_taken(&attached, SEEP_BPF_ALLOC, now_us - 10), MANY);
        assert_int_equal(nr_taken(&attached, SEEP_BPF_ALLOC, now_us + 10), 0);
    }
}

static void test_no_more_are_taken_than_the_ring_holds(void **state) {
    (void)state;
    struct seep_attached attached = attached_at(100, INT64_MAX);
    attached.options.ring_bytes = 10 * (sizeof(struct seep_bpf_event) + BPF_RINGBUF_HDR_SZ);
    assert_int_equal(nr_taken(&attached, SEEP_BPF_ALLOC, 0), 9);
}

static void test_after_the_time_is_up_no_slow_one_is_taken(void **state) {
    (void)state;
    struct seep_attached attached = attached_at(HALF_US + 100, seep_monotonic_ns() - 1);
    assert_int_equal(nr_taken(&attached, SEEP_BPF_ALLOC, 0), MANY);
    assert_int_equal(nr_taken(&attached, SEEP_BPF_STACK, 0), 0);
}

// The tool was stopped for hours, and programs began each hour, some of them on two processors at once.
static void test_what_came_while_the_tool_was_stopped_is_not_later(void **state) {
    (void)state;
    const int64_t hour_us = INT64_C(3600) * 1000000, begin_us = 100;
    struct seep_attached attached = attached_at(5 * hour_us, INT64_MAX);
    attached.taken_us = begin_us;
    for (int64_t us = begin_us; us < 5 * hour_us; us += hour_us) {
        struct seep_bpf_event event = {.kind = SEEP_BPF_EXIT, .pid = 1, .time_us = (uint32_t)us};
        assert_int_equal(seep_attach_take(&attached, &event, sizeof(event)), 0);
        assert_int_equal(attached.taken_us, us);
        event.time_us -= 10; // of another processor
        assert_int_equal(seep_attach_take(&attached, &event, sizeof(event)), 0);
        assert_int_equal(attached.taken_us, us);
    }
    assert_int_equal(nr_taken(&attached, SEEP_BPF_ALLOC, 4 * hour_us - 10), MANY);
    assert_int_equal(attached.taken_us, begin_us + 4 * hour_us);
    assert_int_equal(nr_taken(&attached, SEEP_BPF_ALLOC, 5 * hour_us + 10), 0);
}

static void put_event(unsigned char *data, uint64_t *at, uint32_t header) {
    memcpy(data + (*at & 255), &header, sizeof(header));
    *at += (8 + (header & 0xffff) + 7) & ~UINT64_C(7);
}

// One event is being written, and three are behind it. One of the three was given up. The second event lies
// over the end of the ring.
static void test_events_that_are_left_in_the_ring(void **state) {
    (void)state;
    _Alignas(8) unsigned char data[2 * 256] = {0};
    uint64_t from = 256 + 200, to = from;
    put_event(data, &to, 24 | BPF_RINGBUF_BUSY_BIT);
    put_event(data, &to, 41);
    assert_true(to > 512);
    put_event(data, &to, 16 | BPF_RINGBUF_DISCARD_BIT);
    put_event(data, &to, 24);
    assert_int_equal(seep_attach_ring_events(data, 256, from, to), 3);
    assert_int_equal(seep_attach_ring_events(data, 256, from + 32, to), 2);
    assert_int_equal(seep_attach_ring_events(data, 256, to, to), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_events_without_a_time_were_there),
        cmocka_unit_test(test_what_came_while_the_tool_was_stopped_is_not_later),
        cmocka_unit_test(test_events_that_are_left_in_the_ring),
        cmocka_unit_test(test_no_more_are_taken_than_the_ring_holds),
        cmocka_unit_test(test_after_the_time_is_up_no_slow_one_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
