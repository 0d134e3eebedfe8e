// SPDX-License-Identifier: BSD-2-Clause
//
// A file is opened by another process, also after the signal that asks for the last report: on a loaded machine that
// process may not run for a while.
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/interrupt.h"
#include "confine/opener.h"
#include "only_child.h"

enum { STOPPED_MS = 300 }; // longer than the opener's slices, much shorter than what it has

static void test_an_opener_that_does_not_run_for_a_while(void **state) {
    (void)state;
    int fd = seep_open_regular(-1, "/proc/self/exe");
    assert_true(fd >= 0);
    close(fd);
    pid_t opener = only_child();
    seep_interrupted = 1;
    assert_int_equal(kill(opener, SIGSTOP), 0);
    pid_t waker = fork();
    if (waker == 0) {
        const struct timespec pause = {0, STOPPED_MS * 1000000L};
        nanosleep(&pause, NULL);
        _exit(kill(opener, SIGCONT) == 0 ? 0 : 1);
    }
    fd = seep_open_regular(-1, "/proc/self/exe");
    int trouble = errno, status;
    assert_int_equal(waitpid(waker, &status, 0), waker);
    assert_int_equal(status, 0);
    if (fd < 0)
        fail_msg("not opened: errno %d", trouble);
    close(fd);
}

// The signal ends the wait for one that never runs.
static void test_an_opener_that_never_runs(void **state) {
    (void)state;
    int fd = seep_open_regular(-1, "/proc/self/exe");
    assert_true(fd >= 0);
    close(fd);
    seep_interrupted = 1;
    assert_int_equal(kill(only_child(), SIGSTOP), 0);
    assert_int_equal(seep_open_regular(-1, "/proc/self/exe"), -1);
    assert_int_equal(errno, EINTR);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_opener_that_does_not_run_for_a_while),
        cmocka_unit_test(test_an_opener_that_never_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
