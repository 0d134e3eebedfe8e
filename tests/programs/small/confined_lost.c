// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>

static int there_is_room(void) {
    void *page = mmap(NULL, 4096, PROT_READ, MAP_ANONYMOUS | MAP_PRIVATE, -1, 0);
    return page != MAP_FAILED && munmap(page, 4096) == 0;
}

// What the process has, and so much that the heap takes nearly all of it at once: nothing is left for seep.
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
    limit.rlim_cur = high + (17 << 20);
    setrlimit(RLIMIT_AS, &limit);
}

int main(void) {
    int nr = 0;
    mallopt(M_TOP_PAD, 16 << 20);
    limit_address_space();
    void **head = NULL, **next;
    for (; (next = malloc(200)) != NULL; nr++) {
        *next = head;
        head = next;
    }
    for (; head; head = next) {
        next = *head;
        free(head);
    }
    printf("%d\n", nr);
    return 0;
}
