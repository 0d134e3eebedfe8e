// SPDX-License-Identifier: BSD-2-Clause
// Extents, lookup and the checks of the header; where the bytes come from is image_source.c.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/large.h"
#include "base/map.h"
#include "source/image/image_copy.h"

static const unsigned char zero_page[SEEP_POOL_PAGE];

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
    size_t low = 0;
    size_t high = copy->nr_extents;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct seep_image_extent *extent = &copy->extents[middle];
        if (extent->off + extent->nr_bytes <= off)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
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
    memset(ret_bytes, 0, nr_bytes);
    uint64_t end;
    if (__builtin_add_overflow(off, nr_bytes, &end))
        return;
    const unsigned char *bytes;
    size_t nr;
    for (uint64_t at = off; (nr = seep_image_next(copy, &at, end, &bytes)); at += nr)
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

size_t seep_image_element_bytes(enum seep_area_kind kind) {
    switch (kind) {
    case SEEP_AREA_STRINGS:
        return 1;
    case SEEP_AREA_MODULES:
        return sizeof(struct seep_image_module);
    case SEEP_AREA_NODES:
        return sizeof(struct seep_image_node);
    case SEEP_AREA_SITES:
        return sizeof(struct seep_image_site);
    case SEEP_AREA_THREADS:
        return sizeof(struct seep_image_thread);
    case SEEP_AREA_ODD:
        return sizeof(struct seep_image_odd);
    case SEEP_AREA_DIR:
        return sizeof(uint32_t);
    case SEEP_AREA_POOL:
        return SEEP_POOL_PAGE;
    case SEEP_AREA_MAPPINGS:
        return sizeof(struct seep_image_mapping);
    case SEEP_AREA_MAP_SITES:
        return sizeof(struct seep_image_map_site);
    case SEEP_AREA_MISUSES:
        return sizeof(struct seep_image_misuse);
    case SEEP_AREA_CUSTOM_POOLS:
        return sizeof(struct seep_image_custom_pool);
    case SEEP_AREA_PIECES:
        return sizeof(struct seep_image_piece);
    case SEEP_AREA_REGIONS:
        return sizeof(struct seep_image_region);
    case SEEP_AREA_MARKS:
    case SEEP_AREA_TOOL_MARKS:
        return 1;
    case SEEP_AREA_NR:
        break;
    }
    return 1;
}

const char *seep_image_area_name(enum seep_area_kind kind) {
    static const char *const names[SEEP_AREA_NR] = {
        [SEEP_AREA_STRINGS] = "strings",   [SEEP_AREA_MODULES] = "modules",
        [SEEP_AREA_NODES] = "nodes",       [SEEP_AREA_SITES] = "sites",
        [SEEP_AREA_THREADS] = "threads",   [SEEP_AREA_ODD] = "odd blocks",
        [SEEP_AREA_DIR] = "directory",     [SEEP_AREA_POOL] = "pool",
        [SEEP_AREA_MAPPINGS] = "mappings", [SEEP_AREA_MAP_SITES] = "mapping sites",
        [SEEP_AREA_MISUSES] = "misuses",   [SEEP_AREA_CUSTOM_POOLS] = "pools of the program",
        [SEEP_AREA_PIECES] = "pieces",     [SEEP_AREA_REGIONS] = "regions",
        [SEEP_AREA_MARKS] = "marks",       [SEEP_AREA_TOOL_MARKS] = "marks of the tool",
    };
    return names[kind];
}

static struct seep_error *check_identity(const struct seep_image_header *header, const char *name) {
    if (!header->magic)
        return seep_error_hint(seep_error_create(SEEP_E_FORMAT, "%s: the image is still empty", name),
                               "the process is just starting; try again");
    if (header->magic == __builtin_bswap64(SEEP_IMAGE_MAGIC))
        return seep_error_hint(
            seep_error_create(SEEP_E_UNSUPPORTED, "%s: image of a process of the other byte order", name),
            "read it on a machine of that byte order");
    if (header->magic != SEEP_IMAGE_MAGIC)
        return seep_error_hint(seep_error_create(SEEP_E_FORMAT,
                                                 "%s: not a heap image (it begins with 0x%016llx)", name,
                                                 (unsigned long long)header->magic),
                               "name a process that runs with libseep.so, or a file that seep made");
    if (header->version != SEEP_IMAGE_VERSION)
        return seep_error_hint(seep_error_create(SEEP_E_VERSION,
                                                 "%s: image version %u; this seep reads version %u", name,
                                                 header->version, SEEP_IMAGE_VERSION),
                               "use the seep that came with the libseep.so of that process");
    if (header->header_size < SEEP_IMAGE_HEADER_LEAST || header->header_size > SEEP_POOL_PAGE)
        return seep_error_create(SEEP_E_FORMAT, "%s: header of %u bytes where version %u has %u", name,
                                 header->header_size, header->version, SEEP_IMAGE_HEADER_LEAST);
    bool little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    if (header->byte_order != (little ? 1 : 2))
        return seep_error_create(SEEP_E_FORMAT, "%s: says byte order %u, but its numbers are %s-endian", name,
                                 header->byte_order, little ? "little" : "big");
    if (header->word_bytes != 4 && header->word_bytes != 8)
        return seep_error_create(SEEP_E_FORMAT, "%s: word size %u is neither 4 nor 8", name,
                                 header->word_bytes);
    return NULL;
}

static struct seep_error *check_areas(const struct seep_image_header *header, const char *name) {
    for (int kind = 0; kind < SEEP_AREA_NR; kind++) {
        const struct seep_image_area *area = &header->areas[kind];
        const char *what = seep_image_area_name(kind);
        uint64_t end;
        if (area->off < SEEP_POOL_PAGE || area->off % 8)
            return seep_error_create(SEEP_E_FORMAT,
                                     "%s: area \"%s\" at offset %llu lies in the header or is not aligned",
                                     name, what, (unsigned long long)area->off);
        if (__builtin_add_overflow(area->off, area->size, &end) || end > header->file_size)
            return seep_error_create(SEEP_E_FORMAT, "%s: area \"%s\" ends beyond the file", name, what);
        if (area->used > area->size / seep_image_element_bytes(kind))
            return seep_error_create(SEEP_E_FORMAT,
                                     "%s: area \"%s\" counts %llu elements, but has room for %llu", name,
                                     what, (unsigned long long)area->used,
                                     (unsigned long long)(area->size / seep_image_element_bytes(kind)));
        if (kind != SEEP_AREA_STRINGS && area->used > UINT32_MAX)
            return seep_error_create(SEEP_E_FORMAT, "%s: area \"%s\" counts %llu elements", name, what,
                                     (unsigned long long)area->used);
        for (int other = 0; other < kind; other++) {
            const struct seep_image_area *before = &header->areas[other];
            if (area->size && before->size && area->off < before->off + before->size && before->off < end)
                return seep_error_create(SEEP_E_FORMAT, "%s: areas \"%s\" and \"%s\" overlap", name,
                                         seep_image_area_name(other), what);
        }
    }
    return NULL;
}

static struct seep_error *check_heap_map(const struct seep_image_header *header, const char *name) {
    if (header->granule_shift != 4 && header->granule_shift != 5)
        return seep_error_create(SEEP_E_FORMAT, "%s: heap map of 2^%u bytes an entry", name,
                                 header->granule_shift);
    if (header->leaf_shift < header->granule_shift + 9 || header->leaf_shift > 40)
        return seep_error_create(SEEP_E_FORMAT, "%s: heap map of 2^%u bytes a leaf", name,
                                 header->leaf_shift);
    if (header->dir_bits + (uint64_t)header->leaf_shift > 64 || header->dir_bits > 32)
        return seep_error_create(SEEP_E_FORMAT, "%s: heap map with 2^%u leaves", name, header->dir_bits);
    if (header->areas[SEEP_AREA_DIR].size / sizeof(uint32_t) < UINT64_C(2) << header->dir_bits)
        return seep_error_create(SEEP_E_FORMAT, "%s: directory of %llu bytes is too small for 2^%u leaves",
                                 name, (unsigned long long)header->areas[SEEP_AREA_DIR].size,
                                 header->dir_bits);
    return NULL;
}

struct seep_error *seep_image_check_header(const struct seep_image_header *header, const char *name) {
    struct seep_error *err = check_identity(header, name);
    if (!err)
        err = check_areas(header, name);
    if (!err)
        err = check_heap_map(header, name);
    return err;
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
    seep_image_read(copy, 0, &copy->header, sizeof(copy->header));
    return seep_image_check_header(&copy->header, name);
}
