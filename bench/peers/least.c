// SPDX-License-Identifier: BSD-2-Clause
//
// The least that a tracer does which knows the whole stack of each allocation and what is live, and does not
// change the program: it looks whether the return addresses on the stack are those of last time, writes what
// it must know of the block into a table, and counts, by site, blocks and bytes in and out. All of it without
// what a tool needs beside: one thread, one stack, no signals, no forks, no peaks, no other allocator. A
// bound, not a product.
#include <dlfcn.h>
#include <execinfo.h>
#include <stddef.h>
#include <stdint.h>

enum { AGAIN = 1 << 16, WORDS_MAX = 512, FRAME_WORDS_MAX = 64, ENTRIES = 1 << 20 };

static void *(*real_malloc)(size_t);
static void (*real_free)(void *);
static struct word {
    const uint64_t *at;
    uint64_t value;
} words[WORDS_MAX + 4];
static struct word *end_of_words = words; // a multiple of four
static uint64_t frame;
static uint64_t table[ENTRIES]; // of 32 bytes of heap each: the block's size and one bit that it is there
static struct { uint64_t allocations, allocated, frees, freed, others; } site;

__attribute__((constructor)) static void find_real(void) {
    *(void **)&real_malloc = dlsym(RTLD_NEXT, "malloc");
    *(void **)&real_free = dlsym(RTLD_NEXT, "free");
}

// The words of the stack, from the hook's frame outward, that its callers return through.
static __attribute__((noinline)) void learn(uint64_t *from) {
    void *pcs[WORDS_MAX];
    int nr_pcs = backtrace(pcs, WORDS_MAX);
    const uint64_t *at = from;
    size_t nr = 0;
    for (int i = 2; i < nr_pcs; i++) { // the first two are this function and the hook
        const uint64_t *found = at;
        while (found < at + FRAME_WORDS_MAX && *found != (uint64_t)pcs[i])
            found++;
        if (*found != (uint64_t)pcs[i])
            break; // the end of the stack
        words[nr++] = (struct word){found, *found};
        at = found + 1;
    }
    for (; nr % 4; nr++)
        words[nr] = words[0];
    end_of_words = words + nr;
    frame = (uint64_t)from;
}

static uint64_t *entry_of(const void *block) {
    return &table[(uint64_t)block >> 5 & (ENTRIES - 1)];
}

static int is_known(uint64_t here) {
    if (here != frame)
        return 0;
    for (const struct word *word = words; word != end_of_words; word += 4)
        if (__atomic_load_n(word[0].at, __ATOMIC_RELAXED) != word[0].value ||
            __atomic_load_n(word[1].at, __ATOMIC_RELAXED) != word[1].value ||
            __atomic_load_n(word[2].at, __ATOMIC_RELAXED) != word[2].value ||
            __atomic_load_n(word[3].at, __ATOMIC_RELAXED) != word[3].value)
            return 0;
    return 1;
}

void *malloc(size_t size) {
    if (__builtin_expect(!real_malloc, 0))
        find_real();
    void *block = real_malloc(size);
    uint64_t *here = (uint64_t *)__builtin_frame_address(0);
    if (__builtin_expect(!is_known((uint64_t)here), 0)) {
        if (++site.others % AGAIN == 0)
            learn(here);
        return block;
    }
    *entry_of(block) = size << 1 | 1;
    site.allocations++;
    site.allocated += size;
    return block;
}

void free(void *block) {
    if (__builtin_expect(!real_free, 0))
        find_real();
    uint64_t entry = *entry_of(block);
    if (__builtin_expect(entry != 0, 1)) {
        site.frees++;
        site.freed += entry >> 1;
        *entry_of(block) = 0;
    }
    real_free(block);
}

#ifdef SHOW
#include <stdio.h>
__attribute__((destructor)) static void show(void) {
    fprintf(stderr, "%td words; %lu allocations, %lu frees, %lu others\n", end_of_words - words,
            site.allocations, site.frees, site.others);
}
#endif
