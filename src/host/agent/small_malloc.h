// SPDX-License-Identifier: BSD-2-Clause
// The agent's own malloc, because musl's takes 6 KB. For one thread. Blocks of more than 16 KiB are mappings
// of their own. Freed smaller ones are kept for requests of the same size class, four classes to a doubling,
// and never go back to the kernel.
#ifndef SEEP_AGENT_SMALL_MALLOC_H
#define SEEP_AGENT_SMALL_MALLOC_H

#include <stddef.h>

/** Aligned as max_align_t. NULL and ENOMEM: there is no memory. */
void *seep_small_malloc(size_t nr_bytes);

/** Bytes that are 0. NULL and ENOMEM: there is no memory, or nr * bytes overflows. */
void *seep_small_calloc(size_t nr, size_t bytes);

/** On failure `block` stays as it is. */
void *seep_small_realloc(void *block, size_t nr_bytes);

/** Leaves errno as it is. */
void seep_small_free(void *block);

#endif
