// SPDX-License-Identifier: BSD-2-Clause
// A forked child limits its address space to 8 MiB before its first allocation, which needs 2 of them.
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MIB = 1 << 20 };

static int allocates(size_t bytes) {
    char *block = malloc(bytes);
    if (block)
        memset(block, 1, bytes);
    free(block);
    return block != NULL;
}

int main(void) {
    int status = -1;
    allocates(100);
    pid_t pid = fork();
    if (pid == 0) {
        const struct rlimit limit = {8 * MIB, 8 * MIB};
        if (setrlimit(RLIMIT_AS, &limit))
            _exit(2);
        exit(allocates(2 * MIB) && allocates(100) ? 6 : 1);
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 3;
}
