// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
// The first allocation of a child of fork ("child") or of a thread ("thread") is made by a signal handler; "again": one
// that also resizes and frees it. Prints how much of its stack that took.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 65536 };
static void *volatile block;

static unsigned char *memory;
static const char *how;

static void handle(int signal) {
    (void)signal;
    block = malloc(20);
    if (*how == 'a')
        free(realloc(block, 5000));
}

static void *work(void *none) {
    stack_t stack = {.ss_sp = memory, .ss_size = BYTES};
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
    sigaltstack(&stack, NULL);
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    return none;
}

int main(int argc, char **argv) {
    pthread_t thread;
    size_t unused = 0;
    how = argc > 1 ? argv[1] : "child";
    memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    memset(memory, 0xa7, BYTES);
    block = malloc(10);
    if (*how == 'c') {
        if (fork() == 0) {
            work(NULL);
            _exit(block ? 0 : 1);
        }
        wait(NULL);
    } else {
        pthread_create(&thread, NULL, work, NULL);
        pthread_join(thread, NULL);
    }
    while (unused < BYTES && memory[unused] == 0xa7)
        unused++;
    printf("%zu\n", BYTES - unused);
    return 0;
}
