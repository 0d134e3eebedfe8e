// SPDX-License-Identifier: BSD-2-Clause
//
// Threads that stop one after the other, each some time after the one before it: a thread that waits for its child of
// vfork does not stop before that has ended. Says "ready" when all of them wait; leaves when its input ends.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 6
#define STEP_S  2

static void *wait_long(void *data) {
    unsigned seconds = (unsigned)(uintptr_t)data;
    pid_t child = vfork();
    if (child == 0) {
        sleep(seconds);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    return NULL;
}

int main(void) {
    void *volatile block = malloc(100);
    pthread_t threads[THREADS];
    for (unsigned i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, wait_long, (void *)(uintptr_t)((i + 1) * STEP_S)) != 0)
            return 1;
    usleep(300000); // until they wait: none says so
    puts("ready");
    fflush(stdout);
    (void)!getchar();
    free(block);
    _exit(0);
}
