// SPDX-License-Identifier: BSD-2-Clause
// Looks at a process that ends in the middle of one: after its image was read and before it is opened once more, to be kept.
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "live/look_process.h"
#include "profile/profile.h"

static pid_t to_kill; // 0: none

static void kill_now(pid_t pid) {
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    to_kill = 0;
}

int __real_seep_image_open_pid(pid_t pid);
int __wrap_seep_image_open_pid(pid_t pid);
int __wrap_seep_image_open_pid(pid_t pid) {
    if (to_kill)
        kill_now(to_kill);
    return __real_seep_image_open_pid(pid);
}

// A traced program that waits.
static pid_t start(int *ret_input) {
    int input[2], output[2];
    assert_int_equal(pipe(input) | pipe(output), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(input[0], 0);
        dup2(output[1], 1);
        close(input[1]);
        setenv("LD_PRELOAD", getenv("SEEP_TEST_LIBRARY"), 1);
        setenv("SEEP_OUT", "/dev/null", 1);
        execl("/bin/cat", "cat", (char *)NULL);
        _exit(1);
    }
    assert_true(pid > 0);
    char said[5];
    assert_int_equal(write(input[1], "ready", 5), 5);
    assert_int_equal(read(output[0], said, 5), 5); // so it has begun
    close(input[0]);
    close(output[0]);
    close(output[1]);
    *ret_input = input[1];
    return pid;
}

static uint64_t allocations(const struct seep_look *look) {
    assert_non_null(look->session);
    assert_int_equal(look->session->nr_profiles, 1);
    return look->session->profiles[0]->totals.allocations;
}

static void test_an_end_between_two_reads(void **state) {
    (void)state;
    int input;
    pid_t pid = start(&input);
    struct seep_live_source source = {
        .name = "cat", .is_pid = true, .pid = pid, .started = seep_look_started(pid)};
    struct seep_look first, second, third;
    seep_look_make_here(&source, NULL, &first);
    assert_null(first.error);
    assert_true(allocations(&first) > 0);
    assert_int_equal(first.nr_images, 1);
    assert_true(first.image_fds[0] >= 0 && !first.ended);
    to_kill = pid;
    seep_look_make_here(&source, &first, &second);
    assert_int_equal(to_kill, 0);
    assert_null(second.error);
    assert_int_equal(allocations(&second), allocations(&first));
    assert_true(second.image_fds[0] >= 0 && !second.ended); // that of the look before
    seep_look_make_here(&source, &second, &third);
    assert_null(third.error);
    assert_true(third.ended); // and read from what was kept
    assert_int_equal(allocations(&third), allocations(&first));
    close(input);
    seep_look_deinit(&first);
    seep_look_deinit(&second);
    seep_look_deinit(&third);
}

// In the very first look, which has none before it: what was read is shown, and then the end is told.
static void test_an_end_in_the_first_look(void **state) {
    (void)state;
    int input;
    pid_t pid = start(&input);
    struct seep_live_source source = {
        .name = "cat", .is_pid = true, .pid = pid, .started = seep_look_started(pid)};
    struct seep_look first, second;
    to_kill = pid;
    seep_look_make_here(&source, NULL, &first);
    assert_null(first.error);
    assert_true(allocations(&first) > 0);
    assert_true(first.image_fds[0] < 0);
    seep_look_make_here(&source, &first, &second);
    assert_true(second.ended); // also where nothing of it could be kept
    close(input);
    seep_error_destroy(second.error);
    second.error = NULL;
    seep_look_deinit(&first);
    seep_look_deinit(&second);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_end_between_two_reads),
        cmocka_unit_test(test_an_end_in_the_first_look),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
