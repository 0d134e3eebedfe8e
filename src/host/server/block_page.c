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

static bool is_of_one_size(uint32_t bucket) {
    return bucket < UINT32_C(1) << EXACT_SHIFT;
}

struct question {
    seep_server_blocks *blocks;
    const void *const *processes;
    size_t nr_processes;
    uint64_t process;
    uint64_t site; // 0: all
};

// Visits the blocks of each process in the question.
static struct seep_error *each_block(const struct question *question, seep_block_visit *visit, void *data,
                                     uint32_t *ret_process) {
    struct seep_error *error = NULL;
    for (size_t p = 0; !error && p < question->nr_processes; p++) {
        *ret_process = (uint32_t)p;
        if (!question->site || p == question->process)
            error = question->blocks(question->processes[p], visit, data);
    }
    return error;
}

static int compare(const void *left, const void *right) {
    const struct seep_server_block *a = left, *b = right;
    if (a->block.size != b->block.size)
        return a->block.size < b->block.size ? 1 : -1;
    if (a->process != b->process)
        return a->process > b->process ? 1 : -1;
    return a->block.address > b->block.address ? 1 : a->block.address < b->block.address ? -1 : 0;
}

struct count {
    const struct question *question;
    uint64_t *buckets;
    uint64_t nr_all;
    uint32_t process;
};

static bool count_block(void *data, const struct seep_block *block) {
    struct count *count = data;
    if (count->question->site && block->site != count->question->site)
        return true;
    count->buckets[bucket_of(block->size)]++;
    count->nr_all++;
    return true;
}

// The page may begin and end inside a bucket. The blocks of a bucket of one size come in the order of the
// page, so of such a bucket only the blocks of the page are collected.
struct collection {
    const struct question *question;
    uint32_t low, high;
    uint64_t skip;     // blocks before the page, the largest first
    uint64_t low_left; // of the lowest bucket, where it is of one size
    uint64_t nr;
    uint64_t most; // blocks that the first pass counted; the second keeps no more
    uint32_t process;
    struct seep_server_page *page;
    size_t capacity;
    bool failed;
};

static bool collect_block(void *data, const struct seep_block *block) {
    struct collection *collection = data;
    struct seep_server_page *page = collection->page;
    uint32_t bucket = bucket_of(block->size);
    if (bucket < collection->low || bucket > collection->high ||
        (collection->question->site && block->site != collection->question->site))
        return true;
    if (bucket == collection->high && is_of_one_size(bucket) && collection->skip) {
        collection->skip--;
        return true;
    }
    if (bucket == collection->low && is_of_one_size(bucket)) {
        if (!collection->low_left)
            return collection->low != collection->high;
        collection->low_left--;
    }
    if (page->nr_blocks == collection->most)
        return false;
    if (!seep_grow(&page->blocks, &collection->capacity, page->nr_blocks + 1, sizeof(*page->blocks))) {
        collection->failed = true;
        return false;
    }
    page->blocks[page->nr_blocks++] = (struct seep_server_block){*block, collection->process};
    return true;
}

static struct seep_error *collect(struct collection *collection) {
    struct seep_server_page *page = collection->page;
    struct seep_error *error =
        each_block(collection->question, collect_block, collection, &collection->process);
    if (!error && collection->failed)
        error = seep_error_no_memory();
    if (error)
        return error;
    if (page->nr_blocks)
        qsort(page->blocks, page->nr_blocks, sizeof(*page->blocks), compare);
    uint64_t skip = SEEP_MIN(collection->skip, (uint64_t)page->nr_blocks);
    page->nr_blocks = SEEP_MIN(page->nr_blocks - (size_t)skip, (size_t)collection->nr);
    for (size_t i = 0; i < page->nr_blocks; i++)
        page->blocks[i] = page->blocks[skip + i];
    return NULL;
}

struct seep_error *seep_server_page_make(seep_server_blocks *blocks, const void *const *processes,
                                         size_t nr_processes, uint64_t process, uint64_t site, uint64_t first,
                                         uint64_t nr, struct seep_server_page *ret_page) {
    struct question question = {blocks, processes, nr_processes, process, site};
    struct seep_server_page page = {NULL, 0, 0};
    struct count count = {.question = &question, .buckets = calloc(NR_BUCKETS, sizeof(*count.buckets))};
    struct seep_error *error =
        count.buckets ? each_block(&question, count_block, &count, &count.process) : seep_error_no_memory();
    if (error) {
        free(count.buckets);
        return error;
    }
    page.nr_all = count.nr_all;
    // The buckets, from the largest down, that the page reaches into.
    uint32_t high = NR_BUCKETS, low = 0;
    uint64_t before = 0;
    nr = first < page.nr_all ? SEEP_MIN(nr, page.nr_all - first) : 0;
    while (high > 0 && before + count.buckets[high - 1] <= first)
        before += count.buckets[--high];
    uint64_t end = before, above_low = before;
    for (low = high; low > 0 && end < first + nr;) {
        above_low = end;
        end += count.buckets[--low];
    }
    free(count.buckets);
    if (nr && high) {
        struct collection collection = {.question = &question,
                                        .low = low,
                                        .high = high - 1,
                                        .skip = first - before,
                                        .low_left = first + nr - SEEP_MAX(above_low, first),
                                        .nr = nr,
                                        .most = end - before,
                                        .page = &page};
        error = collect(&collection);
    }
    if (error) {
        free(page.blocks);
        return error;
    }
    *ret_page = page;
    return NULL;
}
