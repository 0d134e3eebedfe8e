// SPDX-License-Identifier: BSD-2-Clause
//
// For test_privileges.py: what somebody may name in SEEP_ALLOCATOR. When it is loaded it writes into the file that
// EVIL names as whom it runs.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern void *__libc_malloc(size_t size);
extern void __libc_free(void *block);

void *malloc(size_t size) {
    return __libc_malloc(size);
}

void free(void *block) {
    __libc_free(block);
}

__attribute__((constructor)) static void leave_a_mark(void) {
    char text[32];
    const char *file = getenv("EVIL");
    int fd = file ? open(file, O_WRONLY | O_CREAT | O_TRUNC, 0644) : -1;
    int length = snprintf(text, sizeof(text), "%d\n", (int)geteuid());
    if (fd >= 0 && write(fd, text, (size_t)length) != length)
        abort();
}
