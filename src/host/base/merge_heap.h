// SPDX-License-Identifier: BSD-2-Clause
//
// A heap of the numbers of streams that are merged: the stream with the least key is at the root.
// Source: J. W. J. Williams, "Algorithm 232: Heapsort", 1964.
#ifndef SEEP_BASE_MERGE_HEAP_H
#define SEEP_BASE_MERGE_HEAP_H

#include "core/attr.h"

// Restores the heap after the key of the stream at `at` has grown. `key_of` is inlined where it is a static
// function.
SEEP_INLINE void seep_merge_heap_sift_down(uint32_t *heap, size_t nr, size_t at,
                                           uint64_t (*key_of)(const void *streams, uint32_t stream),
                                           const void *streams) {
    for (;;) {
        size_t least = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < nr; child++)
            if (key_of(streams, heap[child]) < key_of(streams, heap[least]))
                least = child;
        if (least == at)
            return;
        uint32_t moved = heap[at];
        heap[at] = heap[least];
        heap[least] = moved;
        at = least;
    }
}

// Makes a heap of `nr` streams in any order.
SEEP_INLINE void seep_merge_heap_make(uint32_t *heap, size_t nr,
                                      uint64_t (*key_of)(const void *streams, uint32_t stream),
                                      const void *streams) {
    for (size_t i = nr / 2; i-- > 0;)
        seep_merge_heap_sift_down(heap, nr, i, key_of, streams);
}

#endif
