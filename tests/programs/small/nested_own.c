// SPDX-License-Identifier: BSD-2-Clause
// An allocator whose functions call one another by name, some with a header before the block. A double free, or a free
// of a foreign block, ends the process. POOL: its memory is an array of its own. Thread-safe: `seep run`, which it is
// preloaded into as well, has threads.
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void *memalign(size_t, size_t);

struct head {
    void *within; // the block that this one lies in
    uint32_t size;
    uint32_t state;
};
enum { LIVE = 0x11fe, FREE = 0xf4ee };

#ifdef POOL
static _Alignas(16) char memory[1 << 20];
enum { ROOM = sizeof(memory) };
#else
static char *memory;
enum { ROOM = 64 << 20 };
#endif
static size_t used;

static struct head *head_of(void *block) {
    struct head *head = (struct head *)block - 1;
    if (head->state != LIVE)
        abort();
    return head;
}

void *malloc(size_t size) {
#ifndef POOL
    if (!memory) // the process has one thread yet: the loader allocates first
        memory = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
#endif
    size_t taken = (size + sizeof(struct head) + 15) & ~(size_t)15;
    size_t start = size < ROOM ? __atomic_fetch_add(&used, taken, __ATOMIC_RELAXED) : ROOM;
    if (start + taken >= ROOM) {
        errno = ENOMEM;
        return NULL;
    }
    struct head *head = (struct head *)(memory + start);
    *head = (struct head){NULL, (uint32_t)size, LIVE};
    return head + 1;
}

void free(void *block) {
    if (!block)
        return;
    struct head *head = head_of(block);
    head->state = FREE;
    if (head->within)
        free(head->within);
}

void *calloc(size_t count, size_t size) {
    void *block = malloc(count * size);
    return block ? memset(block, 0, count * size) : NULL;
}

void *memalign(size_t alignment, size_t size) {
    char *within = malloc(size + alignment + sizeof(struct head));
    if (!within)
        return NULL;
    void *block = (void *)(((uintptr_t)within + sizeof(struct head) + alignment - 1) & -alignment);
    ((struct head *)block)[-1] = (struct head){within, (uint32_t)size, LIVE};
    return block;
}

int posix_memalign(void **ret, size_t alignment, size_t size) {
    *ret = memalign(alignment, size);
    return *ret ? 0 : ENOMEM;
}

void *aligned_alloc(size_t alignment, size_t size) {
    return memalign(alignment, size);
}

void *valloc(size_t size) {
    return aligned_alloc(4096, size);
}

void *pvalloc(size_t size) {
    return valloc((size + 4095) & -(size_t)4096);
}

void *realloc(void *block, size_t size) {
    if (!block)
        return malloc(size);
    if (!size) {
        free(block);
        return NULL;
    }
    void *fresh = malloc(size);
    if (!fresh)
        return NULL;
    uint32_t before = head_of(block)->size;
    memcpy(fresh, block, before < size ? before : size);
    free(block);
    return fresh;
}

void *reallocarray(void *block, size_t count, size_t size) {
    return realloc(block, count * size);
}

#ifndef NO_OPERATORS
// operator new and delete; those of arrays have a header.
void *_Znwm(size_t size) {
    return malloc(size);
}

void _ZdlPv(void *block) {
    free(block);
}

void *_Znam(size_t size) {
    return (char *)malloc(size + 32) + 32;
}

void _ZdaPv(void *block) {
    if (block)
        free((char *)block - 32);
}
#endif
