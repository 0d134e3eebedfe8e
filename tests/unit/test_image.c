// SPDX-License-Identifier: BSD-2-Clause
// Images made by hand: true ones give exactly what was put in, lying ones an exact message or a
// counted note, never a crash.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "image_builder.h"
#include "image/raw.h"
#include "image/ring.h"
#include "source/image/image_look.h"
#include "source/image/profile_image.h"
#include "source/image/raw_file.h"

static void assert_ok(struct seep_error *err) {
    if (err)
        fail_msg("%s", err->message);
}

static void assert_error(struct seep_error *err, enum seep_error_code code, const char *part) {
    assert_non_null(err);
    if (err->code != code || !strstr(err->message, part))
        fail_msg("code %d, \"%s\" where code %d, \"%s\" was expected", err->code, err->message, code, part);
    assert_null(strchr(err->message, '\n'));
    seep_error_destroy(err);
}

// ---- one image over many looks ----

struct comparison {
    const struct seep_profile *profile;
    size_t nr; // blocks or sites that were visited
};

static bool compare_block(void *data, const struct seep_block *block) {
    struct comparison *comparison = data;
    if (comparison->nr >= comparison->profile->nr_blocks)
        return ++comparison->nr;
    const struct seep_block *expected = &comparison->profile->blocks[comparison->nr++];
    assert_int_equal(block->address, expected->address);
    assert_int_equal(block->size, expected->size);
    assert_int_equal(block->site, expected->site);
    assert_int_equal(block->age_ns, expected->age_ns);
    assert_int_equal(block->thread, expected->thread);
    return true;
}

static struct seep_error *compare_site(void *data, uint32_t site, const unsigned char *bytes, size_t nr) {
    struct comparison *comparison = data;
    const struct seep_counters *c = &comparison->profile->sites[site].counters;
    const struct seep_figures expected = {{c->allocations, c->allocated_bytes, c->frees, c->freed_bytes,
                                           c->temporary, c->peak_bytes, c->size_min, c->size_max}};
    struct seep_figures told = seep_figures_read(bytes, nr);
    assert_memory_equal(&told, &expected, sizeof(told));
    assert_int_equal(site, ++comparison->nr);
    return NULL;
}

static struct seep_error *count_site(void *data, uint32_t site, const unsigned char *bytes, size_t nr) {
    (void)site, (void)bytes, (void)nr;
    ++*(size_t *)data;
    return NULL;
}

static void compare_look(const struct seep_image_look *look, const struct seep_profile *profile) {
    const struct seep_profile *small = seep_image_look_profile(look);
    struct comparison sites = {profile, 0}, blocks = {profile, 0};
    assert_int_equal(seep_image_look_nr_nodes(look), profile->nr_nodes);
    assert_int_equal(seep_image_look_nr_sites(look), profile->nr_sites);
    assert_memory_equal(&small->totals, &profile->totals, sizeof(small->totals));
    assert_memory_equal(small->health.lost, profile->health.lost, sizeof(small->health.lost));
    assert_memory_equal(small->health.cut, profile->health.cut, sizeof(small->health.cut));
    assert_int_equal(small->health.events, profile->health.events);
    assert_int_equal(small->nr_threads, profile->nr_threads);
    for (uint32_t i = 0; i < profile->nr_threads; i++)
        assert_memory_equal(&small->threads[i], &profile->threads[i], sizeof(small->threads[i]));
    for (uint32_t i = 0; i < profile->nr_nodes; i++) {
        struct seep_node node;
        assert_ok(seep_image_look_nodes(look, i, 1, &node));
        assert_true(node.parent == profile->nodes[i].parent && node.module == profile->nodes[i].module &&
                    node.offset == profile->nodes[i].offset && node.kind == profile->nodes[i].kind);
    }
    assert_ok(seep_image_look_each(look, 0, false, compare_site, &sites));
    assert_int_equal(sites.nr, profile->nr_sites - 1);
    assert_ok(seep_image_look_blocks(look, compare_block, &blocks));
    assert_int_equal(blocks.nr, profile->nr_blocks);
    size_t nr;
    const struct seep_thread_figures *threads = seep_image_look_threads(look, false, &nr);
    assert_int_equal(nr, profile->nr_thread_sites);
    for (size_t i = 0; i < nr; i++) {
        assert_int_equal(threads[i].site, profile->thread_sites[i].site);
        assert_int_equal(threads[i].thread, profile->thread_sites[i].thread);
        assert_int_equal(threads[i].values[3], profile->thread_sites[i].counters.freed_bytes);
    }
}

// Looks twice, because nothing changes in between. A damaged image is only read. Takes the descriptor.
static void look_twice(int fd, const struct seep_profile *profile) {
    struct seep_image_look *look = NULL;
    size_t nr_changed = 0;
    assert_ok(seep_image_look_create(fd, getpid(), &look));
    assert_ok(seep_image_look_take(look, 1));
    if (!profile->health.nr_notes)
        compare_look(look, profile);
    assert_ok(seep_image_look_take(look, 2));
    assert_int_equal(seep_image_look_changed(look), 1);
    assert_ok(seep_image_look_each(look, 1, true, count_site, &nr_changed));
    assert_int_equal(nr_changed, 0);
    if (!profile->health.nr_notes)
        compare_look(look, profile);
    else
        assert_ok(seep_image_look_blocks(look, compare_block, &(struct comparison){profile, SIZE_MAX / 2}));
    seep_image_look_destroy(look);
}

static struct seep_profile *profile_of(const struct image_builder *image) {
    int fd = image_to_memfd(image);
    struct seep_image_copy *copy = NULL;
    struct seep_profile *profile = NULL;
    assert_ok(seep_image_copy_from_fd(fd, "test", &copy));
    assert_ok(seep_profile_from_image(copy, &profile));
    seep_image_copy_destroy(copy);
    look_twice(fd, profile);
    return profile;
}

static bool has_note(const struct seep_profile *profile, enum seep_note_code code) {
    for (size_t i = 0; i < profile->health.nr_notes; i++)
        if (profile->health.notes[i].code == code)
            return true;
    return false;
}

static void check_process(const struct seep_profile *profile) {
    const struct seep_process *process = &profile->process;
    assert_int_equal(process->pid, getpid());
    assert_int_equal(process->ppid, 1);
    assert_string_equal(process->exe, "/bin/program");
    assert_int_equal(process->nr_args, 3);
    assert_int_equal(process->nr_args_all, 5);
    assert_string_equal(process->args[0], "program");
    assert_string_equal(process->args[1], "");
    assert_string_equal(process->args[2], "--last");
    assert_int_equal(process->start_realtime_ns, INT64_C(1700000000000000000));
    assert_int_equal(process->duration_ns, 4000);
    assert_int_equal(process->exit_kind, SEEP_EXIT_CODE);
    assert_int_equal(process->exit_value, 7);
}

static void check_stacks(const struct seep_profile *profile) {
    assert_int_equal(profile->nr_modules, 3);
    assert_string_equal(profile->modules[1].path, "/bin/program");
    assert_int_equal(profile->modules[1].build_id_bytes, 4);
    assert_int_equal(profile->modules[1].unloaded_ns, -1);
    assert_int_equal(profile->modules[2].first_seen_ns, 1000);
    assert_int_equal(profile->modules[2].unloaded_ns, 2000);
    assert_int_equal(profile->nr_nodes, 5);
    assert_int_equal(profile->nodes[2].parent, 1);
    assert_int_equal(profile->nodes[2].module, 1);
    assert_int_equal(profile->nodes[2].offset, 0x2020);
    assert_true(profile->nodes[2].exact);
    assert_false(profile->nodes[1].exact);
    assert_int_equal(profile->nodes[3].kind, SEEP_NODE_CUT);
    assert_int_equal(profile->nodes[3].offset, SEEP_CUT_LOOP);
    assert_int_equal(profile->nr_sites, 4);
    assert_int_equal(profile->sites[2].via, SEEP_VIA_MALLOC);
    assert_int_equal(profile->sites[3].node, 4);
}

static void check_figures(const struct seep_profile *profile) {
    assert_int_equal(profile->sites[2].counters.allocations, 2);
    assert_int_equal(profile->sites[2].counters.size_min, 48);
    assert_int_equal(profile->sites[2].counters.size_max, 100);
    assert_int_equal(profile->sites[2].counters.temporary, 1);
    assert_int_equal(profile->sites[2].live_blocks, 1);
    assert_int_equal(profile->sites[2].live_bytes, 48);
    assert_int_equal(profile->sites[3].live_bytes, 116);
    assert_true(profile->sites[1].counters.size_min > profile->sites[1].counters.size_max);
    const struct seep_totals *totals = &profile->totals;
    assert_int_equal(totals->allocations, 4);
    assert_int_equal(totals->frees, 1);
    assert_int_equal(totals->live_bytes, 164);
    assert_int_equal(totals->peak_bytes, 264);
    assert_true(totals->peak_exact);
    assert_int_equal(totals->failed, 1);
    assert_int_equal(totals->unknown_frees, 3);
    assert_int_equal(totals->releases[SEEP_RELEASE_FREE], 1);
    assert_int_equal(totals->size_class[6], 3);
    assert_int_equal(totals->by_function[SEEP_VIA_CALLOC], 2);
    assert_int_equal(profile->health.events, 5);
    assert_int_equal(profile->health.lost[SEEP_LOST_REENTERED], 2);
    assert_int_equal(profile->nr_threads, 1);
    assert_string_equal(profile->threads[0].name, "sixteen letters!");
    assert_int_equal(profile->threads[0].allocations, 4);
    assert_int_equal(profile->nr_thread_sites, 2);
    assert_int_equal(profile->thread_sites[0].site, 2);
    assert_int_equal(profile->thread_sites[1].counters.allocated_bytes, 116);
}

static void check_blocks(const struct seep_profile *profile) {
    assert_int_equal(profile->nr_blocks, 3);
    assert_int_equal(profile->blocks[0].address, 0x10000);
    assert_int_equal(profile->blocks[0].size, 48);
    assert_int_equal(profile->blocks[0].site, 2);
    assert_int_equal(profile->blocks[0].thread, UINT32_MAX);
    assert_int_equal(profile->blocks[0].age_ns, -1);
    assert_int_equal(profile->blocks[1].address, 0x10030);
    assert_int_equal(profile->blocks[1].size, 16);
    assert_int_equal(profile->blocks[2].address, 0x7fff00000001);
    assert_int_equal(profile->blocks[2].site, 3);
}

static void check_all(const struct seep_profile *profile) {
    check_process(profile);
    check_stacks(profile);
    check_figures(profile);
    check_blocks(profile);
    assert_int_equal(profile->health.nr_notes, 0);
}

static void test_file(void **state) {
    struct image_builder *image = image_build();
    struct seep_profile *profile = profile_of(image);
    assert_int_equal(profile->health.cut[SEEP_CUT_LOOP], 1);
    check_all(profile);
    seep_profile_destroy(profile);
    free(image);
}

static void test_raw(void **state) {
    struct image_builder *image = image_build();
    size_t nr_bytes;
    unsigned char *bytes = image_to_raw(image, &nr_bytes);
    struct seep_session *session = NULL;
    assert_ok(seep_session_from_raw(bytes, nr_bytes, "dump", &session));
    assert_int_equal(session->nr_profiles, 1);
    assert_true(session->profiles[0]->process.is_main);
    check_all(session->profiles[0]);
    seep_session_destroy(session);
    free(bytes);
    free(image);
}

static void test_two_threads(void **state) {
    struct image_builder *image = image_build();
    image_add_thread(image);
    struct seep_profile *profile = profile_of(image);
    assert_int_equal(profile->nr_threads, 2);
    assert_int_equal(profile->nr_thread_sites, 3);
    assert_int_equal(profile->thread_sites[0].site, 2);
    assert_int_equal(profile->thread_sites[0].thread, 0);
    assert_int_equal(profile->thread_sites[1].thread, 1);
    assert_int_equal(profile->sites[2].counters.allocations, 3);
    assert_int_equal(profile->sites[2].counters.size_min, 10);
    assert_int_equal(profile->sites[2].live_bytes, 10);
    assert_false(profile->totals.peak_exact);
    assert_int_equal(profile->totals.peak_bytes, 270);
    // Its slots had 264 and 10 bytes at most. Not 2 * 65536, nor all that was allocated.
    assert_int_equal(profile->totals.peak_error_bytes, 270 - profile->totals.live_bytes);
    assert_int_equal(profile->nr_blocks, 3);
    assert_int_equal(profile->blocks[0].address, 0x10030);
    assert_int_equal(profile->blocks[1].address, 0x10048);
    assert_int_equal(profile->blocks[1].size, 10);
    seep_profile_destroy(profile);
    free(image);
}

// What threads have not flushed is in the peak when the counters were copied.
static void test_peak_of_two_threads_that_was_copied(void **state) {
    struct image_builder *image = image_build();
    image_add_thread(image);
    image->header->at_peak_which = 2;
    image->header->peak_bytes_flushed = 250;
    image->header->at_peak[1].peak_bytes = 262;
    struct seep_profile *profile = profile_of(image);
    assert_int_equal(profile->totals.peak_bytes, 262);
    seep_profile_destroy(profile);
    image->header->at_peak[1].peak_bytes = UINT64_MAX;
    profile = profile_of(image);
    assert_int_equal(profile->totals.peak_bytes, profile->totals.allocated_bytes);
    seep_profile_destroy(profile);
    free(image);
}

// A program that goes on may have a higher peak when it is read than all that the counters had before.
static void test_a_peak_that_is_read_later(void **state) {
    struct image_builder *image = image_build();
    image->threads[0].peak_bytes = 10000;
    struct seep_profile *profile = profile_of(image);
    assert_int_equal(profile->totals.peak_bytes, 264);
    seep_profile_destroy(profile);
    free(image);
}

static void test_running(void **state) {
    struct image_builder *image = image_build();
    image->header->state = SEEP_STATE_LIVE;
    image->header->end_ns = 0;
    image->counters[2].frees = 9; // read after what was allocated
    image->counters[2].freed_bytes = 9000;
    struct seep_profile *profile = profile_of(image);
    assert_int_equal(profile->process.exit_kind, SEEP_EXIT_RUNNING);
    assert_true(profile->process.duration_ns > 0);
    assert_int_equal(profile->sites[2].live_blocks, 0);
    assert_int_equal(profile->sites[2].counters.allocations, 9);
    assert_int_equal(profile->sites[2].counters.allocated_bytes, 9000);
    const struct seep_totals *totals = &profile->totals;
    assert_int_equal(totals->allocations - totals->frees, totals->live_blocks);
    assert_int_equal(totals->allocated_bytes - totals->freed_bytes, totals->live_bytes);
    assert_int_equal(profile->threads[0].allocations, totals->allocations);
    seep_profile_destroy(profile);
    free(image);
}

// ---- lies in the header: refused, with the exact reason --------------------------------------------

struct lie {
    void (*tell)(struct image_builder *image);
    enum seep_error_code code;
    const char *message;
};

#define LIE(name, statement)                                                                                 \
    static void name(struct image_builder *image) {                                                          \
        struct seep_image_header *header = image->header;                                                    \
        struct seep_image_area *areas = header->areas;                                                       \
        (void)areas;                                                                                         \
        statement;                                                                                           \
    }
LIE(lie_empty, header->magic = 0)
LIE(lie_magic, header->magic = 42)
LIE(lie_other_end, header->magic = __builtin_bswap64(SEEP_IMAGE_MAGIC)) // and the rest in ours
LIE(lie_version, header->version = 9)
LIE(lie_header_small, header->header_size = 8)
LIE(lie_header_big, header->header_size = 5000)
LIE(lie_order, header->byte_order ^= 3)
LIE(lie_word, header->word_bytes = 5)
LIE(lie_table_in_header, header->areas_off = 8)
LIE(lie_table_end, header->nr_areas = 1000)
LIE(lie_table_short, header->area_bytes = 24)
LIE(lie_twice, areas[SEEP_AREA_SITES].kind = SEEP_AREA_NODES)
LIE(lie_element_short, areas[SEEP_AREA_SITES].element_bytes = 8)
LIE(lie_element_zero, areas[SEEP_AREA_LOSSES].element_bytes = 0)
LIE(lie_element_long, areas[SEEP_AREA_NODES].element_bytes = SEEP_IMAGE_PAGE + 8)
LIE(lie_area_in_header, areas[SEEP_AREA_STRINGS].off = 8)
LIE(lie_area_in_table, areas[SEEP_AREA_LOSSES].off = header->areas_off + 8)
LIE(lie_area_unaligned, areas[SEEP_AREA_NODES].off += 1)
LIE(lie_area_end, areas[SEEP_AREA_TOOL_MARKS].size += SEEP_IMAGE_PAGE)
LIE(lie_area_wraps, areas[SEEP_AREA_PAGES].size = UINT64_MAX - 100)
LIE(lie_used, areas[SEEP_AREA_SITES].used = SEEP_IMAGE_PAGE)
LIE(lie_used_huge, areas[SEEP_AREA_THREADS].used = UINT64_MAX)
LIE(lie_pages_used, areas[SEEP_AREA_PAGES].used = PAGES_PAGES + 1)
LIE(lie_overlap, areas[SEEP_AREA_SITES].off = areas[SEEP_AREA_NODES].off)
LIE(lie_granule, header->granule_shift = 6)
LIE(lie_leaf, header->leaf_shift = 60)
LIE(lie_leaf_small, header->leaf_shift = 6)
LIE(lie_dir, header->dir_bits = 20)
LIE(lie_dir_huge, header->dir_bits = UINT32_MAX)

static const struct lie lies[] = {
    {lie_empty, SEEP_E_FORMAT, "test: the image is still empty"},
    {lie_magic, SEEP_E_FORMAT, "test: not a heap image (it begins with 0x000000000000002a)"},
    {lie_other_end, SEEP_E_VERSION, "test: image version 33554432; "},
    {lie_version, SEEP_E_VERSION, "test: image version 9; this seep reads versions 1 to 2"},
    {lie_header_small, SEEP_E_FORMAT, "test: header of 8 bytes"},
    {lie_header_big, SEEP_E_FORMAT, "test: header of 5000 bytes"},
    {lie_order, SEEP_E_FORMAT, "test: says byte order"},
    {lie_word, SEEP_E_FORMAT, "test: word size 5 is neither 4 nor 8"},
    {lie_table_in_header, SEEP_E_FORMAT, "test: table of 17 areas of 32 bytes at offset 8 is not whole"},
    {lie_table_end, SEEP_E_FORMAT, "test: table of 1000 areas of 32 bytes at offset"},
    {lie_table_short, SEEP_E_FORMAT, "test: table of 17 areas of 24 bytes at offset"},
    {lie_twice, SEEP_E_FORMAT, "test: two areas \"nodes\""},
    {lie_element_short, SEEP_E_FORMAT, "test: area \"sites\" has elements of 8 bytes, not 16"},
    {lie_element_zero, SEEP_E_FORMAT, "test: area \"losses\" has elements of 0 bytes, not 8"},
    {lie_element_long, SEEP_E_FORMAT, "test: area \"nodes\" has elements of 4104 bytes, not 16"},
    {lie_area_in_table, SEEP_E_FORMAT, "test: area \"losses\" at offset"},
    {lie_area_in_header, SEEP_E_FORMAT, "test: area \"strings\" at offset 8 lies "},
    {lie_area_unaligned, SEEP_E_FORMAT,
     "test: area \"nodes\" at offset 12289 lies in the header or is not aligned"},
    {lie_area_end, SEEP_E_FORMAT, "test: area \"marks of the tool\" ends beyond the file"},
    {lie_area_wraps, SEEP_E_FORMAT, "test: area \"pages\" ends "},
    {lie_used, SEEP_E_FORMAT, "test: area \"sites\" counts 4096 elements, but has room for 256"},
    {lie_used_huge, SEEP_E_FORMAT, "test: area \"threads\" counts 18446744073709551615 elements"},
    {lie_pages_used, SEEP_E_FORMAT, "test: area \"pages\" counts"},
    {lie_overlap, SEEP_E_FORMAT, "test: areas \"nodes\" and \"sites\" overlap"},
    {lie_granule, SEEP_E_FORMAT, "test: heap map of 2^6 bytes an entry"},
    {lie_leaf, SEEP_E_FORMAT, "test: heap map of 2^60 bytes a leaf"},
    {lie_leaf_small, SEEP_E_FORMAT, "test: heap map of 2^6 bytes a leaf"},
    {lie_dir, SEEP_E_FORMAT, "test: directory of 4096 bytes is too small for 2^20 leaves"},
    {lie_dir_huge, SEEP_E_FORMAT, "test: heap map with 2^4294967295 leaves"},
};

static void test_lies(void **state) {
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(lies); i++) {
        struct image_builder *image = image_build();
        lies[i].tell(image);
        int fd = image_to_memfd(image);
        struct seep_image_copy *copy = NULL;
        assert_error(seep_image_copy_from_fd(fd, "test", &copy), lies[i].code, lies[i].message);
        assert_null(copy);
        size_t nr_bytes;
        unsigned char *bytes = image_to_raw(image, &nr_bytes);
        assert_error(seep_image_copy_from_raw(bytes, nr_bytes, "test", &copy), lies[i].code, lies[i].message);
        free(bytes);
        close(fd);
        free(image);
    }
}

// ---- the door: what writers of other versions and machines may have --------------------------------

static void test_shapes(void **state) {
    for (int kind = 0; kind < SEEP_AREA_NR; kind++)
        assert_int_equal(seep_image_shape_bytes(kind), seep_image_element_least(kind));
    assert_int_equal(seep_image_shape_bytes(SEEP_AREA_NR), offsetof(struct seep_image_header, areas));
}

// An area that this seep does not know, one that the writer does not have, and a table elsewhere.
static void test_other_areas(void **state) {
    struct image_builder *image = image_build();
    struct seep_image_header *header = image->header;
    unsigned char *table = image->pages[PAGE_HEADER] + 3000;
    memcpy(table, header->areas, sizeof(header->areas));
    memset(header->areas, 0xff, sizeof(header->areas));
    ((struct seep_image_area *)table)[SEEP_AREA_REGIONS].kind = 4711;
    header->areas_off = 3000;
    struct seep_profile *profile = profile_of(image);
    check_figures(profile);
    assert_int_equal(profile->nr_regions, 0);
    seep_profile_destroy(profile);
    free(image);
}

// A newer writer has more in each element; ours is the beginning.
static void test_longer_elements(void **state) {
    struct image_builder *image = image_build();
    struct seep_image_area *area = &image->header->areas[SEEP_AREA_SITES];
    unsigned char longer[SEEP_IMAGE_PAGE] = {0};
    for (uint64_t i = 0; i < area->used; i++) {
        memset(longer + i * 40, 0xee, 40);
        memcpy(longer + i * 40, &image->sites[i], sizeof(image->sites[i]));
    }
    memcpy(image->sites, longer, sizeof(longer));
    area->element_bytes = 40;
    struct seep_profile *profile = profile_of(image);
    check_figures(profile);
    seep_profile_destroy(profile);
    free(image);
}

// Reasons that a newer writer has are not lost; those that an older one lacks are none.
static void test_losses(void **state) {
    struct image_builder *image = image_build();
    struct seep_image_area *area = &image->header->areas[SEEP_AREA_LOSSES];
    area->off = 3000;
    area->used = SEEP_LOST_NR + 2;
    area->size = area->used * sizeof(uint64_t);
    uint64_t *lost = (uint64_t *)(image->pages[PAGE_HEADER] + area->off);
    lost[0] = 1;
    lost[SEEP_LOST_NR - 1] = 10;
    lost[SEEP_LOST_NR] = 20;
    lost[SEEP_LOST_NR + 1] = 30;
    struct seep_profile *profile = profile_of(image);
    assert_int_equal(profile->health.lost[0], 1);
    assert_int_equal(profile->health.lost[SEEP_LOST_NR - 1], 60);
    seep_profile_destroy(profile);
    area->used = 1;
    profile = profile_of(image);
    assert_int_equal(profile->health.lost[0], 1);
    assert_int_equal(profile->health.lost[SEEP_LOST_NR - 1], 0);
    seep_profile_destroy(profile);
    free(image);
}

static void test_platform(void **state) {
    struct image_builder *image = image_build();
    image->header->elf_machine = EM_ARM;
    image->header->word_bytes = 4;
    struct seep_profile *profile = profile_of(image);
    assert_int_equal(profile->process.platform.machine, EM_ARM);
    assert_int_equal(profile->process.platform.word_bytes, 4);
    assert_int_equal(profile->process.platform.big_endian, SEEP_BIG_ENDIAN_HERE);
    seep_profile_destroy(profile);
    free(image);
}

// ---- lies further in: left out and said ------------------------------------------------------------

static void expect_note(struct image_builder *image, enum seep_note_code note) {
    struct seep_profile *profile = profile_of(image);
    assert_true(has_note(profile, note));
    for (uint32_t i = 1; i < profile->nr_nodes; i++) {
        assert_true(profile->nodes[i].parent < i);
        assert_true(profile->nodes[i].module < profile->nr_modules);
    }
    for (uint32_t i = 0; i < profile->nr_sites; i++) {
        assert_true(profile->sites[i].node < profile->nr_nodes);
        assert_true(profile->sites[i].via < SEEP_VIA_NR);
    }
    for (size_t i = 0; i < profile->nr_blocks; i++)
        assert_true(profile->blocks[i].site > 0 && profile->blocks[i].site < profile->nr_sites);
    for (size_t i = 0; i < profile->nr_thread_sites; i++) {
        assert_true(profile->thread_sites[i].site < profile->nr_sites);
        assert_true(profile->thread_sites[i].thread < profile->nr_threads);
    }
    seep_profile_destroy(profile);
    free(image);
}

LIE(bend_parent_forward, image->nodes[1].parent = 4)
LIE(bend_parent_self, image->nodes[2].parent = 2)
LIE(bend_module, image->nodes[2].frame = SEEP_FRAME_MAKE(77, 0, 1))
LIE(bend_cut_inside, image->nodes[2].frame = SEEP_FRAME_CUT(1))
LIE(bend_site_node, image->sites[2].node = 1000)
LIE(bend_site_via, image->sites[2].via = SEEP_VIA_NR)
LIE(bend_exe, header->exe_off = UINT64_MAX)
LIE(bend_path, image->modules[1].path_off = 4000)
LIE(bend_args, header->args_off = UINT64_MAX)
LIE(bend_nr_args, header->nr_args = UINT32_MAX)
LIE(bend_leaf_page, image->dir[8] = PAGES_PAGES)
LIE(bend_leaf_far, image->dir[8] = UINT32_MAX)
LIE(bend_leaf_twice, image->dir[9] = PAGES_LEAF)
LIE(bend_entry_site, image->leaf[0] = SEEP_ENTRY_MAKE(4, 0, 8))
LIE(bend_odd_site, image->odd[5].site = UINT64_C(1) << 32 | 2)
LIE(bend_chunk_dir, image->threads[0].chunk_dir_page = UINT64_MAX)
LIE(bend_chunk, image->chunk_dir[0] = PAGES_PAGES - 1)
LIE(bend_chunk_twice, image->chunk_dir[1] = PAGES_CHUNK)
LIE(bend_chunk_sites, (image->chunk_dir[0] = 0, image->chunk_dir[9] = PAGES_CHUNK))
LIE(bend_site_0, image->counters[0].allocations = 1)

static void test_bent_references(void **state) {
    static void (*const bends[])(struct image_builder *) = {
        bend_parent_forward, bend_parent_self, bend_module,      bend_cut_inside,  bend_site_node,
        bend_site_via,       bend_exe,         bend_path,        bend_args,        bend_nr_args,
        bend_leaf_page,      bend_leaf_far,    bend_leaf_twice,  bend_entry_site,  bend_odd_site,
        bend_chunk_dir,      bend_chunk,       bend_chunk_twice, bend_chunk_sites, bend_site_0,
    };
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(bends); i++) {
        struct image_builder *image = image_build();
        bends[i](image);
        expect_note(image, SEEP_NOTE_IMAGE_DAMAGED);
    }
}

// Counts that the file has room for but no data: must not be believed.
static void test_counts_without_data(void **state) {
    struct image_builder *image = image_build();
    image->is_data[PAGE_NODES] = 0;
    expect_note(image, SEEP_NOTE_IMAGE_INCOMPLETE);
    image = image_build();
    image->header->areas[SEEP_AREA_THREADS].used = 8;
    expect_note(image, SEEP_NOTE_IMAGE_INCOMPLETE);
}

static void test_cyclic_site_chain(void **state) {
    struct image_builder *image = image_build();
    image->sites[2].next = 3;
    image->sites[3].next = 2;
    struct seep_profile *profile = profile_of(image);
    check_figures(profile);
    seep_profile_destroy(profile);
    free(image);
}

static void test_same_address_twice(void **state) {
    struct image_builder *image = image_build();
    image->odd[9] = (struct seep_image_odd){.address = 0x10000, .size = 1, .site = 2};
    struct seep_profile *profile = profile_of(image);
    assert_int_equal(profile->nr_blocks, 3);
    seep_profile_destroy(profile);
    free(image);
}

// However many elements name a string, or parts of it, it takes its bytes once.
static void test_strings_are_there_once(void **state) {
    struct image_builder *image = image_build();
    image->modules[2].path_off = image->modules[1].path_off + 5;
    struct seep_profile *profile = profile_of(image);
    assert_string_equal(profile->modules[2].path, "program");
    assert_ptr_equal(profile->modules[2].path, profile->modules[1].path + 5);
    assert_false(has_note(profile, SEEP_NOTE_IMAGE_DAMAGED));
    seep_profile_destroy(profile);
    free(image);
}

// ---- what the program told ----

static void test_annotations(void **state) {
    struct image_builder *image = image_build();
    image_annotate(image);
    struct seep_profile *profile = profile_of(image);
    assert_int_equal(profile->pool_totals.pools_created, 2);
    assert_int_equal(profile->nr_pools, 1);
    assert_string_equal(profile->pools[0].name, "a pool");
    assert_int_equal(profile->pools[0].age_ns, 5000 - 3000);
    assert_int_equal(profile->nr_pieces, 2);
    assert_true(profile->pieces[0].address == 0x9001 && profile->pieces[0].pool == UINT32_MAX);
    assert_true(profile->pieces[1].address == 0x9100 && profile->pieces[1].pool == 0);
    assert_int_equal(profile->pieces[0].age_ns, -1);
    assert_int_equal(profile->nr_regions, 2);
    assert_int_equal(profile->regions[1].kind, SEEP_REGION_ROOT);
    assert_int_equal(profile->nr_marks, 2); // in order of time, the tool's first
    assert_string_equal(profile->marks[0].name, "before");
    assert_int_equal(profile->marks[0].tid, 0);
    assert_false(profile->marks[0].counted);
    assert_string_equal(profile->marks[1].name, "loaded");
    assert_int_equal(profile->marks[1].at_ns, 2000);
    assert_int_equal(profile->marks[1].nr_sites, 2);
    assert_int_equal(profile->marks[1].sites[1].site, 3);
    assert_int_equal(profile->marks[1].sites[1].allocated_bytes, 300);
    assert_false(has_note(profile, SEEP_NOTE_IMAGE_DAMAGED));
    seep_profile_destroy(profile);
    free(image);
}

static void test_bent_annotations(void **state) {
    struct image_builder *image = image_build();
    image_annotate(image);
    ((struct seep_image_piece *)image->pages[PAGE_PIECES])[1].site = 99;
    ((struct seep_image_piece *)image->pages[PAGE_PIECES])[2].pool = 99; // of none then
    ((struct seep_image_custom_pool *)image->pages[PAGE_CUSTOM_POOLS])[1].name_off = UINT64_MAX;
    ((struct seep_image_region *)image->pages[PAGE_REGIONS])[1].kind = 99;
    ((struct seep_image_region *)image->pages[PAGE_REGIONS])[2].bytes = UINT64_MAX;
    image->pages[PAGE_MARKS][sizeof(struct seep_image_mark) + 6] = 0xff; // a number of the counts
    ((struct seep_image_mark *)image->pages[PAGE_TOOL_MARKS])->name_bytes = 4000;
    image->header->areas[SEEP_AREA_REGIONS].used = 100;
    struct seep_profile *profile = profile_of(image);
    assert_int_equal(profile->nr_pools, 1);
    assert_null(profile->pools[0].name);
    assert_int_equal(profile->nr_pieces, 1);
    assert_int_equal(profile->nr_regions, 0);
    assert_int_equal(profile->nr_marks, 1);
    assert_int_equal(profile->marks[0].nr_sites, 0);
    assert_true(has_note(profile, SEEP_NOTE_IMAGE_DAMAGED));
    seep_profile_destroy(profile);
    free(image);
}

// ---- dumps ---------------------------------------------------------------------------------------

static void test_cut_dump(void **state) {
    struct image_builder *image = image_build();
    size_t nr_bytes;
    unsigned char *bytes = image_to_raw(image, &nr_bytes);
    size_t nr_read = 0;
    for (size_t cut = 0; cut < nr_bytes; cut += cut < 64 ? 1 : 251) {
        // In memory of its own size, so that a sanitizer sees every read beyond.
        unsigned char *part = malloc(cut + 1);
        memcpy(part, bytes, cut);
        struct seep_session *session = NULL;
        struct seep_error *err = seep_session_from_raw(part, cut, "dump", &session);
        if (!err) {
            assert_true(has_note(session->profiles[0], SEEP_NOTE_IMAGE_CUT));
            nr_read++;
        }
        seep_error_destroy(err);
        seep_session_destroy(session);
        free(part);
    }
    assert_true(nr_read > 0);
    free(bytes);
    free(image);
}

static void expect_raw(const unsigned char *bytes, size_t nr_bytes, enum seep_error_code code,
                       const char *message) {
    struct seep_session *session = NULL;
    struct seep_error *err = seep_session_from_raw(bytes, nr_bytes, "dump", &session);
    assert_true(err && err->hint); // what to do
    assert_error(err, code, message);
    assert_null(session);
}

static void test_bad_dumps(void **state) {
    struct image_builder *image = image_build();
    size_t nr_bytes;
    unsigned char *bytes = image_to_raw(image, &nr_bytes);
    expect_raw(bytes, 3, SEEP_E_FORMAT, "dump: not a raw dump (only 3 bytes)");
    struct seep_raw_record end = {SEEP_RAW_END, 4096};
    memcpy(bytes + nr_bytes - sizeof(end), &end, sizeof(end));
    expect_raw(bytes, nr_bytes, SEEP_E_FORMAT, "dump: its end counts 4096 bytes of data, but it has 45056");
    struct seep_raw_record again = {0, 4096};
    memcpy(bytes + nr_bytes - sizeof(again), &again, sizeof(again));
    // The data of this one is missing, so it cannot overlap yet; with data it does.
    unsigned char *longer = calloc(1, nr_bytes + 4096);
    memcpy(longer, bytes, nr_bytes);
    expect_raw(longer, nr_bytes + 4096, SEEP_E_FORMAT, "dump: two pieces of the image at offset 0");
    free(longer);
    struct seep_raw_record odd = {1, 4096};
    memcpy(bytes + 16, &odd, sizeof(odd));
    expect_raw(bytes, nr_bytes, SEEP_E_FORMAT, "dump: record at offset 16 is not whole pages of an image");
    bytes[8] = 2;
    expect_raw(bytes, nr_bytes, SEEP_E_VERSION, "dump: raw dump of version 2; this seep reads version 1");
    bytes[0] = 0;
    expect_raw(bytes, nr_bytes, SEEP_E_FORMAT, "dump: not a raw dump");
    free(bytes);
    free(image);
}

// ---- files and processes ---------------------------------------------------------------------------

static void test_bad_files(void **state) {
    struct seep_image_copy *copy = NULL;
    int fd = memfd_create("empty", MFD_CLOEXEC);
    assert_error(seep_image_copy_from_fd(fd, "empty", &copy), SEEP_E_FORMAT,
                 "empty: not a heap image (only 0 bytes)");
    close(fd);
    fd = open("/", O_RDONLY | O_CLOEXEC);
    assert_error(seep_image_copy_from_fd(fd, "/", &copy), SEEP_E_FORMAT, "/: not a heap image (not a file)");
    close(fd);
    assert_null(copy);
}

static void test_truncated_file(void **state) {
    struct image_builder *image = image_build();
    int fd = image_to_memfd(image);
    assert_int_equal(ftruncate(fd, PAGE_FIRST * SEEP_IMAGE_PAGE), 0);
    struct seep_image_copy *copy = NULL;
    struct seep_profile *profile = NULL;
    assert_ok(seep_image_copy_from_fd(fd, "test", &copy));
    assert_ok(seep_profile_from_image(copy, &profile));
    assert_true(has_note(profile, SEEP_NOTE_IMAGE_CUT));
    assert_int_equal(profile->totals.allocations, 0);
    seep_profile_destroy(profile);
    seep_image_copy_destroy(copy);
    close(fd);
    free(image);
}

// The image of a recorded process, with nr_more pages of data behind the others. Its rings are named in page
// PAGES_PAGES + NR_PAGES.
static int recorded_image(struct image_builder *image, int nr_more) {
    enum { DIR = PAGES_PAGES + NR_PAGES };
    struct seep_image_area *areas = image->header->areas;
    int end = DIR + 1 + nr_more;
    areas[SEEP_AREA_PAGES].size = (uint64_t)end * SEEP_IMAGE_PAGE;
    for (int i = SEEP_AREA_MAPPINGS; i < SEEP_AREA_PAGED_NR; i++)
        areas[i].off = image->header->file_size = (uint64_t)(PAGE_FIRST + end) * SEEP_IMAGE_PAGE,
        areas[i].size = 0;
    image->header->flags |= SEEP_FLAG_EVENTS;
    image->header->ring_dir_page = DIR;
    int fd = image_to_memfd(image);
    unsigned char page[SEEP_IMAGE_PAGE];
    memset(page, 7, sizeof(page));
    for (int i = DIR + 1; i < end; i++)
        assert_int_equal(pwrite(fd, page, sizeof(page), (PAGE_FIRST + i) * SEEP_IMAGE_PAGE), sizeof(page));
    return fd;
}

static bool has_page(const struct seep_image_copy *copy, int page) {
    return seep_image_dense(copy, (uint64_t)(PAGE_FIRST + page) * SEEP_IMAGE_PAGE, SEEP_IMAGE_PAGE);
}

// What the program wrote into its rings is taken from the file, and a copy has all the rest.
static void test_rings_are_not_copied(void **state) {
    enum { DIR = PAGES_PAGES + NR_PAGES, RING = DIR + 64, CAPACITY = 1024, BEHIND = RING + 1 + 6 };
    struct image_builder *image = image_build();
    int fd = recorded_image(image, BEHIND - DIR);
    const struct seep_ring ring = {.written = 1, .capacity = CAPACITY};
    const uint32_t at = RING;
    assert_int_equal(pwrite(fd, &ring, sizeof(ring), (PAGE_FIRST + RING) * SEEP_IMAGE_PAGE), sizeof(ring));
    assert_int_equal(pwrite(fd, &at, sizeof(at), (PAGE_FIRST + DIR) * SEEP_IMAGE_PAGE), sizeof(at));
    struct seep_image_copy *copy = NULL;
    assert_ok(seep_image_copy_from_fd(fd, "test", &copy));
    for (int i = RING; i <= BEHIND; i++)
        assert_int_equal(has_page(copy, i), i == RING || i == BEHIND);
    seep_image_copy_destroy(copy);
    close(fd);
    free(image);
}

// Stamps are behind the entries of a leaf, and only the program's own library reads them. Two leaves at one page
// are one; a leaf that is not in the file says nothing of others.
static void test_stamps_are_not_copied(void **state) {
    struct image_builder *image = image_build();
    int plane = (1 << (image->header->leaf_shift - image->header->granule_shift)) * 8 / (int)SEEP_IMAGE_PAGE;
    int leaf = PAGES_PAGES + NR_PAGES + 64, behind = leaf + 2 * plane;
    assert_true(plane > 0);
    image->dir[4] = image->dir[6] = (uint32_t)leaf;
    image->dir[7] = UINT32_MAX;
    int fd = recorded_image(image, behind - PAGES_PAGES - NR_PAGES);
    struct seep_image_copy *copy = NULL;
    assert_ok(seep_image_copy_from_fd(fd, "test", &copy));
    for (int i = leaf; i <= behind; i++)
        assert_int_equal(has_page(copy, i), i < leaf + plane || i == behind);
    seep_image_copy_destroy(copy);
    close(fd);
    free(image);
}

static void test_reading_across_extents(void **state) {
    struct image_builder *image = image_build();
    image->is_data[PAGE_THREADS + 1] = 0;
    memset(image->pages[PAGE_STRINGS] + 4000, 7, 96);
    size_t nr_bytes;
    unsigned char *bytes = image_to_raw(image, &nr_bytes); // each page is an extent of its own
    struct seep_image_copy *copy = NULL;
    assert_ok(seep_image_copy_from_raw(bytes, nr_bytes, "dump", &copy));
    unsigned char got[200];
    memset(got, 9, sizeof(got));
    seep_image_read(copy, PAGE_STRINGS * SEEP_IMAGE_PAGE + 4090, got, 12);
    assert_memory_equal(got, "\7\7\7\7\7\7\0\0\0\0\0\0", 12);
    assert_int_equal(got[12], 9);
    seep_image_read(copy, UINT64_MAX - 10, got, 200);
    assert_int_equal(got[0], 0);
    assert_int_equal(seep_image_dense(copy, PAGE_NODES * SEEP_IMAGE_PAGE + 100, 1 << 20),
                     3 * SEEP_IMAGE_PAGE - 100);
    assert_null(seep_image_bytes(copy, PAGE_STRINGS * SEEP_IMAGE_PAGE + 4090, 12));
    assert_int_equal(seep_image_bytes(copy, (PAGE_THREADS + 1) * SEEP_IMAGE_PAGE, 4096)[4095], 0);
    assert_int_equal(seep_image_bytes(copy, PAGE_STRINGS * SEEP_IMAGE_PAGE + 4000, 96)[95], 7);
    seep_image_copy_destroy(copy);
    free(bytes);
    free(image);
}

// Blocks of a file, to see that looking does not fill holes.
static blkcnt_t blocks_of(int fd) {
    struct stat status;
    assert_int_equal(fstat(fd, &status), 0);
    return status.st_blocks;
}

static void check_pid(unsigned flags) {
    struct image_builder *image = image_build();
    int fd = image_to_memfd(image);
    unsigned char *window =
        mmap(NULL, (size_t)NR_PAGES * SEEP_IMAGE_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(window != MAP_FAILED);
    // As the library does it: data is in the page table, some of the rest may not be accessed.
    for (unsigned i = 0; i < NR_PAGES; i++)
        if (image->is_data[i])
            ((volatile unsigned char *)window)[(size_t)i * SEEP_IMAGE_PAGE] += 0;
    assert_int_equal(mprotect(window + (size_t)(PAGE_FIRST + PAGES_CHUNK_DIR_2) * SEEP_IMAGE_PAGE,
                              (size_t)16 * SEEP_IMAGE_PAGE, PROT_NONE),
                     0);
    blkcnt_t before = blocks_of(fd);
    struct seep_image_copy *copy = NULL;
    struct seep_profile *profile = NULL;
    assert_ok(seep_image_copy_from_pid(getpid(), flags, &copy));
    assert_int_equal(blocks_of(fd), before);
    assert_ok(seep_profile_from_image(copy, &profile));
    check_all(profile);
    seep_profile_destroy(profile);
    seep_image_copy_destroy(copy);
    // A child that has not used its heap yet still maps our image.
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        pause();
        _exit(0);
    }
    copy = NULL;
    assert_error(seep_image_copy_from_pid(child, flags, &copy), SEEP_E_NOT_FOUND,
                 "has no image of its own yet");
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_error(seep_image_copy_from_pid(child, flags, &copy), SEEP_E_NOT_FOUND, "no process");
    munmap(window, (size_t)NR_PAGES * SEEP_IMAGE_PAGE);
    close(fd);
    char part[64];
    snprintf(part, sizeof(part), "process %d (", (int)getpid());
    assert_error(seep_image_copy_from_pid(getpid(), flags, &copy), SEEP_E_NOT_FOUND, part);
    free(image);
}

static void test_pid(void **state) {
    check_pid(0);
}

static void test_pid_memory(void **state) {
    check_pid(SEEP_IMAGE_PID_ONLY_MEM);
}

// The kernel takes the memory of a process that ends before it says that the process has ended. With much memory
// that takes long.
static void test_pid_that_ends(void **state) {
    (void)state;
    enum { ROUNDS = 20, MEMORY = 64 << 20 };
    for (int round = 0; round < ROUNDS; round++) {
        int ready[2];
        assert_int_equal(pipe(ready), 0);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            void *memory =
                mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
            if (memory != MAP_FAILED && write(ready[1], "", 1) == 1)
                pause();
            _exit(1);
        }
        char byte;
        assert_int_equal(read(ready[0], &byte, 1), 1);
        close(ready[0]);
        close(ready[1]);
        kill(child, SIGKILL);
        siginfo_t info = {.si_pid = 0};
        while (info.si_pid != child) {
            assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT), 0);
            struct seep_image_copy *copy = NULL;
            struct seep_error *err = seep_image_copy_from_pid(child, 0, &copy);
            assert_non_null(err);
            assert_int_equal(err->code, SEEP_E_NOT_FOUND);
            assert_null(strstr(err->message, "part of the kernel"));
            seep_error_destroy(err);
        }
        waitpid(child, NULL, 0);
    }
}

// Which pages count begins anew behind the whole image, whatever a file has there.
static void test_raw_file_begins_anew_behind_the_whole(void **state) {
    (void)state;
    static const uint64_t offsets[] = {SEEP_RAW_EVENTS, 0, SEEP_RAW_WHOLE, SEEP_RAW_EVENTS, 0, SEEP_RAW_END};
    static unsigned char page[SEEP_IMAGE_PAGE];
    const struct seep_raw_header header = {.magic = SEEP_RAW_MAGIC, .version = SEEP_RAW_VERSION};
    int fd = memfd_create("raw", MFD_CLOEXEC);
    assert_int_equal(write(fd, &header, sizeof(header)), sizeof(header));
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(offsets); i++) {
        const struct seep_raw_record record = {offsets[i], offsets[i] ? 0 : sizeof(page)};
        memset(page, (int)i, sizeof(page));
        assert_int_equal(write(fd, &record, sizeof(record)), sizeof(record));
        assert_int_equal(write(fd, page, record.nr_bytes), record.nr_bytes);
    }
    struct seep_raw_file file;
    assert_ok(seep_raw_file_read(fd, "raw", 1 << 20, &file));
    // Header, WHOLE, EVENTS, the page, END.
    assert_int_equal(file.nr_bytes, sizeof(header) + 4 * sizeof(struct seep_raw_record) + sizeof(page));
    const unsigned char *first = file.bytes + sizeof(header) + 3 * sizeof(struct seep_raw_record);
    assert_int_equal(first[0], 4);
    seep_raw_file_deinit(&file);
    close(fd);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_file),
        cmocka_unit_test(test_raw),
        cmocka_unit_test(test_raw_file_begins_anew_behind_the_whole),
        cmocka_unit_test(test_two_threads),
        cmocka_unit_test(test_peak_of_two_threads_that_was_copied),
        cmocka_unit_test(test_a_peak_that_is_read_later),
        cmocka_unit_test(test_running),
        cmocka_unit_test(test_lies),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_other_areas),
        cmocka_unit_test(test_longer_elements),
        cmocka_unit_test(test_losses),
        cmocka_unit_test(test_platform),
        cmocka_unit_test(test_bent_references),
        cmocka_unit_test(test_counts_without_data),
        cmocka_unit_test(test_cyclic_site_chain),
        cmocka_unit_test(test_same_address_twice),
        cmocka_unit_test(test_annotations),
        cmocka_unit_test(test_strings_are_there_once),
        cmocka_unit_test(test_bent_annotations),
        cmocka_unit_test(test_cut_dump),
        cmocka_unit_test(test_bad_dumps),
        cmocka_unit_test(test_bad_files),
        cmocka_unit_test(test_truncated_file),
        cmocka_unit_test(test_rings_are_not_copied),
        cmocka_unit_test(test_stamps_are_not_copied),
        cmocka_unit_test(test_reading_across_extents),
        cmocka_unit_test(test_pid),
        cmocka_unit_test(test_pid_memory),
        cmocka_unit_test(test_pid_that_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
