// SPDX-License-Identifier: BSD-2-Clause
// Extents, lookup and the areas; where the bytes come from is image_source.c.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/large.h"
#include "base/map.h"
#include "base/search.h"
#include "source/image/image_copy.h"

// Not const: constants are in the file of the program.
static unsigned char zero_page[SEEP_IMAGE_PAGE];

struct seep_error *seep_image_copy_create(struct seep_image_copy **ret_copy) {
    struct seep_image_copy *copy = calloc(1, sizeof(*copy));
    if (!copy)
        return seep_error_no_memory();
    *ret_copy = copy;
    return NULL;
}

void seep_image_copy_destroy(struct seep_image_copy *copy) {
    if (!copy)
        return;
    seep_arena_deinit(&copy->arena);
    free(copy->room);
    free(copy->extents);
    free(copy);
}

struct seep_error *seep_image_copy_borrow(struct seep_image_copy *copy, uint64_t off,
                                          const unsigned char *bytes, size_t nr_bytes) {
    if (!nr_bytes)
        return NULL;
    struct seep_image_extent *last = copy->nr_extents ? &copy->extents[copy->nr_extents - 1] : NULL;
    copy->data_bytes += nr_bytes;
    if (last && last->off + last->nr_bytes == off && last->bytes + last->nr_bytes == bytes) {
        last->nr_bytes += nr_bytes;
        return NULL;
    }
    if (!seep_grow(&copy->extents, &copy->capacity, copy->nr_extents + 1, sizeof(*copy->extents)))
        return seep_error_no_memory();
    copy->extents[copy->nr_extents++] = (struct seep_image_extent){off, nr_bytes, bytes};
    return NULL;
}

void seep_image_copy_reserve(struct seep_image_copy *copy, uint64_t nr_bytes) {
    if (copy->room || nr_bytes < SEEP_LARGE_BYTES || nr_bytes > SIZE_MAX)
        return;
    copy->room = seep_large_alloc((size_t)nr_bytes, 1);
    copy->room_bytes = copy->room ? (size_t)nr_bytes : 0;
}

static unsigned char *take_room(struct seep_image_copy *copy, size_t nr_bytes) {
    if (copy->room_bytes - copy->room_used < nr_bytes)
        return seep_arena_alloc(&copy->arena, nr_bytes, 1);
    copy->room_used += nr_bytes;
    return copy->room + copy->room_used - nr_bytes;
}

struct seep_error *seep_image_copy_append(struct seep_image_copy *copy, uint64_t off, size_t nr_bytes,
                                          unsigned char **ret_bytes) {
    unsigned char *bytes = take_room(copy, nr_bytes);
    if (!bytes)
        return seep_error_no_memory();
    struct seep_error *err = seep_image_copy_borrow(copy, off, bytes, nr_bytes);
    if (err)
        return err;
    *ret_bytes = bytes;
    return NULL;
}

struct seep_error *seep_image_copy_note(struct seep_image_copy *copy, enum seep_note_code code,
                                        const char *format, ...) {
    va_list args;
    va_start(args, format);
    struct seep_error *err = seep_note_add(&copy->arena, &copy->notes, &copy->nr_notes, code, format, args);
    va_end(args);
    return err;
}

// Index of the first extent that ends after `off`.
static size_t find_extent(const struct seep_image_copy *copy, uint64_t off) {
    return SEEP_FIRST_WHERE(at, copy->nr_extents, copy->extents[at].off + copy->extents[at].nr_bytes > off);
}

size_t seep_image_next(const struct seep_image_copy *copy, uint64_t *at, uint64_t end,
                       const unsigned char **ret_bytes) {
    size_t i = find_extent(copy, *at);
    if (i == copy->nr_extents || *at >= end)
        return 0;
    const struct seep_image_extent *extent = &copy->extents[i];
    uint64_t start = SEEP_MAX(*at, extent->off);
    uint64_t stop = SEEP_MIN(end, extent->off + extent->nr_bytes);
    if (start >= stop)
        return 0;
    *ret_bytes = extent->bytes + (start - extent->off);
    *at = start;
    return stop - start;
}

void seep_image_read(const struct seep_image_copy *copy, uint64_t off, void *ret_bytes, size_t nr_bytes) {
    const unsigned char *bytes;
    uint64_t at = off, end;
    bool fits = !__builtin_add_overflow(off, nr_bytes, &end);
    size_t nr = fits ? seep_image_next(copy, &at, end, &bytes) : 0;
    if (nr < nr_bytes)
        memset(ret_bytes, 0, nr_bytes);
    for (; nr; at += nr, nr = at < end ? seep_image_next(copy, &at, end, &bytes) : 0)
        memcpy((char *)ret_bytes + (at - off), bytes, nr);
}

const unsigned char *seep_image_bytes(const struct seep_image_copy *copy, uint64_t off, size_t nr_bytes) {
    uint64_t end;
    if (__builtin_add_overflow(off, nr_bytes, &end))
        return NULL;
    const unsigned char *bytes;
    uint64_t at = off;
    size_t nr = seep_image_next(copy, &at, end, &bytes);
    if (!nr)
        return nr_bytes <= sizeof(zero_page) ? zero_page : NULL;
    return nr == nr_bytes ? bytes : NULL;
}

uint64_t seep_image_dense(const struct seep_image_copy *copy, uint64_t off, uint64_t nr_bytes) {
    uint64_t end;
    if (__builtin_add_overflow(off, nr_bytes, &end))
        return 0;
    uint64_t at = off;
    for (size_t i = find_extent(copy, off); i < copy->nr_extents && at < end; i++) {
        if (copy->extents[i].off > at)
            break;
        at = copy->extents[i].off + copy->extents[i].nr_bytes;
    }
    return SEEP_MIN(at, end) - off;
}

void seep_image_element(const struct seep_image_copy *copy, enum seep_area_kind kind, uint64_t i,
                        void *ret_element) {
    unsigned char bytes[SEEP_IMAGE_ELEMENT_MOST];
    const struct seep_image_area *area = &copy->head.header.areas[kind];
    seep_image_read(copy, area->off + i * area->element_bytes, bytes, seep_image_element_least(kind));
    seep_image_element_decode(&copy->head, kind, bytes, ret_element);
}

uint32_t seep_image_number32(const struct seep_image_copy *copy, uint64_t off) {
    unsigned char bytes[sizeof(uint32_t)];
    seep_image_read(copy, off, bytes, sizeof(bytes));
    return seep_image_u32(&copy->head, bytes);
}

uint64_t seep_image_number64(const struct seep_image_copy *copy, uint64_t off) {
    unsigned char bytes[sizeof(uint64_t)];
    seep_image_read(copy, off, bytes, sizeof(bytes));
    return seep_image_u64(&copy->head, bytes);
}

void seep_image_losses(const struct seep_image_copy *copy, uint64_t ret_lost[SEEP_LOST_NR]) {
    memcpy(ret_lost, copy->head.header.lost, sizeof(copy->head.header.lost));
    const struct seep_image_area *area = &copy->head.header.areas[SEEP_AREA_LOSSES];
    uint64_t there = seep_image_dense(copy, area->off, area->used * sizeof(uint64_t)) / sizeof(uint64_t);
    for (uint64_t i = 0; i < there; i++)
        ret_lost[SEEP_MIN(i, (uint64_t)SEEP_LOST_NR - 1)] += seep_image_number64(copy, area->off + i * 8);
}

static int compare_extents(const void *left, const void *right) {
    const struct seep_image_extent *a = left;
    const struct seep_image_extent *b = right;
    return (a->off > b->off) - (a->off < b->off);
}

struct seep_error *seep_image_copy_finish(struct seep_image_copy *copy, const char *name) {
    if (copy->nr_extents)
        qsort(copy->extents, copy->nr_extents, sizeof(*copy->extents), compare_extents);
    for (size_t i = 1; i < copy->nr_extents; i++)
        if (copy->extents[i].off < copy->extents[i - 1].off + copy->extents[i - 1].nr_bytes)
            return seep_error_create(SEEP_E_FORMAT, "%s: two pieces of the image at offset %llu", name,
                                     (unsigned long long)copy->extents[i].off);
    unsigned char page[SEEP_IMAGE_PAGE];
    seep_image_read(copy, 0, page, sizeof(page));
    return seep_image_head_decode(page, sizeof(page), name, &copy->head);
}
