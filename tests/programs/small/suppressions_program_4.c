// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <fcntl.h>
#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>
int main(void) {
    for (int i = 0; i < 20; i++) {
        char name[64];
        snprintf(name, sizeof(name), "/seep-test-%d-%d", (int)getpid(), i);
        if (sem_open(name, O_CREAT | O_EXCL, 0600, 1) == SEM_FAILED) return 1;
        sem_unlink(name);
    }
    return 0;
}
