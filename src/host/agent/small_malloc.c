// SPDX-License-Identifier: BSD-2-Clause
// See small_malloc.h. Proof: tests/unit/test_small_malloc.c.
#include "agent/small_malloc.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum {
    HEAD = 2 * sizeof(size_t), // what stands before a block, and how blocks are aligned
    SMALL = 16384,
    CHUNK = 65536,
    NR_CLASSES = 64,
};

struct block {
    size_t bytes; // with this head
    struct block *next;
};

static struct block *freed[NR_CLASSES];
static char *chunk;
static size_t chunk_left;

// The size of a small block, head included: `bytes` rounded up to a multiple of a step. The step is 16, or an
// eighth to a quarter of `bytes`.
static size_t rounded(size_t bytes, unsigned *ret_class) {
    unsigned step = 16, nr = 0;
    for (; bytes > 8 * step; nr += 4)
        step *= 2;
    *ret_class = nr + (unsigned)((bytes + step - 1) / step);
    return (bytes + step - 1) & ~(size_t)(step - 1);
}

static void *mapped(size_t bytes) {
    return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

// `bytes`: head included.
static size_t of_pages(size_t bytes) {
    return (bytes + 4095) & ~(size_t)4095;
}

static void *handed_out(struct block *block, size_t bytes) {
    block->bytes = bytes;
    return (char *)block + HEAD;
}

static struct block *block_of(void *memory) {
    return (struct block *)((char *)memory - HEAD);
}

void *seep_small_malloc(size_t nr_bytes) {
    if (nr_bytes > PTRDIFF_MAX - (size_t)CHUNK) {
        errno = ENOMEM;
        return NULL;
    }
    unsigned class;
    size_t bytes = nr_bytes + HEAD;
    if (bytes > SMALL) {
        bytes = of_pages(bytes);
        void *made = mapped(bytes);
        return made == MAP_FAILED ? NULL : handed_out(made, bytes);
    }
    bytes = rounded(bytes, &class);
    struct block *block = freed[class];
    if (block) {
        freed[class] = block->next;
        return handed_out(block, bytes);
    }
    if (chunk_left < bytes) {
        void *made = mapped(CHUNK);
        if (made == MAP_FAILED)
            return NULL;
        chunk = made;
        chunk_left = CHUNK;
    }
    block = (struct block *)chunk;
    chunk += bytes;
    chunk_left -= bytes;
    return handed_out(block, bytes);
}

void seep_small_free(void *memory) {
    if (!memory)
        return;
    struct block *block = block_of(memory);
    if (block->bytes > SMALL) {
        int before = errno;
        munmap(block, block->bytes);
        errno = before;
        return;
    }
    unsigned class;
    rounded(block->bytes, &class);
    block->next = freed[class];
    freed[class] = block;
}

void *seep_small_calloc(size_t nr, size_t bytes) {
    size_t all;
    if (__builtin_mul_overflow(nr, bytes, &all))
        all = SIZE_MAX;
    void *memory = seep_small_malloc(all);
    if (memory && block_of(memory)->bytes <= SMALL) // a new mapping is zero
        memset(memory, 0, all);
    return memory;
}

void *seep_small_realloc(void *memory, size_t nr_bytes) {
    if (!memory)
        return seep_small_malloc(nr_bytes);
    struct block *block = block_of(memory);
    if (block->bytes > SMALL && nr_bytes > SMALL && nr_bytes <= PTRDIFF_MAX - (size_t)CHUNK) {
        size_t bytes = of_pages(nr_bytes + HEAD);
        void *made = mremap(block, block->bytes, bytes, MREMAP_MAYMOVE);
        return made == MAP_FAILED ? NULL : handed_out(made, bytes);
    }
    void *made = seep_small_malloc(nr_bytes);
    if (!made)
        return NULL;
    size_t held = block->bytes - HEAD;
    memcpy(made, memory, held < nr_bytes ? held : nr_bytes);
    seep_small_free(memory);
    return made;
}

#if defined(SEEP_AGENT) && !defined(__GLIBC__)
#define SAME_AS(function) __attribute__((alias(function), used))
void *malloc(size_t) SAME_AS("seep_small_malloc");
void *calloc(size_t, size_t) SAME_AS("seep_small_calloc");
void *realloc(void *, size_t) SAME_AS("seep_small_realloc");
void free(void *) SAME_AS("seep_small_free");
#endif
