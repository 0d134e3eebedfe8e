// SPDX-License-Identifier: BSD-2-Clause
//
// A client's copy of the images, with a server that sends false data: the client's memory stays bounded.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "wire/wire.h"

enum { NR_SITES = 20 };

struct connection {
    struct seep_replica *replica;
    struct seep_put payload;
};

// Whether the client took the frame.
static bool is_taken(struct connection *connection, enum seep_wire_type type) {
    bool ended = false;
    struct seep_error *error = seep_replica_take(connection->replica, (uint8_t)type,
                                                 connection->payload.bytes, connection->payload.used, &ended);
    connection->payload.used = 0;
    seep_error_destroy(error);
    return !error;
}

static void put(struct connection *connection, const uint64_t *numbers, size_t nr) {
    for (size_t i = 0; i < nr; i++)
        seep_put_leb(&connection->payload, numbers[i]);
}
#define PUT(connection, ...)                                                                                 \
    put(connection, (const uint64_t[]){__VA_ARGS__}, sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

// A process whose sites have no stack.
static void begin(struct connection *connection) {
    assert_null(seep_replica_create(&connection->replica));
    PUT(connection, 1, 1, 0, 0, 0, 0);
    seep_put_text(&connection->payload, "");
    PUT(connection, 1, 0, 1);
    assert_true(is_taken(connection, SEEP_WIRE_LOOK));
    PUT(connection, 0, 42, 7, 0, 1, 1);
    assert_true(is_taken(connection, SEEP_WIRE_PROCESS));
    PUT(connection, 0, 0);
    for (unsigned i = 0; i < NR_SITES; i++)
        PUT(connection, 0, 1);
    assert_true(is_taken(connection, SEEP_WIRE_SITES));
}

static void end(struct connection *connection) {
    seep_replica_destroy(connection->replica);
    seep_put_deinit(&connection->payload);
}

static void test_a_site_changes_once_an_answer(void **state) {
    struct connection connection = {NULL};
    begin(&connection);
    PUT(&connection, 0, 1, 1, 1, 2, 4, 1, 2); // allocations of sites 1 and 5
    assert_true(is_taken(&connection, SEEP_WIRE_COUNTERS));
    PUT(&connection, 0, 1, 6, 1, 2);
    assert_true(is_taken(&connection, SEEP_WIRE_COUNTERS));
    PUT(&connection, 0, 1, 6, 1, 2);
    assert_false(is_taken(&connection, SEEP_WIRE_COUNTERS));
    end(&connection);
}

static void test_changes_of_threads_are_bounded(void **state) {
    struct connection connection = {NULL};
    begin(&connection);
    bool taken = true;
    uint64_t thread = 0;
    for (unsigned frame = 0; taken && frame < 200; frame++) {
        PUT(&connection, 0, SEEP_WIRE_THREADS_CHANGED);
        for (unsigned i = 0; i < 1000; i++)
            PUT(&connection, i ? 0 : 1, thread++ << 1, 1, 2);
        taken = is_taken(&connection, SEEP_WIRE_THREAD_SITES);
    }
    assert_false(taken);
    end(&connection);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_site_changes_once_an_answer),
        cmocka_unit_test(test_changes_of_threads_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
