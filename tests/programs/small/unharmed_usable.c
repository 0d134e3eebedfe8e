// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
// What a program may write to, realloc() keeps: the whole pages of pvalloc(), blocks whose memory was freed and
// allocated again by calls that no hook sees, and all that malloc_usable_size() tells. Exits with 1 where it does not.
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

void *__libc_malloc(size_t size);
void __libc_free(void *block);

static int is_kept(unsigned char *block, size_t bytes) {
    memset(block, 0xa5, bytes);
    block = realloc(block, bytes + 4096);
    for (size_t i = 0; i < bytes; i++)
        if (block[i] != 0xa5)
            return 0;
    free(block);
    return 1;
}

int main(void) {
    if (!is_kept(pvalloc(10), 4096))
        return 1;
    for (size_t size = 17; size < 900; size += 16) {
        __libc_free(malloc(size));
        if (!is_kept(__libc_malloc(size + 7), size + 7))
            return 1;
    }
    for (size_t size = 1; size < 2000; size += 7) {
        unsigned char *block = malloc(size);
        if (!is_kept(block, malloc_usable_size(block)))
            return 1;
    }
    return 0;
}
