// SPDX-License-Identifier: BSD-2-Clause
// Addresses of a server: what each form means, and what is said of those that are wrong.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "wire/wire_address.h"

static void parses(const char *text, enum seep_wire_kind kind, const char *rest) {
    struct seep_wire_address address;
    assert_null(seep_wire_address_parse(text, &address));
    assert_int_equal(address.kind, kind);
    assert_string_equal(address.rest, rest);
}

static void test_forms(void **state) {
    struct seep_wire_address address;
    parses("unix:/run/a.sock", SEEP_WIRE_KIND_UNIX, "/run/a.sock");
    parses("tcp:[::1]:7777", SEEP_WIRE_KIND_TCP, "[::1]:7777");
    parses("exec:adb shell", SEEP_WIRE_KIND_EXEC, "adb shell");
    parses("ssh://me@board7:22/12", SEEP_WIRE_KIND_SSH, "12");
    parses("31724", SEEP_WIRE_KIND_NONE, "31724");
    parses("app.seep", SEEP_WIRE_KIND_NONE, "app.seep");
    assert_null(seep_wire_address_parse("ssh://me@board7:22/12", &address));
    assert_string_equal(address.host, "me@board7");
    assert_string_equal(address.port, "22");
}

// The hint names what to type instead.
static void hints(struct seep_error *error, const char *text, const char *hint) {
    assert_non_null(error);
    if (!strstr(error->hint, hint))
        fail_msg("'%s': %s (%s)", text, error->message, error->hint);
    seep_error_destroy(error);
}

#define NETWORK "--listen tcp:HOST:PORT"

static void test_wrong_forms(void **state) {
    static const char *const texts[][2] = {
        {"ssh://board7", "seep-agent list"},
        {"ssh://board7/x", "seep-agent list"},
        {"ssh://-oX/1", "seep-agent list"},
        {"ssh://a b/1", "seep-agent list"},
        {"ssh://a:b/1", "seep-agent list"},
        {"tcp:", NETWORK},
        {"tcp:a", NETWORK},
        {"tcp://a:1", NETWORK},
        {"tcp::1", NETWORK},
        {"unix:", "seep serve PID"},
        {"exec:", "--listen stdio"},
    };
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(texts); i++) {
        struct seep_wire_address address;
        hints(seep_wire_address_parse(texts[i][0], &address), texts[i][0], texts[i][1]);
    }
}

static void test_what_is_no_address(void **state) {
    static const char *const texts[][2] = {
        {"localhost:1", "tcp:localhost:1 with --key"},
        {":7777", "tcp:HOST:7777 with --key"},
        {"[::1]:7777", "tcp:[::1]:7777 with --key"},
        {"me@board7", "ssh://me@board7/PID"},
        {"me@board7:22", "ssh://me@board7:22/PID"},
        {"me@board7/12", "ssh://me@board7/12"},
        {"board7/12", "ssh://board7/12"},
        {"ssh:board7", "ssh://board7/PID"},
        {"http://a:1", "exec:COMMAND"},
        {"board7", "ssh://HOST/PID"},
        {"/run/user/0/seep/1.sock", "the socket of 'seep serve PID'"},
        {"", "a PID, a trace or an address"},
    };
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(texts); i++)
        hints(seep_wire_address_refuse(texts[i][0]), texts[i][0], texts[i][1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_wrong_forms),
        cmocka_unit_test(test_what_is_no_address),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
