// SPDX-License-Identifier: BSD-2-Clause
// The mappings of the program and the blocks freed in a wrong way, out of an image. A torn or
// forged slot is left out and counted as damaged: see image_reader.h.
#include <stdlib.h>

#include "source/image/image_reader.h"

static uint64_t nr_slots(const struct seep_image_reader *reader, enum seep_area_kind kind, uint64_t most) {
    return SEEP_MIN(reader->copy->head.header.areas[kind].used, most);
}

static int compare_mappings(const void *left, const void *right) {
    const struct seep_mapping *a = left;
    const struct seep_mapping *b = right;
    return (a->start > b->start) - (a->start < b->start);
}

static int64_t age_ns(const struct seep_image_reader *reader, uint64_t born_ns) {
    const struct seep_image_header *header = &reader->copy->head.header;
    uint64_t now = header->end_ns ? header->end_ns : reader->copy->taken_ns;
    return now > born_ns && born_ns ? (int64_t)SEEP_MIN(now - born_ns, (uint64_t)INT64_MAX) : 0;
}

static struct seep_error *read_mappings(struct seep_image_reader *reader) {
    struct seep_profile *profile = reader->profile;
    uint64_t nr = nr_slots(reader, SEEP_AREA_MAPPINGS, SEEP_MAPPING_SLOTS);
    profile->mappings = seep_arena_alloc(&profile->arena, (size_t)nr, sizeof(*profile->mappings));
    if (!profile->mappings)
        return seep_error_no_memory();
    uint32_t kept = 0;
    for (uint64_t i = 0; i < nr; i++) {
        struct seep_image_mapping from;
        seep_image_element(reader->copy, SEEP_AREA_MAPPINGS, i, &from);
        if (!from.start || !seep_image_is_site(reader, from.site))
            continue;
        if (!from.bytes || from.start > UINT64_MAX - from.bytes) {
            reader->nr_damaged++;
            continue;
        }
        profile->mappings[kept++] = (struct seep_mapping){
            .start = from.start,
            .bytes = from.bytes,
            .site = from.site,
            .kind = from.kind,
            .age_ns = age_ns(reader, from.born_ns),
        };
    }
    if (kept)
        qsort(profile->mappings, kept, sizeof(*profile->mappings), compare_mappings);
    profile->nr_mappings = kept;
    return NULL;
}

static struct seep_mapping_counts counts_of(const struct seep_image_mapping_site *from) {
    return (struct seep_mapping_counts){
        .maps = from->maps,
        .mapped_bytes = from->mapped_bytes,
        .unmaps = from->unmaps,
        .unmapped_bytes = from->unmapped_bytes,
        .peak_bytes = from->peak_bytes,
    };
}

static int compare_map_sites(const void *left, const void *right) {
    const struct seep_mapping_site *a = left;
    const struct seep_mapping_site *b = right;
    return (a->site > b->site) - (a->site < b->site);
}

static struct seep_error *read_map_sites(struct seep_image_reader *reader) {
    struct seep_profile *profile = reader->profile;
    uint64_t nr = nr_slots(reader, SEEP_AREA_MAP_SITES, SEEP_MAP_SITES);
    profile->mapping_sites = seep_arena_alloc(&profile->arena, (size_t)nr, sizeof(*profile->mapping_sites));
    if (!profile->mapping_sites)
        return seep_error_no_memory();
    for (uint64_t i = 0; i < nr; i++) {
        struct seep_image_mapping_site from;
        seep_image_element(reader->copy, SEEP_AREA_MAP_SITES, i, &from);
        if (i == 0)
            profile->mapping_totals = counts_of(&from);
        else if (seep_image_is_site(reader, from.site))
            profile->mapping_sites[profile->nr_mapping_sites++] =
                (struct seep_mapping_site){.site = from.site, .counts = counts_of(&from)};
    }
    if (profile->nr_mapping_sites)
        qsort(profile->mapping_sites, profile->nr_mapping_sites, sizeof(*profile->mapping_sites),
              compare_map_sites);
    // A site has one element; of a forged twin only the first stays.
    uint32_t kept = 0;
    for (uint32_t i = 0; i < profile->nr_mapping_sites; i++)
        if (!kept || profile->mapping_sites[kept - 1].site != profile->mapping_sites[i].site)
            profile->mapping_sites[kept++] = profile->mapping_sites[i];
    reader->nr_damaged += profile->nr_mapping_sites - kept;
    profile->nr_mapping_sites = kept;
    return NULL;
}

static int compare_releases(const void *left, const void *right) {
    const struct seep_wrong_release *a = left;
    const struct seep_wrong_release *b = right;
    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    if (a->site != b->site)
        return a->site < b->site ? -1 : 1;
    if (a->release_site != b->release_site)
        return a->release_site < b->release_site ? -1 : 1;
    return (a->first_site > b->first_site) - (a->first_site < b->first_site);
}

static struct seep_error *read_misuses(struct seep_image_reader *reader) {
    struct seep_profile *profile = reader->profile;
    uint64_t nr = nr_slots(reader, SEEP_AREA_MISUSES, SEEP_MISUSE_SLOTS);
    profile->wrong_releases = seep_arena_alloc(&profile->arena, (size_t)nr, sizeof(*profile->wrong_releases));
    if (!profile->wrong_releases)
        return seep_error_no_memory();
    uint32_t kept = 0;
    for (uint64_t i = 0; i < nr; i++) {
        struct seep_image_misuse from;
        seep_image_element(reader->copy, SEEP_AREA_MISUSES, i, &from);
        if (!from.kind)
            continue;
        if (from.kind >= SEEP_MISUSE_NR) {
            reader->nr_damaged++;
            continue;
        }
        bool no_site = from.kind >= SEEP_MISUSE_STACK && !from.site;
        if ((!no_site && !seep_image_is_site(reader, from.site)) ||
            !seep_image_is_site(reader, from.release_site))
            continue;
        // Where it was freed first is all that is lost by a bad first_site.
        uint32_t first = from.first_site && seep_image_is_site(reader, from.first_site) ? from.first_site : 0;
        profile->wrong_releases[kept++] = (struct seep_wrong_release){
            from.kind, from.site, from.release_site, from.count, from.address, from.size, first};
    }
    if (kept)
        qsort(profile->wrong_releases, kept, sizeof(*profile->wrong_releases), compare_releases);
    profile->nr_wrong_releases = kept;
    return NULL;
}

static int by_thread(const void *left, const void *right) {
    uint32_t a = ((const struct seep_signal_stack *)left)->tid;
    uint32_t b = ((const struct seep_signal_stack *)right)->tid;
    return (a > b) - (a < b);
}

static struct seep_error *read_hints(struct seep_image_reader *reader) {
    const struct seep_image_header *header = &reader->copy->head.header;
    struct seep_profile *profile = reader->profile;
    size_t nr_threads = profile->nr_threads;
    size_t most = SEEP_IMAGE_OWN_RANGES + 2 * nr_threads;
    struct seep_image_range *own = seep_arena_alloc(&profile->arena, most, sizeof(*own));
    uint64_t *stacks = seep_arena_alloc(&profile->arena, nr_threads, sizeof(*stacks));
    struct seep_moving *moving = seep_arena_alloc(&profile->arena, nr_threads, sizeof(*moving));
    struct seep_signal_stack *signal_stacks =
        seep_arena_alloc(&profile->arena, nr_threads, sizeof(*signal_stacks));
    if (!own || !stacks || !moving || !signal_stacks)
        return seep_error_no_memory();
    struct seep_hints hints = {.own = own,
                               .stacks = stacks,
                               .moving = moving,
                               .signal_stacks = signal_stacks,
                               .is_glibc = SEEP_MAP_HAS_SUB(header->flags, header->granule_shift)};
    for (size_t i = 0; i < most; i++) {
        struct seep_image_range range;
        if (i < SEEP_IMAGE_OWN_RANGES) {
            range = header->own[i];
        } else {
            struct seep_image_thread thread;
            seep_image_element(reader->copy, SEEP_AREA_THREADS, (i - SEEP_IMAGE_OWN_RANGES) / 2, &thread);
            range = thread.own[i % 2];
            if (i % 2 == 0)
                stacks[hints.nr_stacks++] = thread.stack_rt;
            if (i % 2 == 0 && SEEP_SIGNAL_STACK_START(thread.signal_stack_rt))
                signal_stacks[hints.nr_signal_stacks++] =
                    (struct seep_signal_stack){SEEP_SIGNAL_STACK_START(thread.signal_stack_rt),
                                               SEEP_SIGNAL_STACK_BYTES(thread.signal_stack_rt), thread.tid};
            if (i % 2 == 0 && thread.moving_rt)
                moving[hints.nr_moving++] =
                    (struct seep_moving){thread.moving_rt, thread.moving_bytes, thread.tid, thread.stack_rt};
        }
        if (range.start && range.bytes <= UINT64_MAX - range.start)
            own[hints.nr_own++] = range;
    }
    qsort(signal_stacks, hints.nr_signal_stacks, sizeof(*signal_stacks), by_thread);
    profile->hints = hints;
    return NULL;
}

struct seep_error *seep_image_read_mappings(struct seep_image_reader *reader) {
    struct seep_error *err = read_hints(reader);
    if (!err)
        err = read_mappings(reader);
    if (!err)
        err = read_map_sites(reader);
    if (!err)
        err = read_misuses(reader);
    return err;
}
