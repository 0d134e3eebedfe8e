// SPDX-License-Identifier: BSD-2-Clause
// The counters of threads for sites, and the claims on image pages; see image_reader.h.
#include <stdlib.h>
#include <string.h>

#include "base/sum.h"
#include "base/map.h"
#include "image/sample.h"
#include "source/image/image_reader.h"

#define CHUNK_DIR_BYTES ((uint64_t)SEEP_CHUNKS_PER_THREAD * sizeof(uint32_t))
#define CHUNK_BYTES     ((uint64_t)SEEP_CHUNK_SITES * sizeof(struct seep_image_counters))

bool seep_page_claim_add(struct seep_page_claims *claims, uint64_t page, uint32_t owner, uint32_t index) {
    if (!seep_grow(&claims->items, &claims->capacity, claims->nr_items + 1, sizeof(*claims->items)))
        return false;
    claims->items[claims->nr_items++] = (struct seep_page_claim){page, owner, index};
    return true;
}

static int compare_claims(const void *left, const void *right) {
    const struct seep_page_claim *a = left;
    const struct seep_page_claim *b = right;
    return (a->page > b->page) - (a->page < b->page);
}

void seep_page_claims_settle(struct seep_image_reader *reader, struct seep_page_claims *claims,
                             uint64_t nr_pages) {
    if (!claims->nr_items)
        return;
    qsort(claims->items, claims->nr_items, sizeof(*claims->items), compare_claims);
    uint64_t end = reader->copy->head.header.areas[SEEP_AREA_PAGES].used;
    uint64_t next = 0;
    size_t kept = 0;
    for (size_t i = 0; i < claims->nr_items; i++) {
        uint64_t page = claims->items[i].page;
        if (page < next || page > end || nr_pages > end - page) {
            reader->nr_damaged++;
            continue;
        }
        next = page + nr_pages;
        claims->items[kept++] = claims->items[i];
    }
    claims->nr_items = kept;
}

static bool find_chunk_dirs(const struct seep_image_reader *reader, struct seep_page_claims *claims) {
    for (uint32_t i = 0; i < reader->profile->nr_threads; i++) {
        struct seep_image_thread thread;
        seep_image_element(reader->copy, SEEP_AREA_THREADS, i, &thread);
        if (thread.chunk_dir_page && !seep_page_claim_add(claims, thread.chunk_dir_page, i, 0))
            return false;
    }
    return true;
}

// The chunks that a thread's table names.
static bool find_chunks(const struct seep_image_reader *reader, const struct seep_page_claim *dir,
                        struct seep_page_claims *claims) {
    uint64_t off = seep_image_page_off(reader->copy, dir->page);
    const unsigned char *bytes;
    size_t nr;
    for (uint64_t at = off; (nr = seep_image_next(reader->copy, &at, off + CHUNK_DIR_BYTES, &bytes));
         at += nr) {
        for (size_t i = (4 - (at - off) % 4) % 4; i + 4 <= nr; i += 4) {
            uint32_t page = seep_image_u32(&reader->copy->head, bytes + i);
            if (page && !seep_page_claim_add(claims, page, dir->owner, (uint32_t)((at - off + i) / 4)))
                return false;
        }
    }
    return true;
}

struct seep_counters seep_image_counters_of(const struct seep_image_copy *copy,
                                            const struct seep_image_counters *from) {
    bool sampled = copy->head.header.sample_bytes != 0;
    return (struct seep_counters){
        .allocations = sampled ? seep_sample_blocks(from->allocations) : from->allocations,
        .allocated_bytes = from->allocated_bytes,
        .frees = sampled ? seep_sample_blocks(from->frees) : from->frees,
        .freed_bytes = from->freed_bytes,
        .temporary =
            sampled ? seep_sample_blocks(SEEP_TEMPORARY(from->temporary)) : SEEP_TEMPORARY(from->temporary),
        .peak_bytes = from->peak_bytes, // sampled: the number of recorded allocations, in the profile too
        .size_min = from->size_min_inverted ? ~from->size_min_inverted : UINT64_MAX,
        .size_max = from->size_max,
    };
}

void seep_counters_add(struct seep_counters *sum, const struct seep_counters *counters) {
    seep_add_up(&sum->allocations, counters->allocations);
    seep_add_up(&sum->allocated_bytes, counters->allocated_bytes);
    seep_add_up(&sum->frees, counters->frees);
    seep_add_up(&sum->freed_bytes, counters->freed_bytes);
    seep_add_up(&sum->temporary, counters->temporary);
    // Peaks of slots at different moments do not add up: the highest is a lower bound.
    sum->peak_bytes = SEEP_MAX(sum->peak_bytes, counters->peak_bytes);
    sum->size_min = SEEP_MIN(sum->size_min, counters->size_min);
    sum->size_max = SEEP_MAX(sum->size_max, counters->size_max);
}

struct seep_counters seep_counters_lacking(const struct seep_counters *sum) {
    return (struct seep_counters){.allocations = seep_above(sum->frees, sum->allocations),
                                  .allocated_bytes = seep_above(sum->freed_bytes, sum->allocated_bytes),
                                  .size_min = UINT64_MAX};
}

static void add_counters(struct seep_profile *profile, uint32_t site_id, uint32_t thread_id,
                         const struct seep_counters *counters) {
    seep_counters_add(&profile->sites[site_id].counters, counters);
    if (!seep_via_is_heap(profile->sites[site_id].via))
        return; // a class of its own
    struct seep_thread *thread = &profile->threads[thread_id];
    seep_add_up(&thread->allocations, counters->allocations);
    seep_add_up(&thread->allocated_bytes, counters->allocated_bytes);
    seep_add_up(&thread->frees, counters->frees);
    seep_add_up(&thread->freed_bytes, counters->freed_bytes);
}

struct thread_sites {
    struct seep_thread_site *items;
    size_t nr_items;
    size_t capacity;
};

static bool add_one(struct seep_image_reader *reader, const struct seep_page_claim *chunk, uint32_t in_chunk,
                    const struct seep_image_counters *from, struct thread_sites *all) {
    static const struct seep_image_counters none;
    if (memcmp(from, &none, sizeof(none)) == 0)
        return true;
    uint64_t site = ((uint64_t)chunk->index << SEEP_CHUNK_SITES_SHIFT) + in_chunk;
    if (site == 0 || site >= reader->profile->nr_sites) {
        // A dump that was cut before its sites says so by itself.
        reader->nr_damaged++;
        return true;
    }
    struct seep_counters counters = seep_image_counters_of(reader->copy, from);
    add_counters(reader->profile, (uint32_t)site, chunk->owner, &counters);
    if (!seep_grow(&all->items, &all->capacity, all->nr_items + 1, sizeof(*all->items)))
        return false;
    all->items[all->nr_items++] =
        (struct seep_thread_site){.site = (uint32_t)site, .thread = chunk->owner, .counters = counters};
    return true;
}

static bool read_chunk(struct seep_image_reader *reader, const struct seep_page_claim *chunk,
                       struct thread_sites *all) {
    uint64_t off = seep_image_page_off(reader->copy, chunk->page);
    const unsigned char *bytes;
    size_t nr;
    for (uint64_t at = off; (nr = seep_image_next(reader->copy, &at, off + CHUNK_BYTES, &bytes)); at += nr) {
        struct seep_image_counters from;
        size_t first = (sizeof(from) - (at - off) % sizeof(from)) % sizeof(from);
        for (size_t i = first; i + sizeof(from) <= nr; i += sizeof(from)) {
            memcpy(&from, bytes + i, sizeof(from));
            seep_image_swap_counters(&reader->copy->head, &from);
            if (!add_one(reader, chunk, (uint32_t)((at - off + i) / sizeof(from)), &from, all))
                return false;
        }
    }
    return true;
}

// What a site lacks goes to the first of its threads.
static void add_lacking(struct seep_profile *profile, struct seep_thread_site *item) {
    struct seep_counters lacking = seep_counters_lacking(&profile->sites[item->site].counters);
    add_counters(profile, item->site, item->thread, &lacking);
    seep_counters_add(&item->counters, &lacking);
}

// Those of one thread are read in the order of their sites.
static bool are_sorted(const struct seep_thread_site *items, size_t nr) {
    size_t i = 1;
    while (i < nr && seep_thread_site_compare(&items[i - 1], &items[i]) <= 0)
        i++;
    return i >= nr;
}

static bool keep_thread_sites(struct seep_profile *profile, const struct thread_sites *all) {
    profile->thread_sites = seep_arena_alloc(&profile->arena, all->nr_items, sizeof(*all->items));
    if (!profile->thread_sites)
        return false;
    if (all->nr_items) {
        memcpy(profile->thread_sites, all->items, all->nr_items * sizeof(*all->items));
        if (!are_sorted(profile->thread_sites, all->nr_items))
            qsort(profile->thread_sites, all->nr_items, sizeof(*all->items), seep_thread_site_compare);
    }
    // A hostile table may name a site twice for one thread only through two chunks of one index,
    // which an index of a table cannot be: so (site, thread) is unique here.
    profile->nr_thread_sites = all->nr_items;
    return true;
}

struct seep_error *seep_image_read_counters(struct seep_image_reader *reader) {
    struct seep_page_claims dirs = {NULL, 0, 0};
    struct seep_page_claims chunks = {NULL, 0, 0};
    struct thread_sites all = {NULL, 0, 0};
    bool fits = find_chunk_dirs(reader, &dirs);
    seep_page_claims_settle(reader, &dirs, CHUNK_DIR_BYTES / SEEP_IMAGE_PAGE);
    for (size_t i = 0; fits && i < dirs.nr_items; i++)
        fits = find_chunks(reader, &dirs.items[i], &chunks);
    seep_page_claims_settle(reader, &chunks, CHUNK_BYTES / SEEP_IMAGE_PAGE);
    for (size_t i = 0; fits && i < chunks.nr_items; i++)
        fits = read_chunk(reader, &chunks.items[i], &all);
    bool calls_only =
        reader->copy->head.header.flags & SEEP_FLAG_CALLS; // whose block was freed is not known there
    for (size_t i = 0; !calls_only && i < all.nr_items; i++)
        add_lacking(reader->profile, &all.items[i]);
    fits = fits && keep_thread_sites(reader->profile, &all);
    free(dirs.items);
    free(chunks.items);
    free(all.items);
    return fits ? NULL : seep_error_no_memory();
}
