// SPDX-License-Identifier: BSD-2-Clause
// The MAPPINGS, WRONG_RELEASES, FIRST_RELEASES and ACCOUNT sections.
#include "file/sections.h"

static const char no_such_site[] = "a site that does not exist or is out of order";

// ---- writing -----------------------------------------------------------------------------------------

static void put_map_counts(struct seep_put *put, const struct seep_mapping_counts *counts) {
    seep_put_leb(put, counts->maps);
    seep_put_leb(put, counts->mapped_bytes);
    seep_put_leb(put, counts->unmaps);
    seep_put_leb(put, counts->unmapped_bytes);
    seep_put_leb(put, counts->peak_bytes);
}

static uint32_t mappings_nr(const struct seep_profile *profile) {
    return profile->nr_mapping_sites != 0;
}

static void mappings_put(struct seep_put *put, const struct seep_profile *profile, uint32_t index) {
    put_map_counts(put, &profile->mapping_totals);
    seep_put_leb(put, profile->nr_mapping_sites);
    for (uint32_t i = 0; i < profile->nr_mapping_sites; i++) {
        seep_put_leb(put, profile->mapping_sites[i].site - (i ? profile->mapping_sites[i - 1].site : 0));
        put_map_counts(put, &profile->mapping_sites[i].counts);
    }
    seep_put_leb(put, profile->nr_mappings);
    uint64_t start = 0;
    for (uint32_t i = 0; i < profile->nr_mappings; i++) {
        const struct seep_mapping *mapping = &profile->mappings[i];
        seep_put_leb(put, mapping->start - start);
        seep_put_leb(put, mapping->bytes);
        seep_put_leb(put, mapping->site);
        seep_put_leb(put, mapping->kind);
        seep_put_zigzag(put, mapping->age_ns);
        start = mapping->start;
    }
}

static uint32_t wrong_releases_nr(const struct seep_profile *profile) {
    return profile->nr_wrong_releases != 0;
}

static void wrong_releases_put(struct seep_put *put, const struct seep_profile *profile, uint32_t index) {
    seep_put_leb(put, profile->nr_wrong_releases);
    for (uint32_t i = 0; i < profile->nr_wrong_releases; i++) {
        const struct seep_wrong_release *wrong = &profile->wrong_releases[i];
        seep_put_leb(put, wrong->kind);
        seep_put_leb(put, wrong->site);
        seep_put_leb(put, wrong->release_site);
        seep_put_leb(put, wrong->count);
        seep_put_leb(put, wrong->address);
        seep_put_leb(put, wrong->size);
    }
}

static uint32_t first_releases_nr(const struct seep_profile *profile) {
    for (uint32_t i = 0; i < profile->nr_wrong_releases; i++)
        if (profile->wrong_releases[i].first_site)
            return true;
    return false;
}

static void first_releases_put(struct seep_put *put, const struct seep_profile *profile, uint32_t index) {
    seep_put_leb(put, profile->nr_wrong_releases);
    for (uint32_t i = 0; i < profile->nr_wrong_releases; i++)
        seep_put_leb(put, profile->wrong_releases[i].first_site);
}

static uint32_t account_nr(const struct seep_profile *profile) {
    return profile->account.known;
}

static void account_put(struct seep_put *put, const struct seep_profile *profile, uint32_t index) {
    const struct seep_account *account = &profile->account;
    seep_put_leb(put, account->by_page);
    seep_put_leb(put, account->rss_bytes);
    seep_put_leb(put, account->pss_bytes);
    seep_put_leb(put, account->swap_bytes);
    seep_put_leb(put, account->untouched_bytes);
    seep_put_list(put, account->bytes, SEEP_ACCOUNT_NR);
}

// ---- reading -----------------------------------------------------------------------------------------

static void take_map_counts(struct seep_take *take, struct seep_mapping_counts *counts) {
    counts->maps = seep_take_leb(take);
    counts->mapped_bytes = seep_take_leb(take);
    counts->unmaps = seep_take_leb(take);
    counts->unmapped_bytes = seep_take_leb(take);
    counts->peak_bytes = seep_take_leb(take);
}

// Room for as many elements as are said to follow, and no more than the bytes can hold. NULL with
// *ret_wrong set.
static void *take_elements(struct seep_take *take, struct seep_arena *arena, size_t least_bytes,
                           size_t element_bytes, uint32_t *ret_nr, bool *ret_no_memory,
                           const char **ret_wrong) {
    uint64_t nr = seep_take_leb(take);
    if (take->failed || nr > seep_take_left(take) / least_bytes) {
        *ret_wrong = "more elements than bytes for them";
        return NULL;
    }
    void *elements = seep_arena_alloc(arena, (size_t)nr, element_bytes);
    *ret_no_memory = !elements;
    *ret_wrong = elements ? NULL : "out of memory";
    *ret_nr = (uint32_t)nr;
    return elements;
}

static const char *take_map_sites(struct seep_take *take, struct seep_profile *profile, bool *ret_no_memory) {
    const char *wrong;
    uint32_t nr = 0;
    struct seep_mapping_site *sites =
        take_elements(take, &profile->arena, 6, sizeof(*sites), &nr, ret_no_memory, &wrong);
    uint64_t site = 0;
    for (uint32_t i = 0; !wrong && i < nr; i++) {
        uint64_t further = seep_take_leb(take);
        if (further >= profile->nr_sites - site || (i && !further))
            wrong = no_such_site;
        site += further;
        sites[i].site = (uint32_t)site;
        take_map_counts(take, &sites[i].counts);
    }
    if (!wrong) {
        profile->mapping_sites = sites;
        profile->nr_mapping_sites = nr;
    }
    return wrong;
}

static const char *mappings_take(struct seep_take *take, struct seep_profile *profile, bool *ret_no_memory) {
    *ret_no_memory = false;
    take_map_counts(take, &profile->mapping_totals);
    const char *wrong = take_map_sites(take, profile, ret_no_memory);
    uint32_t nr = 0;
    struct seep_mapping *mappings = NULL;
    if (!wrong)
        mappings = take_elements(take, &profile->arena, 5, sizeof(*mappings), &nr, ret_no_memory, &wrong);
    uint64_t start = 0;
    for (uint32_t i = 0; !wrong && i < nr; i++) {
        struct seep_mapping *mapping = &mappings[i];
        uint64_t further = seep_take_leb(take);
        mapping->bytes = seep_take_leb(take);
        mapping->site = seep_take_u32(take);
        mapping->kind = seep_take_u32(take);
        mapping->age_ns = seep_take_zigzag(take);
        if (__builtin_add_overflow(start, further, &start) || mapping->bytes > UINT64_MAX - start)
            wrong = "an address is out of range";
        else if (mapping->site >= profile->nr_sites)
            wrong = no_such_site;
        mapping->start = start;
    }
    if (!wrong) {
        profile->mappings = mappings;
        profile->nr_mappings = nr;
    }
    return wrong;
}

const struct seep_section seep_section_mappings = {
    SEEP_TRACE_MAPPINGS, "MAPPINGS", false, mappings_nr, mappings_put, SEEP_READS(mappings_take)};

static const char *wrong_releases_take(struct seep_take *take, struct seep_profile *profile,
                                       bool *ret_no_memory) {
    const char *wrong;
    uint32_t nr = 0;
    *ret_no_memory = false;
    struct seep_wrong_release *all =
        take_elements(take, &profile->arena, 6, sizeof(*all), &nr, ret_no_memory, &wrong);
    for (uint32_t i = 0; !wrong && i < nr; i++) {
        all[i].kind = seep_take_u32(take);
        all[i].site = seep_take_u32(take);
        all[i].release_site = seep_take_u32(take);
        all[i].count = seep_take_leb(take);
        all[i].address = seep_take_leb(take);
        all[i].size = seep_take_leb(take);
        if (all[i].site >= profile->nr_sites || all[i].release_site >= profile->nr_sites)
            wrong = no_such_site;
    }
    if (!wrong) {
        profile->wrong_releases = all;
        profile->nr_wrong_releases = nr;
    }
    return wrong;
}

const struct seep_section seep_section_wrong_releases = {
    SEEP_TRACE_WRONG_RELEASES, "WRONG_RELEASES",   false,
    wrong_releases_nr,         wrong_releases_put, SEEP_READS(wrong_releases_take)};

static const char *first_releases_take(struct seep_take *take, struct seep_profile *profile,
                                       bool *ret_no_memory) {
    *ret_no_memory = false;
    if (seep_take_leb(take) != profile->nr_wrong_releases)
        return "not as many as there are wrong releases";
    for (uint32_t i = 0; i < profile->nr_wrong_releases; i++) {
        profile->wrong_releases[i].first_site = seep_take_u32(take);
        if (profile->wrong_releases[i].first_site >= profile->nr_sites)
            return no_such_site;
    }
    return NULL;
}

const struct seep_section seep_section_first_releases = {
    SEEP_TRACE_FIRST_RELEASES, "FIRST_RELEASES",   false,
    first_releases_nr,         first_releases_put, SEEP_READS(first_releases_take)};

static const char *account_take(struct seep_take *take, struct seep_profile *profile, bool *ret_no_memory) {
    struct seep_account account = {.known = true};
    *ret_no_memory = false;
    account.by_page = seep_take_bool(take);
    account.rss_bytes = seep_take_leb(take);
    account.pss_bytes = seep_take_leb(take);
    account.swap_bytes = seep_take_leb(take);
    account.untouched_bytes = seep_take_leb(take);
    seep_take_list(take, account.bytes, SEEP_ACCOUNT_NR);
    profile->account = account;
    return NULL;
}

const struct seep_section seep_section_account = {SEEP_TRACE_ACCOUNT, "ACCOUNT",   false,
                                                  account_nr,         account_put, SEEP_READS(account_take)};
