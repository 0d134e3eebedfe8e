// SPDX-License-Identifier: BSD-2-Clause
// The table of codecs, and the smallest of them; see sections.h.
#include <string.h>

#include "file/sections.h"

#define SECTION(name) &seep_section_##name,
const struct seep_section *const seep_sections[] = {SEEP_SECTIONS(SECTION)};
#undef SECTION
const size_t seep_nr_sections = SEEP_ARRAY_SIZE(seep_sections);

const struct seep_section *seep_section_of(uint32_t type) {
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(seep_sections); i++)
        if (seep_sections[i]->type == type)
            return seep_sections[i];
    return NULL;
}

// ---- PLATFORM ----

static uint32_t platform_nr(const struct seep_profile *profile) {
    return profile->process.platform.word_bytes != 0;
}

static void platform_put(struct seep_put *put, const struct seep_profile *profile, uint32_t index) {
    const struct seep_platform *platform = &profile->process.platform;
    seep_put_leb(put, platform->machine);
    seep_put_leb(put, platform->word_bytes);
    seep_put_leb(put, platform->big_endian);
}

static const char *platform_take(struct seep_take *take, struct seep_profile *profile, bool *ret_no_memory) {
    *ret_no_memory = false;
    uint64_t machine = seep_take_leb(take);
    uint64_t word_bytes = seep_take_leb(take);
    bool big_endian = seep_take_bool(take);
    if (machine > UINT16_MAX || (word_bytes != 4 && word_bytes != 8))
        return "no machine is like that";
    profile->process.platform =
        (struct seep_platform){(uint16_t)machine, (uint8_t)word_bytes, (uint8_t)big_endian};
    return NULL;
}

const struct seep_section seep_section_platform = {
    SEEP_TRACE_PLATFORM, "PLATFORM", false, platform_nr, platform_put, SEEP_READS(platform_take)};

// ---- SLABS ----

static uint32_t slabs_nr(const struct seep_profile *profile) {
    for (size_t i = 0; i < profile->nr_thread_sites; i++)
        if (profile->thread_sites[i].slab_bytes)
            return 1;
    return 0;
}

static void slabs_put(struct seep_put *put, const struct seep_profile *profile, uint32_t index) {
    (void)index;
    for (size_t i = 0; i < profile->nr_thread_sites; i++)
        seep_put_leb(put, profile->thread_sites[i].slab_bytes);
}

static const char *slabs_take(struct seep_take *take, struct seep_profile *profile, bool *ret_no_memory) {
    *ret_no_memory = false;
    for (size_t i = 0; i < profile->nr_thread_sites && !take->failed; i++)
        profile->thread_sites[i].slab_bytes = seep_take_leb(take);
    return NULL;
}

const struct seep_section seep_section_slabs = {SEEP_TRACE_SLABS, "SLABS",   false,
                                                slabs_nr,         slabs_put, SEEP_READS(slabs_take)};

// ---- GIVEN ----

static bool is_in_library(const struct seep_profile *profile, uint64_t address) {
    for (uint32_t i = 1; i < profile->nr_modules; i++)
        if (address >= profile->modules[i].start_rt && address < profile->modules[i].end_rt)
            return strstr(profile->modules[i].path, "libseep") != NULL;
    return false;
}

// The only memory of the library that lies in the library. Other memory of the library may lie in a gap
// between segments of another module. NULL: none.
static const struct seep_image_range *given_of(const struct seep_profile *profile) {
    const struct seep_hints *hints = &profile->hints;
    for (size_t i = 0; i < hints->nr_own; i++)
        if (is_in_library(profile, hints->own[i].start))
            return &hints->own[i];
    return NULL;
}

static uint32_t given_nr(const struct seep_profile *profile) {
    return given_of(profile) != NULL;
}

static void given_put(struct seep_put *put, const struct seep_profile *profile, uint32_t index) {
    (void)index;
    const struct seep_image_range *given = given_of(profile);
    seep_put_leb(put, given->start);
    seep_put_leb(put, given->bytes);
}

static const char *given_take(struct seep_take *take, struct seep_profile *profile, bool *ret_no_memory) {
    struct seep_image_range *given = seep_arena_alloc(&profile->arena, 1, sizeof(*given));
    *ret_no_memory = !given;
    if (!given)
        return NULL;
    given->start = seep_take_leb(take);
    given->bytes = seep_take_leb(take);
    if (!take->failed && (!given->start || !given->bytes || given->bytes > UINT64_MAX - given->start))
        return "no memory is there";
    profile->hints.own = given;
    profile->hints.nr_own = 1;
    return NULL;
}

const struct seep_section seep_section_given = {SEEP_TRACE_GIVEN, "GIVEN",   false,
                                                given_nr,         given_put, SEEP_READS(given_take)};
