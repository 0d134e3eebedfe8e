// SPDX-License-Identifier: BSD-2-Clause
//
// A program whose memory has endless lists of an allocator, of one kind a run. A scan of it must end, in little memory.
// It prints "ready", and ends at the end of its input. The second argument is the path of a file that it makes, named
// like a libc.
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HEAP_BYTES (UINT64_C(64) << 20)
#define PAGE       4096u

static void must(int good) {
    if (!good)
        _exit(99);
}

static uint64_t *map_at(uint64_t where, size_t bytes) {
    void *at = mmap((void *)where, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    must(at == (void *)where);
    return at;
}

// Source: glibc, malloc/malloc.c: struct malloc_state of 64 bits, in words.
enum { STATE_TOP = 12, STATE_BINS = 14, STATE_LAST = STATE_BINS + 252, STATE_NEXT = STATE_BINS + 254 + 2 };

// An arena whose list leads back to it; the same for its heap.
static void heaps(uint64_t *libc) {
    const uint64_t base = UINT64_C(1) << 40;
    uint64_t *heap = map_at(base, 4 * PAGE), *arena = heap + 64;
    heap[0] = (uintptr_t)arena;
    heap[1] = base;
    heap[2] = 4 * PAGE;
    arena[STATE_TOP] = base + PAGE;
    arena[STATE_NEXT] = (uintptr_t)arena;
    libc[STATE_LAST] = libc[STATE_LAST + 1] = (uintptr_t)&libc[STATE_LAST - 2];
    libc[STATE_NEXT] = (uintptr_t)arena;
}

// Groups of musl's allocator that all lie in one place. Source: musl, src/malloc/mallocng/meta.h.
static void groups(uint64_t *libc) {
    enum { AREAS = 3000, METAS = 101 };
    const uint64_t base = UINT64_C(1) << 40, secret = 0x5eed5eed5eed5eed;
    unsigned char *area = (unsigned char *)map_at(base, AREAS * PAGE);
    libc[0] = secret;
    libc[1] = 1;
    libc[7] = base;
    for (unsigned i = 0; i < AREAS; i++, area += PAGE) {
        uint64_t *words = (uint64_t *)area;
        words[0] = secret;
        words[1] = i + 1 < AREAS ? (uintptr_t)area + PAGE : 0;
        words[2] = METAS;
        for (unsigned m = 0; m < METAS; m++) {
            words[3 + m * 5 + 2] = base + (UINT64_C(1) << 30);
            words[3 + m * 5 + 4] = 31 | 32 | 47 << 6;
        }
    }
}

int main(int argc, char **argv) {
    void *volatile block = malloc(100);
    must(argc == 3);
    int fd = open(argv[2], O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    must(fd >= 0 && ftruncate(fd, 2 * PAGE) == 0);
    uint64_t *libc = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    must(libc != MAP_FAILED);
    if (strcmp(argv[1], "heaps") == 0)
        heaps(libc);
    else
        groups(libc);
    puts("ready");
    fflush(stdout);
    (void)!getchar();
    free(block);
    return 0;
}
