// SPDX-License-Identifier: BSD-2-Clause
// A page of the live blocks, see block_page.h.
#include <stdlib.h>

#include "base/map.h"
#include "server/block_page.h"

// Sizes below 2^EXACT_SHIFT have a bucket each; above there are 1,024 of them between a power of two and the
// next.
#define EXACT_SHIFT 11
#define STEP_SHIFT  10
#define NR_BUCKETS  ((UINT32_C(1) << EXACT_SHIFT) + ((64 - EXACT_SHIFT) << STEP_SHIFT))

static uint32_t bucket_of(uint64_t size) {
    if (size >> EXACT_SHIFT == 0)
        return (uint32_t)size;
    uint32_t bit = 63u - (uint32_t)__builtin_clzll(size);
    return (UINT32_C(1) << EXACT_SHIFT) + ((bit - EXACT_SHIFT) << STEP_SHIFT) +
           (uint32_t)(size >> (bit - STEP_SHIFT) & ((1u << STEP_SHIFT) - 1));
}

struct question {
    const struct seep_session *session;
    uint64_t process;
    uint64_t site; // 0: all
};

static bool is_asked(const struct question *question, size_t process, const struct seep_block *block) {
    return !question->site || (process == question->process && block->site == question->site);
}

static int compare(const void *left, const void *right) {
    const struct seep_server_block *a = left, *b = right;
    if (a->block->size != b->block->size)
        return a->block->size < b->block->size ? 1 : -1;
    if (a->process != b->process)
        return a->process > b->process ? 1 : -1;
    return a->block->address > b->block->address ? 1 : a->block->address < b->block->address ? -1 : 0;
}

// A bucket of one size needs no order: its blocks come in it. So what is collected of it are the asked ones
// only.
static struct seep_error *collect(const struct question *question, uint32_t low, uint32_t high, uint64_t skip,
                                  uint64_t nr, struct seep_server_page *page) {
    size_t capacity = 0;
    bool exact = low == high && low < UINT32_C(1) << EXACT_SHIFT;
    for (size_t p = 0; p < question->session->nr_profiles; p++) {
        const struct seep_profile *profile = question->session->profiles[p];
        for (size_t i = 0; i < profile->nr_blocks; i++) {
            const struct seep_block *block = &profile->blocks[i];
            uint32_t bucket = bucket_of(block->size);
            if (bucket < low || bucket > high || !is_asked(question, p, block))
                continue;
            if (exact && skip) {
                skip--;
                continue;
            }
            if (exact && page->nr_blocks == nr)
                return NULL;
            if (!seep_grow(&page->blocks, &capacity, page->nr_blocks + 1, sizeof(*page->blocks)))
                return seep_error_no_memory();
            page->blocks[page->nr_blocks++] = (struct seep_server_block){block, (uint32_t)p};
        }
    }
    if (exact)
        return NULL;
    if (page->nr_blocks)
        qsort(page->blocks, page->nr_blocks, sizeof(*page->blocks), compare);
    skip = SEEP_MIN(skip, (uint64_t)page->nr_blocks);
    page->nr_blocks = SEEP_MIN(page->nr_blocks - (size_t)skip, (size_t)nr);
    for (size_t i = 0; i < page->nr_blocks; i++)
        page->blocks[i] = page->blocks[skip + i];
    return NULL;
}

struct seep_error *seep_server_page_make(const struct seep_session *session, uint64_t process, uint64_t site,
                                         uint64_t first, uint64_t nr, struct seep_server_page *ret_page) {
    struct question question = {session, process, site};
    *ret_page = (struct seep_server_page){NULL, 0, 0};
    uint64_t *counts = calloc(NR_BUCKETS, sizeof(*counts));
    if (!counts)
        return seep_error_no_memory();
    for (size_t p = 0; p < session->nr_profiles; p++)
        for (size_t i = 0; i < session->profiles[p]->nr_blocks; i++)
            if (is_asked(&question, p, &session->profiles[p]->blocks[i])) {
                counts[bucket_of(session->profiles[p]->blocks[i].size)]++;
                ret_page->nr_all++;
            }
    // The buckets, from the largest down, that the page reaches into.
    uint32_t high = NR_BUCKETS, low = 0;
    uint64_t before = 0;
    nr = first < ret_page->nr_all ? SEEP_MIN(nr, ret_page->nr_all - first) : 0;
    while (high > 0 && before + counts[high - 1] <= first)
        before += counts[--high];
    uint64_t end = before;
    for (low = high; low > 0 && end < first + nr;)
        end += counts[--low];
    free(counts);
    if (!nr || !high)
        return NULL;
    struct seep_error *error = collect(&question, low, high - 1, first - before, nr, ret_page);
    if (error) {
        free(ret_page->blocks);
        ret_page->blocks = NULL;
    }
    return error;
}
