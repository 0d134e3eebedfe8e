// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
// "filters": threads allocate while another gives all of them filters of system calls. "descriptors": a file is opened
// anew under every number, so what is written by its number goes into it. "stacks": a handler that allocates
// runs on signal stacks in memory of four kinds, also in a child of fork. Exits with 7 where all is as it should be.
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "another_stack.h"

enum { THREADS = 4, FILTERS = 20, STACK_BYTES = 65536, DESCRIPTORS = 256 };
static _Atomic int is_over;

static void allocate(unsigned nr) {
    for (unsigned i = 0; i < nr; i++)
        deep(i * 2654435761u, 12);
}

static void *work(void *none) {
    while (!is_over)
        allocate(50);
    return none;
}

static int filters(void) {
    struct sock_filter allow[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {1, allow};
    pthread_t threads[THREADS];
    int failed = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < FILTERS; i++, allocate(100))
        failed |= syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0;
    is_over = 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return failed;
}

static int child_fails(int signal) {
    int status = 1;
    pid_t pid = fork();
    if (pid == 0) {
        if (signal)
            raise(signal);
        allocate(100);
        _exit(0);
    }
    waitpid(pid, &status, 0);
    return status;
}

static int descriptors(void) {
    int file = open("corner", O_RDWR | O_CREAT, 0600);
    struct stat status;
    int failed = write(file, "hello", 5) != 5;
    for (int i = 3; i < DESCRIPTORS; i++)
        if (i != file)
            dup2(file, i);
    allocate(3000);
    failed |= child_fails(0);
    return failed || stat("corner", &status) || status.st_size != 5;
}

static void handle(int signal) {
    (void)signal;
    free(malloc(100));
}

static int stacks(void) {
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
    int file = open("corner", O_RDWR | O_CREAT, 0600), rights = PROT_READ | PROT_WRITE;
    int failed = ftruncate(file, STACK_BYTES) | sigaction(SIGUSR1, &action, NULL);
    void *memory[] = {mmap(NULL, STACK_BYTES, rights, MAP_SHARED | MAP_ANONYMOUS, -1, 0),
                      mmap(NULL, STACK_BYTES, rights, MAP_SHARED, file, 0),
                      mmap(NULL, STACK_BYTES, rights, MAP_PRIVATE, file, 0),
                      mmap(NULL, STACK_BYTES, rights, MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN, -1, 0)};
    for (int i = 0; i < 4; i++) {
        stack_t stack = {.ss_sp = memory[i], .ss_size = STACK_BYTES};
        failed |= sigaltstack(&stack, NULL) | raise(SIGUSR1);
        allocate(50);
        failed |= child_fails(SIGUSR1);
    }
    return failed | munmap(memory[0], STACK_BYTES) | munmap(memory[1], STACK_BYTES);
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "stacks";
    int failed = *how == 'f' ? filters() : *how == 'd' ? descriptors() : stacks();
    return failed ? 1 : 7;
}
