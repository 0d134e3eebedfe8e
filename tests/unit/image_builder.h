// SPDX-License-Identifier: BSD-2-Clause
//
// Heap images made by hand: small, true to image/layout.h, and open to every lie a test wants to
// tell. An image is an array of pages, of which those marked as data are written.
//
// The image as made: two modules, stacks main->f and main->g, three sites, one thread (two with
// image_add_thread), live blocks at 0x10000 (48 bytes, site 2), 0x10030 (sub bit, 16 bytes, site 3)
// and an odd one, a temporary one freed.
#ifndef SEEP_TESTS_IMAGE_BUILDER_H
#define SEEP_TESTS_IMAGE_BUILDER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "image/raw.h"
#include "source/image/image_decode.h"

enum {
    PAGE_HEADER,
    PAGE_STRINGS,
    PAGE_MODULES,
    PAGE_NODES,
    PAGE_SITES,
    PAGE_THREADS,
    PAGE_ODD = PAGE_THREADS + 2,
    PAGE_DIR,
    PAGE_FIRST,
    PAGES_CHUNK_DIR = 1,
    PAGES_CHUNK = PAGES_CHUNK_DIR + 16,
    PAGES_CHUNK_DIR_2 = PAGES_CHUNK + 16,
    PAGES_CHUNK_2 = PAGES_CHUNK_DIR_2 + 16,
    PAGES_LEAF = PAGES_CHUNK_2 + 16,
    PAGES_PAGES = PAGES_LEAF + 2,
    PAGE_MAPPINGS = PAGE_FIRST + PAGES_PAGES,
    PAGE_MAP_SITES,
    PAGE_MISUSES,
    PAGE_CUSTOM_POOLS,
    PAGE_PIECES,
    PAGE_REGIONS,
    PAGE_MARKS,
    PAGE_TOOL_MARKS,
    NR_PAGES
};

#define BUILDER_LEAF_SHIFT 14u // 512 entries of 32 bytes: a page
#define BUILDER_DIR_BITS   4u

struct image_builder {
    unsigned char pages[NR_PAGES][SEEP_IMAGE_PAGE];
    unsigned char is_data[NR_PAGES];
    struct seep_image_header *header;
    struct seep_image_module *modules;
    struct seep_image_node *nodes;
    struct seep_image_site *sites;
    struct seep_image_thread *threads;
    struct seep_image_odd *odd;
    uint32_t *dir;
    uint32_t *chunk_dir;
    struct seep_image_counters *counters;
    uint64_t *leaf;
};

static void *builder_page(struct image_builder *image, unsigned page) {
    image->is_data[page] = 1;
    return image->pages[page];
}

static void *builder_image_page(struct image_builder *image, unsigned page) {
    return builder_page(image, PAGE_FIRST + page);
}

static uint64_t builder_string(struct image_builder *image, const char *text) {
    struct seep_image_area *area = &image->header->areas[SEEP_AREA_STRINGS];
    uint64_t off = area->used;
    memcpy(image->pages[PAGE_STRINGS] + off, text, strlen(text) + 1);
    area->used += strlen(text) + 1;
    return off;
}

static void builder_areas(struct image_builder *image) {
    static const unsigned first[SEEP_AREA_PAGED_NR + 1] = {
        PAGE_STRINGS, PAGE_MODULES, PAGE_NODES,    PAGE_SITES,      PAGE_THREADS, PAGE_ODD,
        PAGE_DIR,     PAGE_FIRST,   PAGE_MAPPINGS, PAGE_MAP_SITES,  PAGE_MISUSES, PAGE_CUSTOM_POOLS,
        PAGE_PIECES,  PAGE_REGIONS, PAGE_MARKS,    PAGE_TOOL_MARKS, NR_PAGES};
    struct seep_image_header *header = image->header;
    header->areas_off = offsetof(struct seep_image_header, areas);
    header->nr_areas = SEEP_AREA_NR;
    header->area_bytes = sizeof(header->areas[0]);
    for (uint32_t i = 0; i < SEEP_AREA_PAGED_NR; i++)
        header->areas[i] = (struct seep_image_area){
            .off = (uint64_t)first[i] * SEEP_IMAGE_PAGE,
            .size = (uint64_t)(first[i + 1] - first[i]) * SEEP_IMAGE_PAGE,
            .kind = i,
            .element_bytes = (uint32_t)seep_image_element_least(i),
        };
    header->areas[SEEP_AREA_LOSSES] = (struct seep_image_area){
        .off = offsetof(struct seep_image_header, lost),
        .size = sizeof(header->lost),
        .used = SEEP_LOST_NR,
        .kind = SEEP_AREA_LOSSES,
        .element_bytes = 8,
    };
}

static void builder_header(struct image_builder *image) {
    struct seep_image_header *header = image->header;
    header->magic = SEEP_IMAGE_MAGIC;
    header->version = SEEP_IMAGE_VERSION;
    header->header_size = offsetof(struct seep_image_header, areas);
    header->byte_order = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 1 : 2;
    header->word_bytes = 8;
    header->file_size = (uint64_t)NR_PAGES * SEEP_IMAGE_PAGE;
    header->pid = (uint32_t)getpid();
    header->ppid = 1;
    header->state = SEEP_STATE_EXITED;
    header->exit_code = 7;
    header->start_realtime_ns = UINT64_C(1700000000000000000);
    header->start_ns = 1000;
    header->end_ns = 5000;
    header->granule_shift = 5;
    header->leaf_shift = BUILDER_LEAF_SHIFT;
    header->dir_bits = BUILDER_DIR_BITS;
    header->depth_limit = 1024;
    header->peak_slack_bytes = 65536;
    header->peak_bytes_flushed = 270;
    header->lost[SEEP_LOST_REENTERED] = 2;
    builder_areas(image);
    header->areas[SEEP_AREA_STRINGS].used = 1;
    header->exe_off = builder_string(image, "/bin/program");
    header->args_off = builder_string(image, "program");
    builder_string(image, "");
    builder_string(image, "--last");
    header->nr_args = 3;
    header->nr_args_all = 5;
}

static void builder_stacks(struct image_builder *image) {
    struct seep_image_area *areas = image->header->areas;
    image->modules[1] = (struct seep_image_module){.path_off = builder_string(image, "/bin/program"),
                                                   .bias_rt = 0x400000,
                                                   .start_rt = 0x400000,
                                                   .end_rt = 0x500000,
                                                   .first_seen_ns = 1000,
                                                   .build_id_bytes = 4,
                                                   .build_id = {1, 2, 3, 4}};
    image->modules[2] = (struct seep_image_module){
        .path_off = builder_string(image, "/lib/libx.so"), .first_seen_ns = 2000, .unloaded_ns = 3000};
    areas[SEEP_AREA_MODULES].used = 3;
    image->nodes[1] = (struct seep_image_node){.frame = SEEP_FRAME_MAKE(1, 0, 0x1010)};
    image->nodes[2] =
        (struct seep_image_node){.frame = SEEP_FRAME_MAKE(1, 1, 0x2020), .parent = 1, .site = 2};
    image->nodes[3] = (struct seep_image_node){.frame = SEEP_FRAME_CUT(SEEP_CUT_LOOP)};
    image->nodes[4] =
        (struct seep_image_node){.frame = SEEP_FRAME_MAKE(2, 0, 0x3030), .parent = 3, .site = 3};
    areas[SEEP_AREA_NODES].used = 5;
    image->sites[2] = (struct seep_image_site){.node = 2, .via = SEEP_VIA_MALLOC};
    image->sites[3] = (struct seep_image_site){.node = 4, .via = SEEP_VIA_CALLOC};
    areas[SEEP_AREA_SITES].used = 4;
}

static void builder_counters(struct image_builder *image) {
    image->threads[0] = (struct seep_image_thread){.tid = 11,
                                                   .nr_owners = 1,
                                                   .name = "sixteen letters!", // no NUL
                                                   .chunk_dir_page = PAGES_CHUNK_DIR,
                                                   .net_room = 0,
                                                   .peak_bytes = 264,
                                                   .unknown_frees = 3,
                                                   .failed = 1};
    image->threads[0].releases[SEEP_RELEASE_FREE] = 1;
    image->threads[0].size_class[6] = 3;
    image->header->areas[SEEP_AREA_THREADS].used = 1;
    image->header->areas[SEEP_AREA_PAGES].used = PAGES_PAGES;
    image->chunk_dir[0] = PAGES_CHUNK;
    image->counters[2] = (struct seep_image_counters){.allocations = 2,
                                                      .allocated_bytes = 148,
                                                      .frees = 1,
                                                      .freed_bytes = 100,
                                                      .temporary = 1,
                                                      .peak_bytes = 148,
                                                      .size_min_inverted = ~UINT64_C(48),
                                                      .size_max = 100};
    image->counters[3] = (struct seep_image_counters){.allocations = 2,
                                                      .allocated_bytes = 116,
                                                      .peak_bytes = 116,
                                                      .size_min_inverted = ~UINT64_C(16),
                                                      .size_max = 100};
}

static void builder_blocks(struct image_builder *image) {
    image->dir[(0x10000 >> BUILDER_LEAF_SHIFT) << 1] = PAGES_LEAF;
    image->leaf[0] = SEEP_ENTRY_MAKE(2, 0, 48);
    image->leaf[1] = SEEP_ENTRY_MAKE(3, 1, 16);
    image->odd[5] = (struct seep_image_odd){.address = 0x7fff00000001, .size = 100, .site = 3};
}

static struct image_builder *image_build(void) {
    struct image_builder *image = calloc(1, sizeof(*image));
    if (!image)
        abort();
    image->header = builder_page(image, PAGE_HEADER);
    builder_page(image, PAGE_STRINGS);
    image->modules = builder_page(image, PAGE_MODULES);
    image->nodes = builder_page(image, PAGE_NODES);
    image->sites = builder_page(image, PAGE_SITES);
    image->threads = builder_page(image, PAGE_THREADS);
    image->odd = builder_page(image, PAGE_ODD);
    image->dir = builder_page(image, PAGE_DIR);
    image->chunk_dir = builder_image_page(image, PAGES_CHUNK_DIR);
    image->counters = builder_image_page(image, PAGES_CHUNK);
    image->leaf = builder_image_page(image, PAGES_LEAF);
    builder_header(image);
    builder_stacks(image);
    builder_counters(image);
    builder_blocks(image);
    return image;
}

static void builder_mark(struct image_builder *image, unsigned page, enum seep_area_kind kind, uint32_t tid,
                         uint64_t at_ns, const char *name, const unsigned char *counts,
                         uint32_t counts_bytes) {
    unsigned char *at = builder_page(image, page);
    struct seep_image_mark mark = {
        .tid = tid, .at_ns = at_ns, .name_bytes = (uint32_t)strlen(name), .counts_bytes = counts_bytes};
    mark.bytes = (uint32_t)(sizeof(mark) + mark.name_bytes + counts_bytes + 7) / 8 * 8;
    memcpy(at, &mark, sizeof(mark));
    memcpy(at + sizeof(mark), name, mark.name_bytes);
    if (counts_bytes)
        memcpy(at + sizeof(mark) + mark.name_bytes, counts, counts_bytes);
    image->header->areas[kind].used = mark.bytes;
}

// One pool, two pieces (one of no pool), two regions, a mark of the program and one of the tool.
static inline void image_annotate(struct image_builder *image) {
    struct seep_image_header *header = image->header;
    struct seep_image_custom_pool *pools = builder_page(image, PAGE_CUSTOM_POOLS);
    struct seep_image_piece *pieces = builder_page(image, PAGE_PIECES);
    struct seep_image_region *regions = builder_page(image, PAGE_REGIONS);
    static const unsigned char counts[] = {2, 3, 48, 0, 0, 0, 1, 1, 0xac, 2, 1, 16, 1};
    header->pools_created = 2;
    header->pools_destroyed = 1;
    pools[1] = (struct seep_image_custom_pool){0x8000, builder_string(image, "a pool"), 3000, 2, 2};
    pieces[1] = (struct seep_image_piece){.address = 0x9001, .bytes = 7, .site = 2};
    pieces[2] = (struct seep_image_piece){.address = 0x9100, .bytes = 9, .site = 3, .pool = 1};
    regions[1] = (struct seep_image_region){0x10000, 0, SEEP_REGION_IGNORED, 0};
    regions[2] = (struct seep_image_region){0x20000, 4096, SEEP_REGION_ROOT, 0};
    header->areas[SEEP_AREA_CUSTOM_POOLS].used = 2;
    header->areas[SEEP_AREA_PIECES].used = 3;
    header->areas[SEEP_AREA_REGIONS].used = 3;
    builder_mark(image, PAGE_MARKS, SEEP_AREA_MARKS, 7, 3000, "loaded", counts, sizeof(counts));
    builder_mark(image, PAGE_TOOL_MARKS, SEEP_AREA_TOOL_MARKS, 0, 2000, "before", NULL, 0);
}

// A second thread, which freed the block of site 2 and allocated one of 10 bytes at the odd multiple
// of 8 0x10048 (plane 1).
static inline void image_add_thread(struct image_builder *image) {
    image->threads[1] = (struct seep_image_thread){
        .tid = 12, .nr_owners = 2, .name = "other", .chunk_dir_page = PAGES_CHUNK_DIR_2, .peak_bytes = 10};
    image->header->areas[SEEP_AREA_THREADS].used = 2;
    uint32_t *dir = builder_image_page(image, PAGES_CHUNK_DIR_2);
    dir[0] = PAGES_CHUNK_2;
    struct seep_image_counters *counters = builder_image_page(image, PAGES_CHUNK_2);
    counters[2] = (struct seep_image_counters){.allocations = 1,
                                               .allocated_bytes = 10,
                                               .frees = 1,
                                               .freed_bytes = 48,
                                               .peak_bytes = 10,
                                               .size_min_inverted = ~UINT64_C(10),
                                               .size_max = 10};
    image->leaf[0] = 0;
    image->dir[(0x10000 >> BUILDER_LEAF_SHIFT) << 1 | 1] = PAGES_LEAF + 1;
    uint64_t *plane = builder_image_page(image, PAGES_LEAF + 1);
    plane[2] = SEEP_ENTRY_MAKE(2, 0, 10); // 0x10048: entry 2 (0x40), plane 1 (+8)
}

// A sparse memory file with the data pages.
static inline int image_to_memfd(const struct image_builder *image) {
    int fd = memfd_create("seep-image", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)NR_PAGES * SEEP_IMAGE_PAGE))
        abort();
    for (unsigned i = 0; i < NR_PAGES; i++)
        if (image->is_data[i] && pwrite(fd, image->pages[i], SEEP_IMAGE_PAGE, (off_t)i * SEEP_IMAGE_PAGE) !=
                                     (ssize_t)SEEP_IMAGE_PAGE)
            abort();
    return fd;
}

// A raw dump, malloc'ed.
static inline unsigned char *image_to_raw(const struct image_builder *image, size_t *ret_nr_bytes) {
    unsigned char *bytes = malloc(NR_PAGES * (SEEP_IMAGE_PAGE + sizeof(struct seep_raw_record)) + 64);
    if (!bytes)
        abort();
    struct seep_raw_header header = {.magic = SEEP_RAW_MAGIC, .version = SEEP_RAW_VERSION};
    struct seep_raw_record end = {.image_offset = SEEP_RAW_END};
    size_t at = sizeof(header);
    memcpy(bytes, &header, sizeof(header));
    for (unsigned i = 0; i < NR_PAGES; i++) {
        if (!image->is_data[i])
            continue;
        struct seep_raw_record record = {(uint64_t)i * SEEP_IMAGE_PAGE, SEEP_IMAGE_PAGE};
        memcpy(bytes + at, &record, sizeof(record));
        memcpy(bytes + at + sizeof(record), image->pages[i], SEEP_IMAGE_PAGE);
        at += sizeof(record) + SEEP_IMAGE_PAGE;
        end.nr_bytes += SEEP_IMAGE_PAGE;
    }
    memcpy(bytes + at, &end, sizeof(end));
    *ret_nr_bytes = at + sizeof(end);
    return bytes;
}

#endif
