// SPDX-License-Identifier: BSD-2-Clause
// An allocator whose functions call one another by name, some with a header before the block. A double free, or a free
// of a foreign block, ends the process. A realloc to 4242 bytes raises SIGUSR1. POOL: its memory is an array of its own. Thread-safe: `seep run`, which it is
// preloaded into as well, has threads.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void *memalign(size_t, size_t);
void *valloc(size_t);

#ifdef BY_DLSYM // a handle
#define INNER(name) ((__typeof__(&name))dlsym(BY_DLSYM, #name))
#else
#define INNER(name) name
#endif

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
        INNER(free)(head->within);
}

void *calloc(size_t count, size_t size) {
    void *block = INNER(malloc)(count * size);
    return block ? memset(block, 0, count * size) : NULL;
}

void *memalign(size_t alignment, size_t size) {
    char *within = INNER(malloc)(size + alignment + sizeof(struct head));
    if (!within)
        return NULL;
    void *block = (void *)(((uintptr_t)within + sizeof(struct head) + alignment - 1) & -alignment);
    ((struct head *)block)[-1] = (struct head){within, (uint32_t)size, LIVE};
    return block;
}

int posix_memalign(void **ret, size_t alignment, size_t size) {
    *ret = INNER(memalign)(alignment, size);
    return *ret ? 0 : ENOMEM;
}

void *aligned_alloc(size_t alignment, size_t size) {
    return INNER(memalign)(alignment, size);
}

void *valloc(size_t size) {
    return INNER(aligned_alloc)(4096, size);
}

void *pvalloc(size_t size) {
    return INNER(valloc)((size + 4095) & -(size_t)4096);
}

void *realloc(void *block, size_t size) {
    if (!block)
        return INNER(malloc)(size);
    if (!size) {
        INNER(free)(block);
        return NULL;
    }
    if (size == 4242)
        raise(SIGUSR1);
    void *fresh = INNER(malloc)(size);
    if (!fresh)
        return NULL;
    uint32_t before = head_of(block)->size;
    memcpy(fresh, block, before < size ? before : size);
    INNER(free)(block);
    return fresh;
}

void *reallocarray(void *block, size_t count, size_t size) {
    return INNER(realloc)(block, count * size);
}

#ifndef NO_OPERATORS
// operator new and delete; those of arrays have a header.
void *_Znwm(size_t size) {
    return INNER(malloc)(size);
}

void _ZdlPv(void *block) {
    INNER(free)(block);
}

void *_Znam(size_t size) {
    return (char *)INNER(malloc)(size + 32) + 32;
}

void _ZdaPv(void *block) {
    if (block)
        INNER(free)((char *)block - 32);
}
#endif
