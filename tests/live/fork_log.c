// SPDX-License-Identifier: BSD-2-Clause
// Blocks that are lost while a child of fork has not begun its own image: the library remembers their addresses for it.
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *wait_on(void *unused) {
    (void)unused;
    for (;;)
        pause();
}

__attribute__((noinline)) static void lose(void) {
    for (int i = 0; i < 50; i++) {
        void *volatile block = calloc(1, 1000);
        block = NULL;
    }
}

__attribute__((noinline)) static void scrub(void) {
    volatile char stack[32768];
    memset((void *)stack, 0, sizeof(stack));
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, wait_on, NULL);
    pid_t child = fork();
    if (child < 0)
        return 1;
    if (child == 0)
        wait_on(NULL);
    lose();
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    scrub();
    return 0;
}
