// SPDX-License-Identifier: BSD-2-Clause
//
// Every way a process can end, with the same live blocks at that moment.
// EXPECT:
// {
//   "sites": [
//     {"in": "work", "via": "malloc", "allocations": 1000, "frees": 900, "live_blocks": 100, "live_bytes": 1200},
//     {"in": "in_thread", "via": "malloc", "allocations": 10, "frees": 0, "live_blocks": 10, "live_bytes": 330}
//   ],
//   "runs": [
//     {"args": ["return"], "exit": {"code": 3}},
//     {"args": ["exit"], "exit": {"code": 4}},
//     {"args": ["_exit"], "exit": {"code": 5}},
//     {"args": ["quick_exit"], "exit": {"code": 6}},
//     {"args": ["abort"], "exit": {"signal": 6}},
//     {"args": ["kill"], "exit": {"signal": 9}},
//     {"args": ["segv"], "exit": {"signal": 11}},
//     {"args": ["trap"], "exit": {"signal": 4}},
//     {"args": ["term"], "exit": {"signal": 15}},
//     {"args": ["syscall"], "exit": {"code": 7}},
//     {"args": ["exit_in_thread"], "exit": {"code": 8}},
//     {"args": ["main_thread_leaves"], "exit": {"code": 0}}
//   ]
// }
#include "program.h"
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

APART static void work(void) {
    for (int i = 0; i < 1000; i++) {
        void *p = keep(malloc(12));
        if (i % 10)
            free(p);
    }
}

APART static void *in_thread(void *arg) {
    for (int i = 0; i < 10; i++)
        keep(malloc(33));
    if (!strcmp(arg, "exit_in_thread"))
        exit(8);
    return NULL;
}

APART static int end(const char *how) {
    if (!strcmp(how, "return"))
        return 3;
    if (!strcmp(how, "exit"))
        exit(4);
    if (!strcmp(how, "_exit"))
        _exit(5);
    if (!strcmp(how, "quick_exit"))
        quick_exit(6);
    if (!strcmp(how, "abort"))
        abort();
    if (!strcmp(how, "kill"))
        kill(getpid(), SIGKILL);
    if (!strcmp(how, "segv"))
        *(volatile int *)hide(8) = 1;
    if (!strcmp(how, "trap"))
        __builtin_trap();
    if (!strcmp(how, "term"))
        raise(SIGTERM);
    if (!strcmp(how, "syscall"))
        syscall(SYS_exit_group, 7);
    if (!strcmp(how, "main_thread_leaves"))
        pthread_exit(NULL);
    for (;;)
        pause();
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    pthread_t thread;
    work();
    CHECK(pthread_create(&thread, NULL, in_thread, argv[1]) == 0);
    pthread_join(thread, NULL);
    return end(argv[1]);
}
