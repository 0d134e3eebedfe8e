// SPDX-License-Identifier: BSD-2-Clause
//
// An arena: memory that is freed all at once. One per loaded profile. Not thread-safe.
// Every function that returns NULL is out of memory.
#ifndef SEEP_BASE_ARENA_H
#define SEEP_BASE_ARENA_H

#include "core/attr.h"

// Memory that is freed at once. Not for several threads.
struct seep_arena_chunk;
struct seep_arena {
    struct seep_arena_chunk *chunks;
    struct seep_arena *from; // borrowed: its memory is of that one, and ends with that; NULL: malloc'ed
};

// An empty one, which holds no memory. _deinit frees all that came from it, unless it is `from` another.
#define SEEP_ARENA_INIT                                                                                      \
    { NULL, NULL }
void seep_arena_deinit(struct seep_arena *arena);

// Zeroed, aligned to 16. `count * size` may not overflow: then NULL.
SEEP_MUST_CHECK void *seep_arena_alloc(struct seep_arena *arena, size_t count, size_t size);
SEEP_MUST_CHECK char *seep_arena_strdup(struct seep_arena *arena, const char *text);
SEEP_MUST_CHECK char *seep_arena_strndup(struct seep_arena *arena, const char *text, size_t length);
SEEP_MUST_CHECK SEEP_PRINTF(2, 3) char *seep_arena_printf(struct seep_arena *arena, const char *format, ...);

// Room for `more` elements behind the `nr` of the array *array, which has always grown by this function. It
// doubles, so that as many bytes are given up as it has at the end. false: out of memory, nothing changed.
SEEP_MUST_CHECK bool seep_arena_more(struct seep_arena *arena, void *array_of_any, size_t nr, size_t more,
                                     size_t element_bytes);

#endif
