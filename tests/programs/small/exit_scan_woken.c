// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
// The program leaves while a thread writes to a pipe whose reader, another process, takes a page every 0.2 ms. 32 MiB of blocks
// take longer to read than that.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "asleep.h"
static int ends[2];
static void *writes(void *page) {
    for (;;)
        if (write(ends[1], page, 4096) != 4096) _exit(9);
}
int main(void) {
    static char page[4096];
    static void *volatile kept[32];
    static const long calls[] = {SYS_write};
    pthread_t thread;
    if (pipe(ends)) return 1;
    if (fork() == 0) {
        close(ends[1]);
        while (read(ends[0], page, sizeof(page)) > 0) usleep(200);
        _exit(0);
    }
    for (int i = 0; i < 32; i++) memset(kept[i] = malloc(1 << 20), 1, 1 << 20);
    if (pthread_create(&thread, NULL, writes, page)) return 1;
    wait_for_sleepers(1, calls, 1);
    exit(0);
}
