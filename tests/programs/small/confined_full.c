// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

// Calls of read, as the kernel counts them.
static long nr_reads(void) {
    static char text[4096];
    int fd = open("/proc/self/io", O_RDONLY);
    long length = read(fd, text, sizeof(text) - 1);
    close(fd);
    char *at = length > 0 ? strstr(text, "syscr: ") : NULL;
    return at ? atol(at + 7) : -1;
}

static int there_is_room(void) {
    void *page = mmap(NULL, 4096, PROT_READ, MAP_ANONYMOUS | MAP_PRIVATE, -1, 0);
    return page != MAP_FAILED && munmap(page, 4096) == 0;
}

// What the process has, and two MiB.
static void limit_address_space(void) {
    struct rlimit limit;
    getrlimit(RLIMIT_AS, &limit);
    rlim_t low = 1 << 20, high = 1 << 30;
    while (high - low > 128 * 1024) {
        limit.rlim_cur = (low + high) / 2;
        setrlimit(RLIMIT_AS, &limit);
        if (there_is_room())
            high = limit.rlim_cur;
        else
            low = limit.rlim_cur;
    }
    limit.rlim_cur = high + (2 << 20);
    setrlimit(RLIMIT_AS, &limit);
}

int main(int argc, char **argv) {
    static char out[100];
    int nr = 0;
    if (argc > 1) // of other use, so that a share of the limit is more than is left
        mmap(NULL, (size_t)atol(argv[1]) << 20, PROT_NONE, MAP_ANONYMOUS | MAP_PRIVATE, -1, 0);
    setvbuf(stdout, out, _IOFBF, sizeof(out));
    limit_address_space();
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
