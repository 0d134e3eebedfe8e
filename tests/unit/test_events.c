// SPDX-License-Identifier: BSD-2-Clause
// Chunks of a recording: what is put in comes out, of any stream of events; and what is damaged is told.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/map.h"
#include "file/event_chunk.h"
#include "file/trace.h"
#include "profile/verdict.h"
#include "session/rebuilt_heap.h"
#include "session/session_at_mark.h"

static uint64_t state;
static struct seep_chunk_packer *packer;
static struct seep_chunk_unpacker *unpacker;

static uint64_t random_number(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

// Blocks that live in `slots` places: so frees find their allocations, or do not, in this chunk.
struct place {
    uint64_t address;
    uint64_t size;
    uint32_t site;
};

static void fill(struct seep_recorded *events, uint32_t nr, bool wild) {
    static struct place places[512];
    uint64_t stamp = random_number() >> 8;
    memset(places, 0, sizeof(places));
    for (uint32_t i = 0; i < nr; i++) {
        uint64_t r = random_number();
        struct place *place = &places[r % 512];
        stamp += 1 + (r >> 20) % 300;
        events[i] = (struct seep_recorded){.stamp = stamp, .slot = (uint32_t)(r >> 40) % 5};
        if (place->address && r & 1024) {
            events[i].kind = SEEP_EVENT_FREE + (uint32_t)(r >> 33) % 5;
            events[i].address = place->address;
            events[i].size = place->size;
            events[i].site = place->site;
            place->address = 0;
            continue;
        }
        *place = (struct place){.address = UINT64_C(0x7f0000000000) + (r >> 12) % 100000 * 16,
                                .size = (r >> 30) % 200,
                                .site = 1 + (uint32_t)(r >> 50) % 40};
        if (wild) {
            place->address = random_number() >> 3;
            place->size = random_number() >> 17;
            place->site = (uint32_t)(random_number() >> 38);
            events[i].stamp = random_number() >> 5;
        }
        events[i].kind = i % 17 ? SEEP_EVENT_ALLOCATION : SEEP_EVENT_KEPT;
        events[i].address = place->address;
        events[i].size = place->size;
        events[i].site = place->site;
    }
}

static void check_round(uint32_t nr, bool wild) {
    struct seep_recorded *events = calloc(nr + 1, sizeof(*events)), *back = calloc(nr + 1, sizeof(*back));
    assert_non_null(events);
    assert_non_null(back);
    fill(events, nr, wild);
    struct seep_chunk chunk = {.pid = 4711,
                               .start_realtime_ns = INT64_C(-5),
                               .nr_events = nr,
                               .begin = {100, 200},
                               .end = {300, UINT64_MAX},
                               .net_bytes = -77,
                               .most_bytes = 99};
    struct seep_put put = {0};
    struct seep_chunk_starts starts;
    assert_true(seep_chunk_put(packer, &put, &chunk, events, &starts));
    assert_true(starts.at[0] < put.used + 1 && starts.at[SEEP_CHUNK_COLUMNS - 1] <= put.used);
    struct seep_take take = {put.bytes, put.bytes + put.used, false};
    struct seep_chunk read;
    assert_true(seep_chunk_take(&take, &read));
    assert_int_equal(read.pid, chunk.pid);
    assert_true(read.start_realtime_ns == chunk.start_realtime_ns && read.nr_events == nr);
    assert_true(read.begin.stamp == 100 && read.begin.at_ns == 200);
    assert_true(read.end.stamp == 300 && read.end.at_ns == UINT64_MAX);
    assert_true(read.net_bytes == -77 && read.most_bytes == 99);
    assert_true(seep_chunk_take_events(unpacker, &take, SEEP_CHUNK_VERSION, &read, back));
    for (uint32_t i = 0; i < nr; i++) {
        assert_true(events[i].stamp == back[i].stamp);
        assert_true(events[i].address == back[i].address);
        assert_true(events[i].size == back[i].size);
        assert_int_equal(events[i].site, back[i].site);
        assert_int_equal(events[i].slot, back[i].slot);
        assert_int_equal(events[i].kind, back[i].kind);
    }
    // Whatever is cut off is missed.
    for (size_t cut = 0; nr < 100 && cut < put.used; cut++) {
        struct seep_take part = {put.bytes, put.bytes + cut, false};
        assert_false(seep_chunk_take(&part, &read) &&
                     seep_chunk_take_events(unpacker, &part, SEEP_CHUNK_VERSION, &read, back));
    }
    seep_put_deinit(&put);
    free(events);
    free(back);
}

static void test_what_is_put_in_comes_out(void **unused) {
    (void)unused;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        state = seed * UINT64_C(0x9e3779b97f4a7c15);
        check_round((uint32_t)(seed % 7 ? seed * 13 : SEEP_CHUNK_EVENTS), seed % 3 == 0);
    }
    check_round(0, false);
}

// Recordings stay: the encoding of a stream is what it was, byte by byte.
static void test_the_encoding_is_what_it_was(void **unused) {
    static struct seep_recorded events[3000];
    (void)unused;
    uint32_t crc = 0;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        state = seed * UINT64_C(0x9e3779b97f4a7c15);
        fill(events, SEEP_ARRAY_SIZE(events), seed % 3 == 0);
        struct seep_chunk chunk = {.pid = 1, .nr_events = SEEP_ARRAY_SIZE(events)};
        struct seep_chunk_starts starts;
        struct seep_put put = {0};
        assert_true(seep_chunk_put(packer, &put, &chunk, events, &starts));
        crc = seep_trace_crc32(crc, put.bytes, put.used);
        seep_put_deinit(&put);
    }
    assert_int_equal(crc, UINT32_C(0x4317c8ee));
}

static void test_more_events_than_fit_are_refused(void **unused) {
    (void)unused;
    struct seep_put put = {0};
    for (int i = 0; i < 2; i++)
        seep_put_leb(&put, 1);
    seep_put_leb(&put, SEEP_CHUNK_EVENTS + 1);
    for (int i = 0; i < 6; i++)
        seep_put_leb(&put, 0);
    struct seep_take take = {put.bytes, put.bytes + put.used, false};
    struct seep_chunk chunk;
    assert_false(seep_chunk_take(&take, &chunk));
    seep_put_deinit(&put);
}

static void test_the_time_of_a_stamp(void **unused) {
    (void)unused;
    struct seep_chunk chunk = {.begin = {1000, 50}, .end = {2000, 2050}};
    assert_int_equal(seep_chunk_ns(&chunk, 1000), 50);
    assert_int_equal(seep_chunk_ns(&chunk, 1500), 1050);
    assert_int_equal(seep_chunk_ns(&chunk, 0), 0); // before the process: its start
    struct seep_chunk stands = {.begin = {7, 9}, .end = {7, 9}};
    assert_int_equal(seep_chunk_ns(&stands, 100), 9);
}

// Keys that share places: what was removed is gone, and everything else is still found.
static void test_a_map_forgets(void **test_state) {
    (void)test_state;
    enum { KEYS = 300, TURNS = 20000 };
    uint64_t expected[KEYS] = {0};
    struct seep_map map = SEEP_MAP_INIT;
    size_t most_slots = 0;
    state = 4711;
    for (int turn = 0; turn < TURNS; turn++) {
        uint64_t key = random_number() % KEYS;
        if (random_number() % 3) {
            seep_map_remove(&map, key);
            expected[key] = 0;
        } else {
            uint64_t *value = seep_map_at(&map, key, NULL);
            assert_non_null(value);
            expected[key] = *value = 1 + random_number() % 1000;
        }
        most_slots = most_slots > map.nr_slots ? most_slots : map.nr_slots;
        uint64_t look = random_number() % KEYS;
        const uint64_t *found = seep_map_find(&map, look);
        assert_int_equal(found ? *found : 0, expected[look]);
    }
    for (uint64_t key = 0; key < KEYS; key++)
        assert_int_equal(seep_map_find(&map, key) != NULL, expected[key] != 0);
    assert_true(most_slots <= 256); // a third of the keys is there at a time: no room is lost to the others
    seep_map_deinit(&map);
}

// A million events against plain arrays: blocks by place, counts by site. Some events allocate a live block, or
// free one that is not live.
static void test_a_heap_is_what_its_events_make(void **unused) {
    enum { EVENTS = 1000000, PLACES = 100000, SITES = 50 };
    static struct seep_recorded live[PLACES];
    struct seep_rebuilt_heap heap;
    int64_t live_bytes = 0, peak_bytes = 0, of_site[SITES] = {0};
    uint64_t nr_live = 0, nr_strange = 0;
    (void)unused;
    state = 4711;
    assert_true(seep_rebuilt_heap_init(&heap, SITES));
    // A recording may have ten thousand processes.
    assert_true((sizeof(*heap.index) << heap.bits) + heap.blocks_capacity * sizeof(*heap.blocks) <= 1024);
    for (uint32_t i = 0; i < EVENTS; i++) {
        uint64_t r = random_number();
        uint32_t most = 1 + i / 10; // places: the heap grows
        uint64_t at = (r >> 8) % most;
        struct seep_recorded event = {.stamp = i,
                                      .address = 4096 + at * 16,
                                      .size = 1 + (r >> 40) % 1000,
                                      .site = 1 + (uint32_t)(r % (SITES - 1)),
                                      .kind = SEEP_EVENT_ALLOCATION};
        bool odd = (r & 255) == 7;
        if (!live[at].address == odd) { // a free, of what is live where it is not odd
            event = odd ? event : live[at];
            event.kind = SEEP_EVENT_FREE;
        }
        nr_strange += odd;
        if (seep_event_is_free(event.kind)) {
            nr_live -= live[at].address != 0;
            live[at].address = 0;
            live_bytes -= (int64_t)event.size;
            of_site[event.site] -= (int64_t)event.size;
        } else {
            nr_live += live[at].address == 0;
            live[at] = event;
            live_bytes += (int64_t)event.size;
            of_site[event.site] += (int64_t)event.size;
        }
        peak_bytes = live_bytes > peak_bytes ? live_bytes : peak_bytes;
        assert_true(seep_rebuilt_heap_step(&heap, &event, i));
    }
    assert_int_equal(heap.nr_blocks, nr_live);
    assert_int_equal(heap.nr_strange, nr_strange);
    assert_int_equal(heap.live_bytes, live_bytes);
    assert_int_equal(heap.peak_bytes, peak_bytes);
    for (uint32_t i = 1; i < SITES; i++)
        assert_int_equal(heap.sites[i].allocated_bytes - heap.sites[i].freed_bytes, of_site[i]);
    for (uint64_t at = 0; at < PLACES; at++) {
        const struct seep_rebuilt_block *block = seep_rebuilt_heap_find(&heap, 4096 + at * 16);
        assert_int_equal(block != NULL, live[at].address != 0);
        assert_true(!block || (block->size == live[at].size && block->site == live[at].site &&
                               (uint64_t)block->at_ns == live[at].stamp));
    }
    seep_rebuilt_heap_deinit(&heap);
}

// No scan has seen a past moment.
static void test_a_past_moment_has_no_notes_of_the_scan(void **unused) {
    (void)unused;
    static const enum seep_note_code codes[] = {SEEP_NOTE_SCAN_UNREAD,   SEEP_NOTE_SCAN_NO_EXIT,
                                                SEEP_NOTE_LOST_CYCLES,   SEEP_NOTE_HEADERS,
                                                SEEP_NOTE_SCAN_NOT_KEPT, SEEP_NOTE_SCAN_STOPPED};
    struct seep_profile *profile;
    assert_null(seep_profile_create(&profile));
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(codes); i++)
        assert_null(seep_profile_note(profile, codes[i], "note %zu", i));
    seep_at_mark_drop_details(profile);
    assert_int_equal(profile->health.nr_notes, 1);
    assert_true(seep_profile_has_note(profile, SEEP_NOTE_SCAN_NO_EXIT));
    seep_profile_destroy(profile);
}

static int make(void **unused) {
    (void)unused;
    packer = seep_chunk_packer_create();
    unpacker = seep_chunk_unpacker_create();
    return packer && unpacker ? 0 : 1;
}

static int unmake(void **unused) {
    (void)unused;
    seep_chunk_packer_destroy(packer);
    seep_chunk_unpacker_destroy(unpacker);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_put_in_comes_out),
        cmocka_unit_test(test_the_encoding_is_what_it_was),
        cmocka_unit_test(test_more_events_than_fit_are_refused),
        cmocka_unit_test(test_the_time_of_a_stamp),
        cmocka_unit_test(test_a_map_forgets),
        cmocka_unit_test(test_a_heap_is_what_its_events_make),
        cmocka_unit_test(test_a_past_moment_has_no_notes_of_the_scan),
    };
    return cmocka_run_group_tests(tests, make, unmake);
}
