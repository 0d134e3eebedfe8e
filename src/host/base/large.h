// SPDX-License-Identifier: BSD-2-Clause
//
// Large arrays that are read here and there: in huge pages, where the kernel has them, most of the time that
// such reads take goes away.
#ifndef SEEP_BASE_LARGE_H
#define SEEP_BASE_LARGE_H

#include "core/attr.h"

#define SEEP_LARGE_BYTES ((size_t)1 << 20) // below this it is plain memory

// Not zeroed; at least one byte. NULL: out of memory, or the product overflows.
SEEP_MUST_CHECK void *seep_large_alloc(size_t count, size_t size);

// Asks the kernel for huge pages for what has not been touched yet of the memory: one page fault in place of
// 512. The memory will be written as a whole, so it takes no more. Does nothing for small memory.
void seep_large_advise(void *memory, size_t nr_bytes);

// `array` is the address of a pointer to malloc'ed elements: room for half as many more, not zeroed. false:
// out of memory, and the array is as it was.
SEEP_MUST_CHECK bool seep_large_grow(void *array, size_t *capacity, size_t element_bytes);

// Zeroed, by the kernel, and of as many bytes as are asked for rounded up to whole huge pages, which
// *nr_bytes is then. _unmap frees it. NULL: out of memory.
SEEP_MUST_CHECK void *seep_large_map(size_t *nr_bytes);
void seep_large_unmap(void *memory, size_t nr_bytes);

// What is freed serves the next array, too, below 32 MiB, and up to 16 MiB that are free at the end of
// glibc's memory are kept: it returns more than 128 KiB, and the kernel has to clear them anew. Once, before
// there are threads.
void seep_large_reuse(void);

// For a command that makes one large thing after the other and ends: what is freed from now on serves the
// next array, where otherwise the kernel would take it back and clear as much again. Once, before there are
// threads.
void seep_large_keep(void);

#endif
