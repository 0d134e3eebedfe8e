// SPDX-License-Identifier: BSD-2-Clause
// Slices as in GLib: pages from an aligned allocation with their header at the end, chunks that hold the
// links of the free list, and magazines: chains of chains.
#include "corpus.h"

enum { PAGE = 4096, CHUNK = 64, NR = 60 };

struct chunk {
    struct chunk *next, *magazine;
};

struct page_info {
    struct chunk *free;
    struct page_info *next, *previous;
    unsigned nr_allocated;
};

struct page_info *pages;
struct chunk *magazine;
struct chunk *in_use;

static NOINLINE void add_page(void) {
    void *memory;
    if (posix_memalign(&memory, PAGE, PAGE))
        _exit(3);
    memset(memory, 0, PAGE);
    struct page_info *info = (struct page_info *)((char *)memory + PAGE - sizeof(*info));
    for (int i = NR - 1; i >= 0; i--) {
        struct chunk *chunk = (struct chunk *)((char *)memory + i * CHUNK);
        chunk->next = info->free;
        info->free = chunk;
    }
    info->next = pages;
    if (pages)
        pages->previous = info;
    pages = info;
}

static NOINLINE struct chunk *take(void) {
    struct chunk *chunk = pages->free;
    pages->free = chunk->next;
    chunk->next = NULL;
    return chunk;
}

static void build(void) {
    add_page(); // EXPECT: reachable
    // VALGRIND: possible: it does not know that the start is found from any address
    in_use = (struct chunk *)make(16); // EXPECT: reachable
    for (int i = 0; i < 3; i++)
        take();
    in_use->next = take();
    in_use->next->magazine = (struct chunk *)make(80); // EXPECT: reachable
    // VALGRIND: possible: as above
}

static void chunks_of_malloc(void) {
    for (int i = 0; i < 4; i++) {
        struct chunk *chunk = (struct chunk *)make(CHUNK); // EXPECT: 4 reachable
        chunk->magazine = magazine;
        magazine = chunk;
    }
}

char *inside;

// Aligned for another reason: an allocator of slabs would have taken the rest, too.
static NOINLINE void no_slab(void) {
    void *memory;
    if (posix_memalign(&memory, PAGE, PAGE / 2 + 200)) // EXPECT: possible
        _exit(3);
    memset(memory, 0, PAGE / 2 + 200);
    inside = (char *)memory + 1000;
}

int main(void) {
    play(build);
    play(no_slab);
    play(chunks_of_malloc);
    park();
}
