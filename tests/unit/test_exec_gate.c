// SPDX-License-Identifier: BSD-2-Clause
//
// Programs that wait at the gate, in a mount namespace of their own: a word on one that went on long ago is not taken for
// another one, whose file has got the number of its descriptor.
#include <sched.h>
#include <signal.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "source/attach/exec_gate.h"

enum { TURNS = 2000, TURN_US = 10000, ROUNDS = 20 };

static pid_t start(const char *path) {
    pid_t pid = fork();
    if (pid == 0) {
        execl(path, path, (char *)NULL);
        _exit(1);
    }
    return pid;
}

static struct seep_exec_waiting take(struct seep_exec_gate *gate, pid_t pid) {
    struct seep_exec_waiting waiting = {0};
    for (int i = 0; i < TURNS && waiting.pid != pid; i++) {
        waiting = seep_exec_gate_take(gate);
        if (!waiting.pid)
            usleep(TURN_US);
        else if (waiting.pid != pid)
            seep_exec_gate_let_go(gate, &waiting);
    }
    assert_int_equal(waiting.pid, pid);
    return waiting;
}

// Lets all go until the program has ended. Its loader is executed, too: left at the gate, it would end the gate's patience,
// and the next program would be let go untold.
static void wait_for_end(struct seep_exec_gate *gate, pid_t pid) {
    int status;
    pid_t ended;
    while ((ended = waitpid(pid, &status, WNOHANG)) == 0) {
        struct seep_exec_waiting waiting = seep_exec_gate_take(gate);
        if (waiting.pid)
            seep_exec_gate_let_go(gate, &waiting);
        else
            usleep(TURN_US);
    }
    assert_int_equal(ended, pid);
}

static void test_a_late_word_is_for_no_other_program(void **state) {
    (void)state;
    int status;
    char path[SEEP_EXEC_GATE_PATH_BYTES];
    if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) {
        print_message("no mount namespaces for this user\n");
        skip();
    }
    struct seep_exec_gate *gate = seep_exec_gate_create(getpid());
    if (!gate) {
        print_message("the kernel tells of no exec\n");
        skip();
    }
    pid_t first = start("/bin/true");
    struct seep_exec_waiting of_first = take(gate, first);
    seep_exec_gate_let_go(gate, &of_first);
    wait_for_end(gate, first);
    struct seep_exec_waiting of_second = {0};
    pid_t second = 0;
    bool is_held = false;
    // On a loaded machine the gate's patience may end before this process runs.
    for (int i = 0; i < ROUNDS && !is_held; i++) {
        second = start("/bin/false");
        of_second = take(gate, second);
        seep_exec_gate_path(gate, &of_second, path);
        is_held = access(path, R_OK) == 0;
        if (!is_held)
            wait_for_end(gate, second);
    }
    assert_true(is_held);
    assert_int_equal(of_second.fd, of_first.fd);
    seep_exec_gate_let_go(gate, &of_first);
    usleep(20 * TURN_US); // it is heard
    assert_int_equal(access(path, R_OK), 0);
    seep_exec_gate_let_go(gate, &of_second);
    assert_int_equal(waitpid(second, &status, 0), second);
    int keeper;
    assert_int_equal(sscanf(path, "/proc/%d/", &keeper), 1);
    assert_int_equal(kill(keeper, SIGSTOP), 0); // the end does not wait for one that is stopped
    seep_exec_gate_destroy(gate);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_late_word_is_for_no_other_program)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
