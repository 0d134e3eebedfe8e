// SPDX-License-Identifier: BSD-2-Clause
// 4,000 mappings of a page each, every one of which holds a block of its own; of every eighth nothing was touched,
// and what it should hold is lost. Writes its pid, and waits.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { NR = 4000, PAGE = 4096 };

int main(void) {
    char *pages = mmap(NULL, (size_t)NR * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < NR; i++) {
        char *page = pages + (size_t)i * PAGE;
        void *block = memset(malloc(100), 0, 100);
        if (i % 8)
            memcpy(page + i % 500 * 8, &block, sizeof(block));
        if (i % 2) // so that the kernel does not join them
            mprotect(page, PAGE, PROT_READ);
    }
    printf("%d\n", (int)getpid());
    fflush(stdout);
    return getchar() == 0;
}
