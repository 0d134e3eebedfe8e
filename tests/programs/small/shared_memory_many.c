// SPDX-License-Identifier: BSD-2-Clause
// One file behind many mappings, the last pages first: the kernel joins none of them. The first page of the file,
// which is mapped last, holds a block.
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { NR = 2000, PAGE = 4096 };

int main(void) {
    int fd = memfd_create("many", 0);
    if (ftruncate(fd, NR * PAGE))
        return 1;
    char *room = mmap(NULL, NR * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < NR; i++) {
        char *page = mmap(room + (long)i * PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
                          (long)(NR - 1 - i) * PAGE);
        if (page == MAP_FAILED)
            return 1;
        page[8] = 1;
        if (i == NR - 1)
            *(void **)page = malloc(100);
    }
    printf("%d\n", (int)getpid());
    fflush(stdout);
    getchar();
    return 0;
}
