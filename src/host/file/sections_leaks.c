// SPDX-License-Identifier: BSD-2-Clause
// The LEAKS, HOLDERS and LEADERS sections: how each block was classed, and what keeps the most. Four kinds
// take two bits, so a section has room for 2^27 blocks and more. Words in place of chains (sections_chains.c)
// stand in older traces only.
#include "file/sections.h"

static uint32_t leaks_nr(const struct seep_profile *profile) {
    return profile->leaks.known;
}

static void leaks_put(struct seep_put *put, const struct seep_profile *profile, uint32_t index) {
    const struct seep_leaks *leaks = &profile->leaks;
    seep_put_zigzag(put, leaks->pause_ns);
    seep_put_leb(put, leaks->read_bytes);
    seep_put_leb(put, leaks->unread_bytes);
    seep_put_leb(put, leaks->nr_threads);
    seep_put_leb(put, profile->nr_blocks);
    for (size_t i = 0; i < profile->nr_blocks; i += 4) {
        unsigned char byte = 0;
        for (size_t j = i; j < profile->nr_blocks && j < i + 4; j++)
            byte |= (unsigned char)(((profile->block_kinds[j] - 1u) & 3) << (2 * (j - i)));
        seep_put_bytes(put, &byte, 1);
    }
    seep_put_leb(put, 0);
}

static const struct seep_chain *chain_of_text(struct seep_profile *profile, const char *text, size_t length) {
    struct seep_chain *chain = seep_arena_alloc(&profile->arena, 1, sizeof(*chain));
    struct seep_link *link = seep_arena_alloc(&profile->arena, 1, sizeof(*link));
    if (!chain || !link)
        return NULL;
    *link =
        (struct seep_link){.kind = SEEP_LINK_TEXT, .text = seep_arena_strndup(&profile->arena, text, length)};
    *chain = (struct seep_chain){link, 1};
    return link->text ? chain : NULL;
}

static const char *take_kinds(struct seep_take *take, struct seep_profile *profile, bool *ret_no_memory) {
    uint64_t nr = seep_take_leb(take);
    if (take->failed || nr != profile->nr_blocks)
        return "the number of its blocks is not that of the process";
    const unsigned char *bytes = seep_take_bytes(take, nr / 4 + (nr % 4 != 0));
    if (!bytes)
        return "cut short, or a number is out of range";
    profile->block_kinds = seep_arena_alloc(&profile->arena, SEEP_MAX((size_t)nr, (size_t)1), 1);
    *ret_no_memory = !profile->block_kinds;
    for (uint64_t i = 0; profile->block_kinds && i < nr; i++)
        profile->block_kinds[i] = (uint8_t)(1 + (bytes[i / 4] >> (2 * (i % 4)) & 3));
    return NULL;
}

static const char *take_holders(struct seep_take *take, struct seep_profile *profile, bool *ret_no_memory) {
    uint64_t nr = seep_take_leb(take);
    for (uint64_t i = 0; i < nr && !take->failed; i++) {
        uint64_t site = seep_take_leb(take);
        size_t length;
        const char *text = seep_take_text(take, &length);
        if (take->failed)
            break;
        if (site >= profile->nr_sites)
            return "a site does not exist";
        profile->sites[site].held = text ? chain_of_text(profile, text, length) : NULL;
        *ret_no_memory |= text && !profile->sites[site].held;
    }
    return take->failed ? "cut short, or a number is out of range" : NULL;
}

static const char *leaks_take(struct seep_take *take, struct seep_profile *profile, bool *ret_no_memory) {
    *ret_no_memory = false;
    if (profile->leaks.known)
        return "stands twice";
    struct seep_leaks *leaks = &profile->leaks;
    leaks->pause_ns = seep_take_zigzag(take);
    leaks->read_bytes = seep_take_leb(take);
    leaks->unread_bytes = seep_take_leb(take);
    uint64_t nr_threads = seep_take_leb(take);
    if (nr_threads > UINT32_MAX)
        return "cut short, or a number is out of range";
    leaks->nr_threads = (uint32_t)nr_threads;
    const char *wrong = take_kinds(take, profile, ret_no_memory);
    if (!wrong && !*ret_no_memory)
        wrong = take_holders(take, profile, ret_no_memory);
    if (!wrong && !*ret_no_memory)
        seep_profile_derive_leaks(profile);
    return wrong;
}

const struct seep_section seep_section_leaks = {SEEP_TRACE_LEAKS, "LEAKS",   false,
                                                leaks_nr,         leaks_put, SEEP_READS(leaks_take)};

// ---- HOLDERS ----

static uint32_t holders_nr(const struct seep_profile *profile) {
    return profile->leaks.nr_holders_all != 0;
}

static void holders_put(struct seep_put *put, const struct seep_profile *profile, uint32_t index) {
    const struct seep_leaks *leaks = &profile->leaks;
    seep_put_leb(put, leaks->nr_holders_all);
    seep_put_leb(put, leaks->nr_holders);
    for (uint32_t i = 0; i < leaks->nr_holders; i++) {
        seep_put_text(put, NULL);
        seep_put_leb(put, leaks->holders[i].blocks);
        seep_put_leb(put, leaks->holders[i].bytes);
    }
    for (uint32_t i = 0; i < profile->nr_sites; i++)
        seep_put_leb(put, profile->sites[i].retained_bytes);
}

static const char *holders_take(struct seep_take *take, struct seep_profile *profile, bool *ret_no_memory) {
    struct seep_leaks *leaks = &profile->leaks;
    const char *const out = "cut short, or a number is out of range";
    *ret_no_memory = false;
    if (leaks->nr_holders_all)
        return "stands twice";
    uint64_t nr_all = seep_take_leb(take), nr = seep_take_leb(take);
    if (take->failed || !nr_all || nr > nr_all || nr > seep_take_left(take) / 3)
        return out;
    leaks->holders =
        seep_arena_alloc(&profile->arena, SEEP_MAX((size_t)nr, (size_t)1), sizeof(*leaks->holders));
    if (!leaks->holders) {
        *ret_no_memory = true;
        return NULL;
    }
    leaks->nr_holders_all = nr_all;
    for (uint64_t i = 0; i < nr && !*ret_no_memory; i++) {
        size_t length;
        const char *text = seep_take_text(take, &length);
        uint64_t blocks = seep_take_leb(take), bytes = seep_take_leb(take);
        struct seep_holder holder = {NULL, bytes, blocks};
        if (take->failed)
            return out;
        holder.chain = chain_of_text(profile, text ? text : "", length);
        *ret_no_memory = !holder.chain;
        leaks->holders[leaks->nr_holders++] = holder;
    }
    for (uint32_t i = 0; i < profile->nr_sites && !*ret_no_memory; i++)
        profile->sites[i].retained_bytes = seep_take_leb(take);
    return take->failed ? out : NULL;
}

const struct seep_section seep_section_holders = {SEEP_TRACE_HOLDERS, "HOLDERS",   false,
                                                  holders_nr,         holders_put, SEEP_READS(holders_take)};

// ---- LEADERS ----

// At most six bytes each, so that they fit a section.
#define LEADERS_MOST 10000000u

static uint32_t leaders_nr(const struct seep_profile *profile) {
    uint64_t nr = 0;
    for (size_t i = 0; profile->leaders && i < profile->nr_blocks; i++)
        nr += profile->leaders[i] != SEEP_NO_LEADER;
    return nr && nr <= LEADERS_MOST;
}

static void leaders_put(struct seep_put *put, const struct seep_profile *profile, uint32_t index) {
    for (size_t i = 0; i < profile->nr_blocks; i++)
        if (profile->block_kinds[i] == SEEP_KIND_INDIRECT)
            seep_put_zigzag(
                put, profile->leaders[i] == SEEP_NO_LEADER ? 0 : (int64_t)profile->leaders[i] - (int64_t)i);
}

static const char *leaders_take(struct seep_take *take, struct seep_profile *profile, bool *ret_no_memory) {
    *ret_no_memory = false;
    if (!profile->leaks.known || profile->leaders)
        return profile->leaders ? "stands twice" : "stands without LEAKS";
    profile->leaders =
        seep_arena_alloc(&profile->arena, SEEP_MAX(profile->nr_blocks, (size_t)1), sizeof(*profile->leaders));
    *ret_no_memory = !profile->leaders;
    for (size_t i = 0; profile->leaders && i < profile->nr_blocks; i++) {
        profile->leaders[i] = SEEP_NO_LEADER;
        int64_t further = profile->block_kinds[i] == SEEP_KIND_INDIRECT ? seep_take_zigzag(take) : 0;
        if (take->failed)
            return "cut short, or a number is out of range";
        if (!further)
            continue;
        if (further < -(int64_t)i || further >= (int64_t)(profile->nr_blocks - i))
            return "a block does not exist";
        size_t leader = i + (size_t)further;
        if (profile->block_kinds[leader] != SEEP_KIND_LOST || leader >= SEEP_NO_LEADER)
            return "a block that leads is not lost";
        profile->leaders[i] = (uint32_t)leader;
    }
    return NULL;
}

const struct seep_section seep_section_leaders = {SEEP_TRACE_LEADERS, "LEADERS",   false,
                                                  leaders_nr,         leaders_put, SEEP_READS(leaders_take)};
