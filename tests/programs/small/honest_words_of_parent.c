// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
static void *kept[100];
static int nr, ways[2];
static void *work(void *name) {
    prctl(PR_SET_NAME, name);
    for (int i = 0; i < 20; i++)
        kept[nr++] = malloc(50);
    if (write(ways[1], "x", 1) != 1)
        abort();
    pause();
    return NULL;
}
int main(void) {
    pthread_t thread;
    char byte;
    if (pipe(ways) || pthread_create(&thread, NULL, work, "busy (io)") || read(ways[0], &byte, 1) != 1)
        return 1;
    kept[nr++] = malloc(30);
    for (int i = 0; i < 2; i++)
        if (fork() == 0) {
            kept[nr++] = malloc(77);
            return 0;
        }
    while (wait(NULL) > 0)
        ;
    return 0;
}
