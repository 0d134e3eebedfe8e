// SPDX-License-Identifier: BSD-2-Clause
//
// Blocks that only shared memory holds: anonymous, a memory file, a file. With "fork" a child that has touched
// none of it leaves first; with "drop" the process gives up the pages, which keeps what is in them.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 1 << 20, FAR = 700000 / 8 }; // sparse

static __attribute__((noipa)) void *make(size_t size) {
    return calloc(1, size);
}

static void **shared(int fd, int flags) {
    void **at = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | flags, fd, 0);
    return at == MAP_FAILED ? exit(9), NULL : at;
}

static __attribute__((noipa)) void wipe(void) {
    volatile char away[8192];
    for (size_t i = 0; i < sizeof(away); i++)
        away[i] = 0;
}

int main(int argc, char **argv) {
    char name[] = "shared-XXXXXX";
    int file = mkstemp(name), memory = memfd_create("mine", 0);
    unlink(name);
    if (ftruncate(file, BYTES) != 0 || ftruncate(memory, BYTES) != 0)
        return 8;
    void **all[] = {shared(-1, MAP_ANONYMOUS), shared(memory, 0), shared(file, 0)};
    for (int i = 0; i < 3; i++)
        all[i][FAR] = make(1001 + (size_t)i);
    make(2000);
    wipe();
    if (argc > 1 && strcmp(argv[1], "drop") == 0)
        for (int i = 0; i < 3; i++)
            madvise(all[i], BYTES, MADV_DONTNEED);
    if (argc > 1 && strcmp(argv[1], "fork") == 0) {
        if (fork() == 0) {
            free(make(10));
            exit(0);
        }
        wait(NULL);
    }
    if (argc > 1 && strcmp(argv[1], "wait") == 0) {
        printf("%d\n", (int)getpid());
        fflush(stdout);
        getchar();
    }
    return 0;
}
