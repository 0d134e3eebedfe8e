// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#define OUT __attribute__((noinline)) static void
#define USE(p) __asm__ volatile("" : "+r"(p))
/* FILLER */
OUT read_order(void) { void *p = malloc(100); USE(p); p = NULL; USE(p); }
OUT read_name(void) { void *p = strdup("twenty-nine characters of it."); USE(p); p = NULL; USE(p); }
OUT wipe(void) { char room[8192]; memset(room, 0, sizeof(room)); __asm__ volatile("" :: "r"(room) : "memory"); }
static void *thread(void *data) { for (int i = 0; i < 3; i++) read_order(); wipe(); return data; }
int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "";
    void *big = malloc(50000);
    USE(big);
    free(big);
    if (strcmp(how, "clean") == 0)
        return 0;
    if (strcmp(how, "exit") == 0)
        return 3;
    if (strcmp(how, "children") == 0) {
        for (int i = 0; i < 2; i++) {
            if (fork() == 0) {
                read_order();
                wipe();
                exit(0);
            }
            wait(NULL);
        }
        return 0;
    }
    if (strcmp(how, "threads") == 0) {
        pthread_t threads[2];
        for (int i = 0; i < 2; i++)
            pthread_create(&threads[i], NULL, thread, NULL);
        for (int i = 0; i < 2; i++)
            pthread_join(threads[i], NULL);
        wipe();
        return 0;
    }
    for (int i = 0; i < 5; i++)
        read_order();
    read_name();
    wipe();
    if (strcmp(how, "more") == 0)
        read_order();
    wipe();
    if (strcmp(how, "abort") == 0)
        abort();
    return 0;
}
