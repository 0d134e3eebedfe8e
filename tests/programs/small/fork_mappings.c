// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
static void *volatile kept;
static char *map(size_t n) { return mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }
int main(void) {
    char *a = map(1 << 20), *b = map(2 << 20), *c = map(4 << 20);
    munmap(b, 2 << 20);
    kept = malloc(100);
    if (fork() == 0) {
        kept = malloc(200); /* its first operation makes its image */
        munmap(a, 1 << 20);
        char *d = map(8 << 20);
        _exit(d == MAP_FAILED);
    }
    int status;
    wait(&status);
    munmap(c, 4 << 20);
    return WEXITSTATUS(status);
}
