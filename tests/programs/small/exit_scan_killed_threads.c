// SPDX-License-Identifier: BSD-2-Clause
// Kills each child as it leaves. A second thread and 24 MiB keep a killed child on its way out for a while.
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NR_CHILDREN = 40, MEMORY_BYTES = 24 << 20 };

static void *rest(void *none) {
    pause();
    return none;
}

static void child(int leaving) {
    pthread_t thread;
    char *memory = malloc(MEMORY_BYTES);
    if (!memory || pthread_create(&thread, NULL, rest, NULL) != 0)
        _exit(1);
    memset(memory, 1, MEMORY_BYTES);
    exit(write(leaving, "", 1) != 1);
}

int main(void) {
    int leaving[2];
    char byte;
    if (pipe(leaving) != 0)
        return 2;
    for (int i = 0; i < NR_CHILDREN; i++) {
        pid_t pid = fork();
        if (pid == 0)
            child(leaving[1]);
        if (pid < 0 || read(leaving[0], &byte, 1) != 1)
            return 2;
        usleep((useconds_t)(i * 100));
        kill(pid, SIGKILL);
        if (waitpid(pid, NULL, 0) != pid)
            return 1;
    }
    return 0;
}
