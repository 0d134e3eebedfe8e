// SPDX-License-Identifier: BSD-2-Clause
//
// The live blocks: a walk over the data of the directory, of the leaves it names and of the odd
// table. Twice: once to count, once to fill, so that memory is asked for by what is there.
#include <stdlib.h>
#include <string.h>

#include "source/image/image_reader.h"
#include "source/image/profile_image.h"

struct walk {
    struct seep_image_reader *reader;
    struct seep_block *blocks; // NULL: only count
    size_t nr_blocks;
    size_t capacity;
    uint64_t nr_damaged;
    bool sorted;
};

int64_t seep_image_age_ns(uint64_t birth, uint64_t now) {
    uint64_t us = SEEP_BIRTH_US(birth);
    if (!us || !now)
        return -1;
    // Taken a moment before the clock was read, or rounded.
    return now / 1000 > us ? (int64_t)((now / 1000 - us) * 1000) : 0;
}

// The age of a block at the moment of the snapshot, or -1.
static int64_t age_ns(const struct walk *walk, uint64_t birth) {
    const struct seep_image_copy *copy = walk->reader->copy;
    return seep_image_age_ns(birth, copy->head.header.end_ns ? copy->head.header.end_ns : copy->taken_ns);
}

static void add_block(struct walk *walk, uint64_t address, uint64_t size, uint64_t site, uint64_t birth) {
    if (site == 0 || site >= walk->reader->profile->nr_sites) {
        walk->nr_damaged++;
        return;
    }
    if (walk->blocks && walk->nr_blocks < walk->capacity) {
        if (walk->nr_blocks && walk->blocks[walk->nr_blocks - 1].address >= address)
            walk->sorted = false;
        walk->blocks[walk->nr_blocks] = (struct seep_block){
            .address = address, .size = size, .site = (uint32_t)site, .age_ns = age_ns(walk, birth)};
        struct seep_block *block = &walk->blocks[walk->nr_blocks];
        uint32_t thread = SEEP_BIRTH_THREAD(birth);
        block->thread =
            SEEP_BIRTH_US(birth) && thread < walk->reader->profile->nr_threads ? thread : UINT32_MAX;
    }
    walk->nr_blocks++;
}

static bool find_leaves(struct seep_image_reader *reader, struct seep_page_claims *leaves) {
    const struct seep_image_header *header = &reader->copy->head.header;
    uint64_t off = header->areas[SEEP_AREA_DIR].off;
    uint64_t end = off + seep_image_dir_bytes(header);
    const unsigned char *bytes;
    size_t nr;
    for (uint64_t at = off; (nr = seep_image_next(reader->copy, &at, end, &bytes)); at += nr) {
        for (size_t i = (4 - (at - off) % 4) % 4; i + 4 <= nr; i += 4) {
            uint32_t page = seep_image_u32(&reader->copy->head, bytes + i);
            uint64_t index = (at - off + i) / 4;
            if (page && !seep_page_claim_add(leaves, page, (uint32_t)index, 0))
                return false;
        }
    }
    return true;
}

uint64_t seep_image_leaf_bytes(const struct seep_image_header *header) {
    return (UINT64_C(1) << (header->leaf_shift - header->granule_shift)) * sizeof(uint64_t);
}

uint64_t seep_image_leaf_planes(const struct seep_image_header *header) {
    return UINT64_C(1) + !!(header->flags & SEEP_FLAG_AGES) + !!(header->flags & SEEP_FLAG_FREE_STACKS) +
           !!(header->flags & SEEP_FLAG_EVENTS);
}

static bool has_births(const struct walk *walk) {
    return walk->reader->copy->head.header.flags & SEEP_FLAG_AGES;
}

static uint64_t birth_of(const struct walk *walk, uint64_t leaf_off, uint64_t entry) {
    const struct seep_image_copy *copy = walk->reader->copy;
    if (!walk->blocks || !has_births(walk))
        return 0;
    return seep_image_number64(copy, leaf_off + seep_image_leaf_bytes(&copy->head.header) +
                                         entry * sizeof(uint64_t));
}

enum { STRIDE = 4 * sizeof(uint64_t) };

// From the entry at `at` on, to the first four of which one is live: most are of blocks that are gone, or of
// none.
static size_t skip_dead(const struct seep_image_head *head, const unsigned char *bytes, size_t at,
                        size_t nr_bytes) {
    uint64_t four[STRIDE / sizeof(uint64_t)];
    for (; at + STRIDE <= nr_bytes; at += STRIDE) {
        memcpy(four, bytes + at, STRIDE);
        if (SEEP_UNLIKELY(head->is_swapped))
            seep_image_swap_words(head, four, SEEP_ARRAY_SIZE(four));
        if (SEEP_ENTRY_IS_LIVE(four[0] | four[1] | four[2] | four[3]))
            break;
    }
    return at;
}

// The bits of a block's address that its entry has.
uint64_t seep_image_sub_of(const struct seep_image_header *header, uint64_t entry) {
    return SEEP_MAP_HAS_SUB(header->flags, header->granule_shift)
               ? SEEP_ENTRY_SUB(entry) << SEEP_MAP_SUB_SHIFT(header->flags)
               : 0;
}

static void walk_entry(struct walk *walk, const struct seep_page_claim *leaf, uint64_t index,
                       uint64_t entry) {
    const struct seep_image_header *header = &walk->reader->copy->head.header;
    if (!SEEP_ENTRY_IS_LIVE(entry))
        return;
    uint32_t plane_shift = SEEP_MAP_PLANE_SHIFT(header->flags);
    uint64_t base = (uint64_t)(leaf->owner >> plane_shift) << header->leaf_shift |
                    (leaf->owner & ((1u << plane_shift) - 1)) << 3;
    uint64_t address = base + (index << header->granule_shift) + seep_image_sub_of(header, entry);
    add_block(walk, address, SEEP_ENTRY_SIZE(entry), SEEP_ENTRY_SITE(entry),
              birth_of(walk, seep_image_page_off(walk->reader->copy, leaf->page), index));
}

static void walk_leaf(struct walk *walk, const struct seep_page_claim *leaf) {
    const struct seep_image_copy *copy = walk->reader->copy;
    uint64_t off = seep_image_page_off(copy, leaf->page);
    uint64_t end = off + seep_image_leaf_bytes(&copy->head.header);
    const unsigned char *bytes;
    size_t nr;
    for (uint64_t at = off; (nr = seep_image_next(copy, &at, end, &bytes)); at += nr) {
        size_t i = (8 - (at - off) % 8) % 8;
        while ((i = skip_dead(&copy->head, bytes, i, nr)) + 8 <= nr)
            for (size_t stop = SEEP_MIN(i + STRIDE, nr); i + 8 <= stop; i += 8)
                walk_entry(walk, leaf, (at - off + i) / 8, seep_image_u64(&copy->head, bytes + i));
    }
}

static void walk_odd(struct walk *walk) {
    const struct seep_image_copy *copy = walk->reader->copy;
    const struct seep_image_area *area = &copy->head.header.areas[SEEP_AREA_ODD];
    uint64_t slots = SEEP_MIN(area->size / area->element_bytes, (uint64_t)SEEP_ODD_SLOTS);
    uint64_t end = area->off + slots * area->element_bytes;
    const unsigned char *bytes;
    size_t nr;
    // A slot may lie across two extents: walk from the slot that each extent begins in.
    uint64_t next = 0;
    for (uint64_t at = area->off; (nr = seep_image_next(copy, &at, end, &bytes)); at += nr) {
        uint64_t first = (at - area->off) / area->element_bytes;
        uint64_t last = (at + nr - 1 - area->off) / area->element_bytes;
        for (next = SEEP_MAX(next, first); next <= last; next++) {
            struct seep_image_odd odd;
            seep_image_element(copy, SEEP_AREA_ODD, next, &odd);
            if (odd.address)
                add_block(walk, odd.address, odd.size, odd.site, has_births(walk) ? odd.birth : 0);
        }
    }
}

static int compare_leaves(const void *left, const void *right) {
    const struct seep_page_claim *a = left;
    const struct seep_page_claim *b = right;
    return (a->owner > b->owner) - (a->owner < b->owner);
}

static int compare_blocks(const void *left, const void *right) {
    const struct seep_block *a = left;
    const struct seep_block *b = right;
    return (a->address > b->address) - (a->address < b->address);
}

static void walk_all(struct walk *walk, const struct seep_page_claims *leaves) {
    walk->sorted = true;
    for (size_t i = 0; i < leaves->nr_items; i++)
        walk_leaf(walk, &leaves->items[i]);
    walk_odd(walk);
}

// An address is one block, whatever the image says.
static size_t drop_twins(struct seep_block *blocks, size_t nr) {
    size_t kept = 0;
    for (size_t i = 0; i < nr; i++)
        if (!kept || blocks[kept - 1].address != blocks[i].address)
            blocks[kept++] = blocks[i];
    return kept;
}

static struct seep_error *fill_blocks(struct seep_image_reader *reader,
                                      const struct seep_page_claims *leaves) {
    struct walk walk = {.reader = reader};
    walk_all(&walk, leaves);
    reader->nr_damaged += walk.nr_damaged;
    struct seep_profile *profile = reader->profile;
    profile->blocks = seep_arena_alloc(&profile->arena, walk.nr_blocks, sizeof(*profile->blocks));
    if (!profile->blocks)
        return seep_error_no_memory();
    struct walk fill = {.reader = reader, .blocks = profile->blocks, .capacity = walk.nr_blocks};
    walk_all(&fill, leaves);
    if (!fill.sorted)
        qsort(profile->blocks, fill.nr_blocks, sizeof(*profile->blocks), compare_blocks);
    profile->nr_blocks = fill.sorted ? fill.nr_blocks : drop_twins(profile->blocks, fill.nr_blocks);
    return NULL;
}

struct seep_error *seep_image_read_blocks(struct seep_image_reader *reader) {
    struct seep_page_claims leaves = {NULL, 0, 0};
    if (!find_leaves(reader, &leaves)) {
        free(leaves.items);
        return seep_error_no_memory();
    }
    const struct seep_image_header *header = &reader->copy->head.header;
    seep_page_claims_settle(reader, &leaves,
                            seep_image_leaf_planes(header) * seep_image_leaf_bytes(header) / SEEP_IMAGE_PAGE);
    if (leaves.nr_items)
        qsort(leaves.items, leaves.nr_items, sizeof(*leaves.items), compare_leaves);
    struct seep_error *err = fill_blocks(reader, &leaves);
    free(leaves.items);
    return err;
}

// ---- blocks that are gone ----

enum { LOOK_BACK = 1 << 17 }; // granules before an address that are searched for a block around it

// Where the leaf of the address and plane begins; 0: there is none.
static uint64_t leaf_off(const struct seep_image_copy *copy, uint64_t address, uint64_t plane) {
    const struct seep_image_header *header = &copy->head.header;
    uint32_t page = 0;
    uint64_t index = address >> header->leaf_shift << SEEP_MAP_PLANE_SHIFT(header->flags) | plane;
    if (index < seep_image_dir_bytes(header) / sizeof(page))
        page = seep_image_number32(copy, header->areas[SEEP_AREA_DIR].off + index * sizeof(page));
    return page ? seep_image_page_off(copy, page) : 0;
}

// Whether there is, or was, a block in the granule. Of one that is gone ret_freed says what is known.
static bool entry_tells(const struct seep_image_copy *copy, uint64_t off, uint64_t granule,
                        struct seep_freed *ret_freed) {
    const struct seep_image_header *header = &copy->head.header;
    uint64_t entry = seep_image_number64(copy, off);
    if (SEEP_ENTRY_IS_LIVE(entry))
        return true;
    if (!entry)
        return false;
    uint64_t nr_planes = header->flags & SEEP_FLAG_AGES ? 2 : 1;
    uint64_t word = seep_image_number64(copy, off + nr_planes * seep_image_leaf_bytes(header));
    if (!word)
        return true;
    ret_freed->address = granule | seep_image_sub_of(header, word);
    ret_freed->size = SEEP_ENTRY_SIZE(word);
    ret_freed->site = (uint32_t)entry;
    ret_freed->release_site = SEEP_ENTRY_SITE(word);
    return true;
}

// The nearest block at or before the address that there is or was.
static bool find_before(const struct seep_image_copy *copy, uint64_t address, uint64_t plane,
                        struct seep_freed *ret_freed) {
    unsigned shift = copy->head.header.granule_shift;
    uint64_t leaf = leaf_off(copy, address, plane);
    uint64_t first = address >> copy->head.header.leaf_shift << copy->head.header.leaf_shift;
    uint64_t granule = address >> shift << shift;
    for (int i = 0; leaf && i < LOOK_BACK && granule >= first; i++, granule -= UINT64_C(1) << shift) {
        struct seep_freed freed = {0};
        if (!entry_tells(copy, leaf + (granule - first) / (UINT64_C(1) << shift) * sizeof(uint64_t),
                         granule | plane << 3, &freed))
            continue;
        if (freed.address > address) // the other half of the granule
            continue;
        *ret_freed = freed;
        return freed.address && (address == freed.address || address - freed.address < freed.size);
    }
    return false;
}

void seep_image_find_freed(const struct seep_image_copy *copy, const struct seep_profile *profile,
                           uint64_t address, struct seep_freed *ret_freed) {
    *ret_freed = (struct seep_freed){0};
    if (!(copy->head.header.flags & SEEP_FLAG_FREE_STACKS))
        return;
    for (uint64_t plane = 0; plane >> SEEP_MAP_PLANE_SHIFT(copy->head.header.flags) == 0; plane++) {
        struct seep_freed freed;
        if (!find_before(copy, address, plane, &freed) || !freed.site || freed.site >= profile->nr_sites ||
            !freed.release_site || freed.release_site >= profile->nr_sites)
            continue;
        *ret_freed = freed;
        return;
    }
}
