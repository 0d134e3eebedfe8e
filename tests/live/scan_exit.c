// SPDX-License-Identifier: BSD-2-Clause
// Blocks of every class, and every way to leave. The size of a block tells which it is; test_exit_scan.py
// says what is expected of each.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile reachable;
static void *volatile freed_at_exit;
static void *volatile middle;

static void last(void) {
    free(freed_at_exit);
}

static void *make(size_t size) {
    return calloc(1, size);
}

__attribute__((noinline)) static void work(void) {
    void *volatile *lost = make(1000);
    *lost = make(1016);
    void *volatile *other = make(1032); // its address stays in dead frames and registers, not in live ones
    *other = NULL;
    reachable = make(2000);
    middle = (char *)make(3000) + 100;
    freed_at_exit = make(4000);
    printf("%p\n", (void *)other);
}

static pthread_barrier_t together;

static void *in_thread(void *how) {
    if (!strcmp(how, "thread"))
        exit(0);
    if (!strncmp(how, "two-", 4)) {
        pthread_barrier_wait(&together);
        if (!strcmp(how, "two-exits"))
            exit(7);
        for (volatile int i = rand() % 20000; i > 0; i--)
            continue;
        _exit(7);
    }
    for (;;)
        free(malloc(5000 + (rand() & 511)));
}

int main(int argc, char **argv) {
    const char *how = argv[1];
    atexit(last);
    at_quick_exit(last);
    void *volatile held = make(2016); // main's own
    work();
    if (!strncmp(how, "two-", 4)) {
        pthread_t thread;
        srand(argc > 2 ? atoi(argv[2]) : 1);
        pthread_barrier_init(&together, NULL, 2);
        pthread_create(&thread, NULL, in_thread, (void *)how);
        pthread_barrier_wait(&together);
        exit(7);
    }
    if (!strcmp(how, "thread") || !strcmp(how, "busy")) {
        pthread_t thread;
        for (int i = 0; i < (*how == 't' ? 1 : 3); i++)
            pthread_create(&thread, NULL, in_thread, (void *)how);
        usleep(10000);
        if (!strcmp(how, "thread"))
            pthread_join(thread, NULL);
    }
    if (!strcmp(how, "exit"))
        exit(3 + (held == NULL));
    if (!strcmp(how, "_exit"))
        _exit(4 + (held == NULL));
    if (!strcmp(how, "quick_exit"))
        quick_exit(5);
    if (!strcmp(how, "abort"))
        abort();
    if (!strcmp(how, "segv"))
        *(volatile int *)16 = 0;
    if (!strcmp(how, "sandbox")) {
        struct sock_filter all[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
        struct sock_fprog filter = {1, all};
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0);
    }
    if (!strcmp(how, "exec"))
        execl("/bin/true", "true", NULL);
    if (!strcmp(how, "fork")) {
        if (fork() == 0) {
            make(6000);
            exit(7);
        }
        wait(NULL);
    }
    if (!strcmp(how, "vfork")) {
        if (vfork() == 0)
            _exit(8);
        make(6000);
    }
    if (!strcmp(how, "wait")) {
        puts("ready");
        fflush(stdout);
        getchar();
    }
    return 2;
}
