// SPDX-License-Identifier: BSD-2-Clause
// The live blocks of an image, read in pieces and visited by address; see image_look.h.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "source/image/image_look.h"
#include "source/image/image_reader.h"

#define WINDOW_ENTRIES UINT64_C(8192)
#define WINDOW_BYTES   (WINDOW_ENTRIES * sizeof(uint64_t))
#define PLANES_MOST    2u // of addresses

struct walk {
    const struct seep_image_look *look;
    const struct seep_image_head *head;
    seep_block_visit *visit;
    void *data;
    uint64_t now_ns;
    uint64_t *words; // WINDOW_ENTRIES
    uint64_t *births;
    struct seep_block *odd; // by address
    size_t nr_odd, odd_capacity, next_odd;
    struct seep_block *window; // of a window
    size_t nr_window;
    uint64_t last; // address that was visited; 0: none
    bool over;
};

static bool has_births(const struct walk *walk) {
    return walk->head->header.flags & SEEP_FLAG_AGES;
}

static bool block_of(const struct walk *walk, uint64_t address, uint64_t size, uint64_t site, uint64_t birth,
                     struct seep_block *ret_block) {
    uint32_t thread = SEEP_BIRTH_THREAD(birth);
    if (!site || site >= seep_image_look_nr_sites(walk->look))
        return false;
    *ret_block = (struct seep_block){
        .address = address,
        .size = size,
        .site = (uint32_t)site,
        .age_ns = seep_image_age_ns(birth, walk->now_ns),
        .thread = SEEP_BIRTH_US(birth) && thread < seep_image_look_profile(walk->look)->nr_threads
                      ? thread
                      : UINT32_MAX,
    };
    return true;
}

static int compare_blocks(const void *left, const void *right) {
    const struct seep_block *a = left, *b = right;
    return (a->address > b->address) - (a->address < b->address);
}

// Each address is visited once, even if a damaged image has two blocks there.
static void tell(struct walk *walk, const struct seep_block *block) {
    if (walk->over || block->address <= walk->last)
        return;
    walk->last = block->address;
    walk->over = !walk->visit(walk->data, block);
}

static void tell_odd_before(struct walk *walk, uint64_t address) {
    for (; walk->next_odd < walk->nr_odd && walk->odd[walk->next_odd].address < address; walk->next_odd++)
        tell(walk, &walk->odd[walk->next_odd]);
}

// The next data at or after `at`; `end` where there is none before it.
static uint64_t next_data(const struct walk *walk, uint64_t at, uint64_t end) {
    off_t data = lseek(seep_image_look_fd(walk->look), (off_t)at, SEEK_DATA);
    return data < 0 || (uint64_t)data >= end ? end : (uint64_t)data;
}

// ---- the odd table ----

static struct seep_error *read_odd(struct walk *walk) {
    const struct seep_image_area *area = &walk->head->header.areas[SEEP_AREA_ODD];
    size_t element = area->element_bytes, nr_in_piece = WINDOW_BYTES / element;
    uint64_t nr = SEEP_MIN(area->size / element, (uint64_t)SEEP_ODD_SLOTS), end = area->off + nr * element;
    unsigned char *bytes = (unsigned char *)walk->words;
    struct seep_error *error = NULL;
    for (uint64_t at = 0; !error && at < nr;) {
        at = SEEP_MAX(at, (next_data(walk, area->off + at * element, end) - area->off) / element);
        size_t piece = (size_t)SEEP_MIN(nr - at, (uint64_t)nr_in_piece);
        if (piece)
            error = seep_image_look_read(walk->look, area->off + at * element, bytes, piece * element);
        for (size_t i = 0; !error && i < piece; i++) {
            struct seep_image_odd odd;
            struct seep_block block;
            seep_image_element_decode(walk->head, SEEP_AREA_ODD, bytes + i * element, &odd);
            if (!odd.address ||
                !block_of(walk, odd.address, odd.size, odd.site, has_births(walk) ? odd.birth : 0, &block))
                continue;
            if (!seep_grow(&walk->odd, &walk->odd_capacity, walk->nr_odd + 1, sizeof(*walk->odd)))
                return seep_error_no_memory();
            walk->odd[walk->nr_odd++] = block;
        }
        at += piece;
    }
    if (walk->nr_odd)
        qsort(walk->odd, walk->nr_odd, sizeof(*walk->odd), compare_blocks);
    return error;
}

// ---- leaves ----

static struct seep_error *find_leaves(struct walk *walk, struct seep_page_claims *leaves) {
    const struct seep_image_header *header = &walk->head->header;
    uint64_t off = header->areas[SEEP_AREA_DIR].off, end = off + seep_image_dir_bytes(header);
    uint32_t *pages = (uint32_t *)(void *)walk->words;
    for (uint64_t at = off; (at = next_data(walk, at, end)) < end;) {
        at -= (at - off) % sizeof(*pages);
        size_t nr = (size_t)SEEP_MIN(end - at, WINDOW_BYTES);
        struct seep_error *error = seep_image_look_read(walk->look, at, pages, nr);
        if (error)
            return error;
        for (size_t i = 0; i < nr / sizeof(*pages); i++) {
            uint32_t page = seep_image_u32(walk->head, &pages[i]);
            if (page && !seep_page_claim_add(leaves, page, (uint32_t)((at - off) / sizeof(*pages) + i), 0))
                return seep_error_no_memory();
        }
        at += nr;
    }
    return NULL;
}

static int compare_leaves(const void *left, const void *right) {
    const struct seep_page_claim *a = left, *b = right;
    return (a->owner > b->owner) - (a->owner < b->owner);
}

// The blocks of WINDOW_ENTRIES entries of one plane, from `first` on.
static struct seep_error *read_window(struct walk *walk, const struct seep_page_claim *leaf, uint64_t off,
                                      uint64_t first) {
    const struct seep_image_header *header = &walk->head->header;
    uint32_t plane_shift = SEEP_MAP_PLANE_SHIFT(header->flags);
    uint64_t all = seep_image_leaf_bytes(header);
    uint64_t nr = SEEP_MIN(WINDOW_ENTRIES, all / sizeof(uint64_t) - first);
    uint64_t base = (uint64_t)(leaf->owner >> plane_shift) << header->leaf_shift |
                    (leaf->owner & ((1u << plane_shift) - 1)) << 3;
    struct seep_error *error =
        seep_image_look_read(walk->look, off + first * sizeof(uint64_t), walk->words, nr * sizeof(uint64_t));
    if (!error && has_births(walk))
        error = seep_image_look_read(walk->look, off + all + first * sizeof(uint64_t), walk->births,
                                     nr * sizeof(uint64_t));
    for (uint64_t i = 0; !error && i < nr; i++) {
        uint64_t entry = walk->words[i];
        if (!entry)
            continue;
        entry = seep_image_u64(walk->head, &walk->words[i]);
        uint64_t birth = has_births(walk) ? seep_image_u64(walk->head, &walk->births[i]) : 0;
        uint64_t address = base + ((first + i) << header->granule_shift) + seep_image_sub_of(header, entry);
        if (!SEEP_ENTRY_IS_LIVE(entry) ||
            !block_of(walk, address, SEEP_ENTRY_SIZE(entry), SEEP_ENTRY_SITE(entry), birth,
                      &walk->window[walk->nr_window]))
            continue;
        walk->nr_window++;
    }
    return error;
}

// Walks the leaves of the same addresses, one of each plane.
static struct seep_error *walk_leaves(struct walk *walk, const struct seep_page_claim *leaves, size_t nr) {
    const struct seep_image_header *header = &walk->head->header;
    uint64_t all = seep_image_leaf_bytes(header), offs[PLANES_MOST];
    struct seep_error *error = NULL;
    for (size_t i = 0; i < nr; i++)
        offs[i] = header->areas[SEEP_AREA_PAGES].off + leaves[i].page * SEEP_IMAGE_PAGE;
    for (uint64_t at = 0; !error && !walk->over;) {
        uint64_t next = all;
        for (size_t i = 0; i < nr; i++)
            next = SEEP_MIN(next, next_data(walk, offs[i] + at, offs[i] + all) - offs[i]);
        if (next == all)
            break;
        at = next / WINDOW_BYTES * WINDOW_BYTES;
        walk->nr_window = 0;
        for (size_t i = 0; !error && i < nr; i++)
            error = read_window(walk, &leaves[i], offs[i], at / sizeof(uint64_t));
        if (nr > 1 && walk->nr_window)
            qsort(walk->window, walk->nr_window, sizeof(*walk->window), compare_blocks);
        for (size_t i = 0; !error && !walk->over && i < walk->nr_window; i++) {
            tell_odd_before(walk, walk->window[i].address);
            tell(walk, &walk->window[i]);
        }
        at += WINDOW_BYTES;
    }
    return error;
}

static struct seep_error *walk_all(struct walk *walk) {
    const struct seep_image_header *header = &walk->head->header;
    struct seep_page_claims leaves = {NULL, 0, 0};
    struct seep_image_copy copy = {.head = *walk->head};
    struct seep_image_reader reader = {.copy = &copy};
    struct seep_error *error = read_odd(walk);
    if (!error)
        error = find_leaves(walk, &leaves);
    if (!error)
        seep_page_claims_settle(&reader, &leaves,
                                seep_image_leaf_planes(header) * seep_image_leaf_bytes(header) /
                                    SEEP_IMAGE_PAGE);
    if (leaves.nr_items)
        qsort(leaves.items, leaves.nr_items, sizeof(*leaves.items), compare_leaves);
    uint32_t plane_shift = SEEP_MAP_PLANE_SHIFT(header->flags);
    for (size_t i = 0; !error && !walk->over && i < leaves.nr_items;) {
        size_t first = i++;
        while (i < leaves.nr_items && i - first < PLANES_MOST &&
               leaves.items[i].owner >> plane_shift == leaves.items[first].owner >> plane_shift)
            i++;
        error = walk_leaves(walk, &leaves.items[first], i - first);
    }
    if (!error)
        tell_odd_before(walk, UINT64_MAX);
    free(leaves.items);
    return error;
}

struct seep_error *seep_image_look_blocks(const struct seep_image_look *look, seep_block_visit *visit,
                                          void *data) {
    const struct seep_image_head *head = seep_image_look_head(look);
    struct walk walk = {
        .look = look,
        .head = head,
        .visit = visit,
        .data = data,
        .now_ns = head->header.end_ns ? head->header.end_ns : (uint64_t)seep_monotonic_ns(),
        .words = malloc(WINDOW_BYTES),
        .births = malloc(WINDOW_BYTES),
        .window = malloc(PLANES_MOST * WINDOW_ENTRIES * sizeof(*walk.window)),
    };
    struct seep_error *error =
        walk.words && walk.births && walk.window ? walk_all(&walk) : seep_error_no_memory();
    free(walk.words);
    free(walk.births);
    free(walk.window);
    free(walk.odd);
    return error;
}
