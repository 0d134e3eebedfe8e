// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
    void *volatile block = malloc(100); // below the first 64 MiB, where the program lies at a fixed address
    if (fork() == 0) {
        free(block);
        FILE *maps = fopen("/proc/self/maps", "r");
        unsigned long start = 0;
        if (!maps || fscanf(maps, "%lx", &start) != 1)
            start = 1;
        printf("%lx %d\n", start, (unsigned long)block < 64ul << 20);
        fflush(stdout);
        _exit(0);
    }
    return wait(NULL) < 0;
}
