// SPDX-License-Identifier: BSD-2-Clause
// The list of cached stacks, see cached_stacks.h.
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "scan/cached_stacks.h"

#define CONTROL_WORDS 1024 // that are looked at on each side of a thread pointer, or behind the links
#define LIST_MAX      65536
#define NEAR_BYTES    64 // between the heads of two lists
#define PAGE_BYTES    4096u
#define SIZE_ALIGN    16u // of a stack: glibc aligns it as it aligns thread-local storage

// Two links, and the thread id behind them.
struct node {
    uint64_t next;
    uint64_t previous;
    int32_t tid;
};

void seep_cached_stacks_deinit(struct seep_cached_stacks *stacks) {
    free(stacks->items);
    *stacks = (struct seep_cached_stacks){NULL, 0, 0};
}

static size_t node_bytes(const struct seep_memory *memory) {
    return 2 * memory->word_bytes + sizeof(uint64_t);
}

static struct node node_at(const struct seep_memory *memory, const char *bytes) {
    const unsigned word = memory->word_bytes;
    return (struct node){.next = seep_word_at(bytes, word),
                         .previous = seep_word_at(bytes + word, word),
                         .tid = (int32_t)seep_word_at(bytes + 2 * word, sizeof(int32_t))};
}

static bool read_node(const struct seep_memory *memory, uint64_t address, struct node *ret_node) {
    char bytes[sizeof(struct node)];
    if (!address || address % memory->word_bytes ||
        !seep_memory_read(memory, address, bytes, node_bytes(memory)))
        return false;
    *ret_node = node_at(memory, bytes);
    return true;
}

// Whether both neighbours of `node` know it.
static bool is_linked(const struct seep_memory *memory, uint64_t address, const struct node *node) {
    struct node neighbour;
    return read_node(memory, node->next, &neighbour) && neighbour.previous == address &&
           read_node(memory, node->previous, &neighbour) && neighbour.next == address;
}

// The links in the control block of `thread`; 0: not found.
static uint64_t find_links(const struct seep_memory *memory, const struct seep_stopped_thread *thread) {
    uint64_t from = thread->tls - SEEP_MIN(thread->tls, (uint64_t)CONTROL_WORDS * 8);
    // Page by page: the next one may not be mapped.
    for (uint64_t at = from & ~(uint64_t)(PAGE_BYTES - 1); at < thread->tls + CONTROL_WORDS * 8;
         at += PAGE_BYTES) {
        char page[PAGE_BYTES + sizeof(struct node)];
        size_t nr_bytes = PAGE_BYTES + node_bytes(memory);
        if (!seep_memory_read(memory, at, page, nr_bytes)) {
            nr_bytes = PAGE_BYTES; // the last one
            if (!seep_memory_read(memory, at, page, nr_bytes))
                continue;
        }
        for (size_t off = 0; off + node_bytes(memory) <= nr_bytes; off += memory->word_bytes) {
            struct node node = node_at(memory, page + off);
            if (node.tid == thread->own_tid && is_linked(memory, at + off, &node))
                return at + off;
        }
    }
    return 0;
}

// The first element of the list that is no control block: it lies in data of the loader or of libc.
static uint64_t find_head(const struct seep_memory *memory, uint64_t at) {
    for (int i = 0; i < LIST_MAX; i++) {
        const struct seep_memory_area *mapping = seep_memory_find(memory, at);
        if (!mapping)
            return 0;
        if (mapping->path[0] == '/')
            return at;
        struct node node;
        if (!read_node(memory, at, &node))
            return 0;
        at = node.next;
    }
    return 0;
}

// What the thread returned, where it can still be joined: pthread_join sets the thread id to -1, and a
// detached thread has itself in `joinid`. Source: struct pthread: joinid, result, two ints, start_routine.
static void find_result(const struct seep_memory *memory, uint64_t links, const uint64_t *words, size_t nr,
                        struct seep_cached_stack *stack) {
    enum { LINKS_WORDS = 3 };
    int32_t tid = (int32_t)words[2];
    const size_t back = 1 + 2 * sizeof(int32_t) / memory->word_bytes; // from start_routine to result
    for (size_t i = LINKS_WORDS + 1 + back; tid == 0 && i < nr; i++) {
        const struct seep_memory_area *code = words[i] ? seep_memory_find(memory, words[i]) : NULL;
        if (!code || !code->executable)
            continue;
        if (words[i - back - 1] != stack->tls) {
            stack->result = words[i - back];
            stack->result_rt = links + (i - back) * memory->word_bytes;
        }
        return;
    }
}

// A control block knows its stack: start, size with the guard, size of the guard.
static bool add_stack(const struct seep_memory *memory, uint64_t links, uint64_t tls,
                      struct seep_cached_stacks *stacks) {
    const struct seep_memory_area *mapping = seep_memory_find(memory, links);
    uint64_t words[CONTROL_WORDS];
    size_t nr = mapping ? CONTROL_WORDS : 0;
    while (nr >= 8 && !seep_memory_read_words(memory, links, words, nr))
        nr /= 2;
    for (size_t i = 0; i + 2 < nr; i++) {
        uint64_t start = words[i], size = words[i + 1], guard = words[i + 2];
        if (!start || (start | guard) % PAGE_BYTES || size % SIZE_ALIGN || links < start ||
            links - start >= size || size > mapping->end - start || guard >= size)
            continue;
        if (!seep_grow(&stacks->items, &stacks->capacity, stacks->nr_items + 1, sizeof(*stacks->items)))
            return false;
        struct seep_cached_stack *stack = &stacks->items[stacks->nr_items++];
        *stack = (struct seep_cached_stack){start + guard, start + size, tls, 0, 0};
        find_result(memory, links, words, i, stack);
        return true;
    }
    return true;
}

static bool is_running(const struct seep_stopped *stopped, int32_t tid) {
    for (size_t i = 0; i < stopped->nr_threads; i++)
        if (stopped->threads[i].own_tid == tid)
            return true;
    return false;
}

// Adds the stacks of the control blocks without a thread in the list at `head`. A thread id that no thread
// here has ends the walk, because the list is then not one of control blocks. false: out of memory.
static bool add_list(const struct seep_memory *memory, const struct seep_stopped *stopped, uint64_t head,
                     uint64_t links_to_tls, unsigned *nr_left, struct seep_cached_stacks *stacks) {
    struct node node;
    if (!read_node(memory, head, &node) || node.next == head || !is_linked(memory, head, &node))
        return true;
    uint64_t at = node.next;
    for (; *nr_left && at != head; --*nr_left) {
        const struct seep_memory_area *mapping = seep_memory_find(memory, at);
        if (!mapping || mapping->path[0] == '/' || !read_node(memory, at, &node) ||
            (node.tid > 0 && !is_running(stopped, node.tid)))
            return true;
        if (node.tid <= 0 && !add_stack(memory, at, at + links_to_tls, stacks))
            return false;
        at = node.next;
    }
    return true;
}

bool seep_cached_stacks_find(const struct seep_memory *memory, const struct seep_stopped *stopped,
                             struct seep_cached_stacks *ret_stacks) {
    struct seep_cached_stacks stacks = {NULL, 0, 0};
    uint64_t links = 0, tls = 0;
    unsigned nr_left = LIST_MAX; // entries, of all lists together
    for (size_t i = 0; i < stopped->nr_threads && !links; i++) {
        tls = stopped->threads[i].tls;
        links = tls ? find_links(memory, &stopped->threads[i]) : 0;
    }
    uint64_t head = links ? find_head(memory, links) : 0;
    for (uint64_t at = head - NEAR_BYTES; head > NEAR_BYTES && at <= head + NEAR_BYTES;
         at += 2 * memory->word_bytes) {
        if (!add_list(memory, stopped, at, tls - links, &nr_left, &stacks)) {
            seep_cached_stacks_deinit(&stacks);
            return false;
        }
    }
    *ret_stacks = stacks;
    return true;
}
