// SPDX-License-Identifier: BSD-2-Clause
// A forked child that does nothing but unmap what its parent has mapped.
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile kept;

int main(void) {
    kept = malloc(100);
    void *mapped = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (fork() == 0)
        _exit(munmap(mapped, 1 << 20) != 0);
    int status;
    wait(&status);
    return WEXITSTATUS(status);
}
