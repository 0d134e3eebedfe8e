// SPDX-License-Identifier: BSD-2-Clause
// What is said where the kernel lets us do nothing, or lacks a part.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "source/attach/bpf_program.h"

static struct seep_bpf_features everything(void) {
    struct seep_bpf_features features = {.load_errno = 0};
    for (size_t i = 0; i < SEEP_BPF_FEATURES_NR; i++)
        features.can[i] = true;
    return features;
}

static void expect(const struct seep_bpf_features *features, enum seep_error_code code, const char *message,
                   const char *hint) {
    struct seep_error *err = seep_bpf_features_check(features);
    assert_non_null(err);
    assert_int_equal(err->code, code);
    assert_non_null(strstr(err->message, message));
    assert_non_null(strstr(err->hint, hint));
    seep_error_destroy(err);
}

static void test_nothing_is_missing(void **state) {
    struct seep_bpf_features features = everything();
    assert_null(seep_bpf_features_check(&features));
    // What has a substitute is no reason to refuse.
    features.can[SEEP_BPF_CAN_LOOP] = features.can[SEEP_BPF_CAN_VMA] = false;
    features.can[SEEP_BPF_CAN_MULTI] = features.can[SEEP_BPF_CAN_SESSION] = false;
    assert_null(seep_bpf_features_check(&features));
}

static void test_no_right(void **state) {
    struct seep_bpf_features features = {.load_errno = EPERM};
    expect(&features, SEEP_E_PERMISSION, "cannot load BPF programs", "CAP_BPF and CAP_PERFMON");
}

static void test_lockdown(void **state) {
    struct seep_bpf_features features = {.load_errno = EPERM, .lockdown = true};
    expect(&features, SEEP_E_PERMISSION, "locked down", "lockdown=confidentiality");
}

static void test_an_old_kernel(void **state) {
    struct seep_bpf_features features = everything();
    features.can[SEEP_BPF_CAN_STORAGE] = false;
    expect(&features, SEEP_E_UNSUPPORTED, "no BPF task storage", "5.11");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_missing),
        cmocka_unit_test(test_no_right),
        cmocka_unit_test(test_lockdown),
        cmocka_unit_test(test_an_old_kernel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
