// SPDX-License-Identifier: BSD-2-Clause
// What the program told through seep.h, and the marks of the tool, out of an image. A torn or forged
// slot is left out and counted as damaged: see image_reader.h.
#include <stdlib.h>
#include <string.h>

#include "base/records.h"
#include "base/map.h"
#include "image/sample.h"
#include "source/image/image_reader.h"

// Room for as many names as a program can have told; what is longer is forged.
#define NAME_MOST 65536

// Slots that may hold something: those behind the data are zero.
static uint64_t nr_slots(const struct seep_image_reader *reader, enum seep_area_kind kind, uint64_t most) {
    const struct seep_image_area *area = &reader->copy->head.header.areas[kind];
    uint64_t nr = SEEP_MIN(area->used, most);
    uint64_t bytes = seep_image_dense(reader->copy, area->off, nr * area->element_bytes);
    return SEEP_MIN(nr, bytes / area->element_bytes + (bytes % area->element_bytes != 0));
}

static int64_t age_ns(const struct seep_image_reader *reader, uint64_t born_ns) {
    const struct seep_image_header *header = &reader->copy->head.header;
    uint64_t now = header->end_ns ? header->end_ns : reader->copy->taken_ns;
    return now >= born_ns && born_ns && now - born_ns <= INT64_MAX ? (int64_t)(now - born_ns) : -1;
}

// ---- pools ------------------------------------------------------------------------------------------

// *ret_index: slot to index in pools + 1, malloc'ed.
static struct seep_error *read_pools(struct seep_image_reader *reader, uint32_t **ret_index,
                                     uint64_t *ret_nr) {
    struct seep_profile *profile = reader->profile;
    uint64_t nr = nr_slots(reader, SEEP_AREA_CUSTOM_POOLS, SEEP_CUSTOM_POOLS);
    uint32_t *index = calloc(nr + 1, sizeof(*index));
    profile->pools = seep_arena_alloc(&profile->arena, (size_t)nr, sizeof(*profile->pools));
    *ret_index = index;
    *ret_nr = nr;
    if (!index || !profile->pools)
        return seep_error_no_memory();
    for (uint64_t i = 1; i < nr; i++) {
        struct seep_image_custom_pool from;
        seep_image_element(reader->copy, SEEP_AREA_CUSTOM_POOLS, i, &from);
        if (!from.born_ns)
            continue;
        const char *name = seep_image_string(reader, from.name_off, "", NULL);
        profile->pools[profile->nr_pools++] = (struct seep_pool){
            .handle = from.handle,
            .name = *name ? name : NULL,
            .site = from.site < profile->nr_sites ? from.site : 0,
            .age_ns = age_ns(reader, from.born_ns),
        };
        index[i] = profile->nr_pools;
    }
    return NULL;
}

static int compare_pieces(const void *left, const void *right) {
    const struct seep_piece *a = left;
    const struct seep_piece *b = right;
    return (a->address > b->address) - (a->address < b->address);
}

static struct seep_error *read_pieces(struct seep_image_reader *reader, const uint32_t *index,
                                      uint64_t nr_pool_slots) {
    struct seep_profile *profile = reader->profile;
    uint64_t nr = nr_slots(reader, SEEP_AREA_PIECES, SEEP_PIECES);
    profile->pieces = seep_arena_alloc(&profile->arena, (size_t)nr, sizeof(*profile->pieces));
    if (!profile->pieces)
        return seep_error_no_memory();
    for (uint64_t i = 1; i < nr; i++) {
        struct seep_image_piece from;
        seep_image_element(reader->copy, SEEP_AREA_PIECES, i, &from);
        if (!from.address || !seep_image_is_site(reader, from.site))
            continue;
        uint32_t pool = from.pool < nr_pool_slots ? index[from.pool] : 0;
        profile->pieces[profile->nr_pieces++] = (struct seep_piece){
            .address = from.address,
            .bytes = from.bytes,
            .site = from.site,
            .pool = pool ? pool - 1 : UINT32_MAX,
            .age_ns = age_ns(reader, from.born_ns),
        };
    }
    if (profile->nr_pieces)
        qsort(profile->pieces, profile->nr_pieces, sizeof(*profile->pieces), compare_pieces);
    return NULL;
}

static struct seep_error *read_regions(struct seep_image_reader *reader) {
    struct seep_profile *profile = reader->profile;
    uint64_t nr = nr_slots(reader, SEEP_AREA_REGIONS, SEEP_REGIONS);
    profile->regions = seep_arena_alloc(&profile->arena, (size_t)nr, sizeof(*profile->regions));
    if (!profile->regions)
        return seep_error_no_memory();
    for (uint64_t i = 1; i < nr; i++) {
        struct seep_image_region from;
        seep_image_element(reader->copy, SEEP_AREA_REGIONS, i, &from);
        if (!from.kind)
            continue;
        if (from.kind > SEEP_REGION_FIRST_STACK || from.start > UINT64_MAX - from.bytes)
            reader->nr_damaged++;
        else
            profile->regions[profile->nr_regions++] = (struct seep_region){from.start, from.bytes, from.kind};
    }
    return NULL;
}

// ---- marks ------------------------------------------------------------------------------------------

struct counts {
    struct seep_mark_site *items;
    size_t nr_items;
    size_t capacity;
};

static uint64_t weighed(const struct seep_image_reader *reader, uint64_t sum) {
    return reader->copy->head.header.sample_bytes ? seep_sample_blocks(sum) : sum;
}

// A mark that its parent made counts for a forked process as its own figures do: what was freed by
// then is as if it had never been.
static void leave_only_live(struct counts *counts) {
    for (size_t i = 0; i < counts->nr_items; i++) {
        struct seep_mark_site *site = &counts->items[i];
        site->allocations -= SEEP_MIN(site->allocations, site->frees);
        site->allocated_bytes -= SEEP_MIN(site->allocated_bytes, site->freed_bytes);
        site->frees = site->freed_bytes = site->temporary = 0;
    }
}

// false: out of memory. What does not fit ends the list and is counted as damaged.
static bool read_counts(struct seep_image_reader *reader, struct seep_take *take, struct counts *ret_counts) {
    uint64_t site = 0;
    while (take->at < take->end) {
        uint64_t values[6] = {0};
        for (size_t i = 0; i < SEEP_ARRAY_SIZE(values); i++)
            values[i] = seep_take_leb(take);
        if (take->failed || !values[0] || values[0] >= reader->profile->nr_sites - site) {
            reader->nr_damaged++;
            return true;
        }
        site += values[0];
        if (!seep_grow(&ret_counts->items, &ret_counts->capacity, ret_counts->nr_items + 1,
                       sizeof(*ret_counts->items)))
            return false;
        ret_counts->items[ret_counts->nr_items++] = (struct seep_mark_site){
            .site = (uint32_t)site,
            .allocations = weighed(reader, values[1]),
            .allocated_bytes = values[2],
            .frees = weighed(reader, values[3]),
            .freed_bytes = values[4],
            .temporary = weighed(reader, values[5]),
        };
    }
    return true;
}

static struct seep_error *add_mark(struct seep_image_reader *reader, const struct seep_image_mark *record,
                                   const unsigned char *bytes) {
    struct seep_profile *profile = reader->profile;
    const unsigned char *from = bytes + record->name_bytes;
    struct seep_take take = {.at = from, .end = from + record->counts_bytes};
    struct counts counts = {NULL, 0, 0};
    bool fits = read_counts(reader, &take, &counts);
    if (reader->copy->head.header.flags & SEEP_FLAG_FORKED &&
        record->at_ns < reader->copy->head.header.start_ns)
        leave_only_live(&counts);
    struct seep_mark mark = {
        .name = seep_arena_strndup(&profile->arena, (const char *)bytes, record->name_bytes),
        .at_ns = (int64_t)SEEP_MIN(
            record->at_ns - SEEP_MIN(record->at_ns, reader->copy->head.header.start_ns), (uint64_t)INT64_MAX),
        .tid = record->tid,
        .counted = record->counts_bytes || record->is_counted,
        .nr_sites = (uint32_t)counts.nr_items,
    };
    mark.sites = seep_arena_alloc(&profile->arena, counts.nr_items, sizeof(*mark.sites));
    fits = fits && mark.name && mark.sites;
    if (fits && counts.nr_items)
        memcpy(mark.sites, counts.items, counts.nr_items * sizeof(*mark.sites));
    free(counts.items);
    return fits ? seep_profile_add_mark(profile, &mark) : seep_error_no_memory();
}

static struct seep_error *read_marks(struct seep_image_reader *reader, enum seep_area_kind kind) {
    const struct seep_image_area *area = &reader->copy->head.header.areas[kind];
    // Records have no holes: what the copy does not have is not there.
    uint64_t used = SEEP_MIN(area->used, seep_image_dense(reader->copy, area->off, area->used));
    unsigned char *bytes = used ? malloc(used) : NULL;
    if (used && !bytes)
        return seep_error_no_memory();
    if (used)
        seep_image_read(reader->copy, area->off, bytes, used);
    struct seep_error *err = NULL;
    struct seep_image_mark record;
    for (uint64_t at = 0; !err && used - at >= sizeof(record); at += record.bytes) {
        memcpy(&record, bytes + at, sizeof(record));
        seep_image_swap_mark(&reader->copy->head, &record);
        uint64_t whole = sizeof(record) + (uint64_t)record.name_bytes + record.counts_bytes;
        if (record.bytes % 8 || record.bytes > used - at || whole > record.bytes ||
            record.name_bytes > NAME_MOST) {
            reader->nr_damaged++;
            break;
        }
        err = add_mark(reader, &record, bytes + at + sizeof(record));
    }
    free(bytes);
    return err;
}

struct seep_error *seep_image_read_annotations(struct seep_image_reader *reader) {
    const struct seep_image_header *header = &reader->copy->head.header;
    struct seep_profile *profile = reader->profile;
    profile->pool_totals.pools_created = header->pools_created;
    profile->pool_totals.pools_destroyed = header->pools_destroyed;
    profile->pool_totals.unknown_frees = header->unknown_piece_frees;
    uint32_t *index = NULL;
    uint64_t nr_pool_slots = 0;
    struct seep_error *err = read_pools(reader, &index, &nr_pool_slots);
    if (!err)
        err = read_pieces(reader, index, nr_pool_slots);
    free(index);
    if (!err)
        err = read_regions(reader);
    if (!err)
        err = read_marks(reader, SEEP_AREA_MARKS);
    if (!err)
        err = read_marks(reader, SEEP_AREA_TOOL_MARKS);
    return err;
}
