// SPDX-License-Identifier: BSD-2-Clause
// An arena of growing chunks, see arena.h.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/large.h"

// Small, and growing slowly: a session may have thousands of profiles with an arena each.
#define FIRST_BYTES ((size_t)512)

struct seep_arena_chunk {
    struct seep_arena_chunk *next;
    size_t used_bytes;
    size_t size_bytes;
    size_t mapped_bytes; // of all of it; 0: malloc'ed
    char data[];         // aligned to 16
};

void seep_arena_deinit(struct seep_arena *arena) {
    struct seep_arena_chunk *chunk = arena->from ? NULL : arena->chunks;
    while (chunk) {
        struct seep_arena_chunk *next = chunk->next;
        if (chunk->mapped_bytes)
            seep_large_unmap(chunk, chunk->mapped_bytes);
        else
            free(chunk);
        chunk = next;
    }
    arena->chunks = NULL;
}

static struct seep_arena_chunk *new_chunk(struct seep_arena *from, size_t room) {
    size_t bytes = sizeof(struct seep_arena_chunk) + room;
    bool mapped = !from && bytes >= SEEP_LARGE_BYTES;
    struct seep_arena_chunk *fresh = from     ? seep_arena_alloc(from, 1, bytes)
                                     : mapped ? seep_large_map(&bytes)
                                              : calloc(1, bytes);
    if (!fresh)
        return NULL;
    fresh->size_bytes = bytes - sizeof(*fresh);
    fresh->mapped_bytes = mapped ? bytes : 0;
    return fresh;
}

// In the chunk at the head; what would use up most of a fresh one gets one of its size behind the head,
// whose room stays for what is small.
void *seep_arena_alloc(struct seep_arena *arena, size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 4)
        return NULL;
    bytes = (bytes + 15) & ~(size_t)15;
    struct seep_arena_chunk *chunk = arena->chunks;
    if (!chunk || chunk->size_bytes - chunk->used_bytes < bytes) {
        size_t next =
            chunk ? SEEP_MIN(chunk->size_bytes + chunk->size_bytes / 4, (size_t)1 << 20) : FIRST_BYTES;
        bool alone = chunk && bytes > next / 4;
        struct seep_arena_chunk *fresh = new_chunk(arena->from, alone ? bytes : SEEP_MAX(bytes, next));
        if (!fresh)
            return NULL;
        fresh->next = alone ? chunk->next : chunk;
        *(alone ? &chunk->next : &arena->chunks) = fresh;
        chunk = fresh;
    }
    void *memory = chunk->data + chunk->used_bytes;
    chunk->used_bytes += bytes;
    return memory;
}

char *seep_arena_strndup(struct seep_arena *arena, const char *text, size_t length) {
    char *copy = seep_arena_alloc(arena, length + 1, 1);
    if (copy)
        memcpy(copy, text, length);
    return copy;
}

char *seep_arena_strdup(struct seep_arena *arena, const char *text) {
    return seep_arena_strndup(arena, text, strlen(text));
}

char *seep_arena_printf(struct seep_arena *arena, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *text = NULL;
    int length = vasprintf(&text, format, args);
    va_end(args);
    if (length < 0)
        return NULL;
    char *copy = seep_arena_strndup(arena, text, (size_t)length);
    free(text);
    return copy;
}

// The capacity is not kept: it is the power of two at or above nr.
static size_t capacity_of(size_t nr) {
    size_t capacity = nr != 0;
    while (capacity && capacity < nr)
        capacity *= 2;
    return capacity;
}

bool seep_arena_more(struct seep_arena *arena, void *array_of_any, size_t nr, size_t more,
                     size_t element_bytes) {
    size_t need, capacity;
    if (__builtin_add_overflow(nr, more, &need) || need > SIZE_MAX / 2)
        return false;
    if ((capacity = capacity_of(need)) == capacity_of(nr))
        return true;
    void *array;
    memcpy(&array, array_of_any, sizeof(array));
    void *larger = seep_arena_alloc(arena, capacity, element_bytes);
    if (!larger)
        return false;
    if (nr)
        memcpy(larger, array, nr * element_bytes);
    memcpy(array_of_any, &larger, sizeof(larger));
    return true;
}
