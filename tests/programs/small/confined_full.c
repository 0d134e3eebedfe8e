// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "confined_limit.h"

// Calls of read, as the kernel counts them.
static long nr_reads(void) {
    static char text[4096];
    int fd = open("/proc/self/io", O_RDONLY);
    long length = read(fd, text, sizeof(text) - 1);
    close(fd);
    char *at = length > 0 ? strstr(text, "syscr: ") : NULL;
    return at ? atol(at + 7) : -1;
}

int main(int argc, char **argv) {
    static char out[100];
    int nr = 0;
    if (argc > 1) // of other use, so that a share of the limit is more than is left
        mmap(NULL, (size_t)atol(argv[1]) << 20, PROT_NONE, MAP_ANONYMOUS | MAP_PRIVATE, -1, 0);
    setvbuf(stdout, out, _IOFBF, sizeof(out));
    limit_address_space(10 << 20);
    // Of 10 MiB 2 are left. The call is not recorded.
    syscall(SYS_mmap, NULL, 8 << 20, PROT_NONE, MAP_ANONYMOUS | MAP_PRIVATE, -1, 0);
    long before = nr_reads();
    for (int i = 0; i < 3; i++) {
        void **head = NULL, **next;
        for (nr = 0; (next = malloc(40)) != NULL; nr++) {
            *next = head;
            head = next;
        }
        for (; head; head = next) {
            next = *head;
            free(head);
        }
    }
    printf("%d %ld\n", nr, nr_reads() - before);
    return 0;
}
