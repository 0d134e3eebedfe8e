// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static void *held, *mixed[4];
static void *volatile kept;
__attribute__((noinline)) static void *hold(void) { return malloc(111); }
__attribute__((noinline)) static void *mix(void) { return malloc(222); }
__attribute__((noinline)) static void *keep(void) { return malloc(333); }
__attribute__((noinline)) static void *pass(void) { return malloc(444); }
static void last(void) {
    free(held);
    for (int i = 1; i < 4; i++)
        free(mixed[i]);
}
static void *leave(void *unused) { exit(0); }
int main(int argc, char **argv) {
    const char *way = argv[1];
    pthread_t thread;
    atexit(last);
    held = hold();
    for (int i = 0; i < 4; i++)
        mixed[i] = mix();
    free(mixed[0]);
    kept = keep();
    free(pass());
    if (strcmp(way, "exit") == 0)
        exit(0);
    if (strcmp(way, "thread") == 0 && pthread_create(&thread, NULL, leave, NULL) == 0)
        pause();
    if (strcmp(way, "fork") == 0 && fork() > 0)
        wait(NULL);
    if (strcmp(way, "_exit") == 0)
        _exit(0);
    return 0;
}
