// SPDX-License-Identifier: BSD-2-Clause
// Guard pages as glibc makes them for the stacks of threads from 2.42 on: by madvise, in the middle of memory that holds
// pointers. Says so, or that the kernel has none, and waits.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGES 64

int main(void) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *memory = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return 1;
    memset(memory, 1, PAGES * page);
    for (size_t i = 0; i < PAGES; i += 2) {
        void *block = malloc(1001);
        memcpy(memory + i * page + 64, &block, sizeof(block));
    }
    int guarded = 0;
    for (size_t i = 1; i < PAGES; i += 2)
        guarded += madvise(memory + i * page, page, 102 /* MADV_GUARD_INSTALL */) == 0;
    printf("%s %p ready\n", guarded ? "guarded" : "none", (void *)memory);
    fflush(stdout);
    pause();
    return 0;
}
