// SPDX-License-Identifier: BSD-2-Clause
// Stopping a process one of whose threads executes a program meanwhile, see scan/stop.h. The program is this one.
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "scan/stop.h"

static char program[] = "/proc/self/exe", word[] = "execute";

static void *sleep_always(void *unused) {
    for (;;)
        pause();
    return unused;
}

static void *execute(void *unused) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    nanosleep(&(struct timespec){0, 1000000 + now.tv_nsec % 19000000}, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL); // of each thread its own; the thread that executes keeps it
    execv(program, (char *[]){program, word, NULL});
    _exit(1);
    return unused;
}

// A thread that is not the first executes the program, some milliseconds after its start, again and again.
static int run_threads(void) {
    pthread_t thread;
    for (int i = 0; i < 16; i++)
        pthread_create(&thread, NULL, sleep_always, NULL);
    pthread_create(&thread, NULL, execute, NULL);
    sleep_always(NULL);
    return 1;
}

// It waits for stopped threads, and PTRACE_SEIZE waits for it. The alarm ends a deadlock of the two.
static void test_a_thread_executes_a_program(void **state) {
    (void)state;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        execv(program, (char *[]){program, word, NULL});
        _exit(1);
    }
    for (int i = 0; i < 25; i++) {
        struct seep_stopped *stopped = NULL;
        alarm(20);
        struct seep_error *error = seep_stop_process(pid, &stopped);
        if (error)
            fail_msg("%s", error->message);
        seep_resume_process(stopped);
        nanosleep(&(struct timespec){0, 1000000}, NULL); // a stop at each moment of the program's turns
    }
    for (int i = 0; seep_stop_holds(); i++) {
        assert_true(i < 100);
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    }
    kill(pid, SIGKILL);
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    alarm(0);
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], word) == 0)
        return run_threads();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_thread_executes_a_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
