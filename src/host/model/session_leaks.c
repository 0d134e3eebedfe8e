// SPDX-License-Identifier: BSD-2-Clause
// The LEAKS section, see session_leaks.h. Four kinds take two bits, so a section has room for 2^27
// blocks and more.
#include "model/session_leaks.h"

void seep_leaks_put(struct seep_put *put, const struct seep_profile *profile) {
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
    uint64_t nr_held = 0;
    for (uint32_t i = 0; i < profile->nr_sites; i++)
        nr_held += profile->sites[i].held_by != NULL;
    seep_put_leb(put, nr_held);
    for (uint32_t i = 0; i < profile->nr_sites; i++) {
        if (!profile->sites[i].held_by)
            continue;
        seep_put_leb(put, i);
        seep_put_text(put, profile->sites[i].held_by);
    }
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
        profile->sites[site].held_by = text ? seep_arena_strndup(&profile->arena, text, length) : NULL;
        *ret_no_memory |= text && !profile->sites[site].held_by;
    }
    return take->failed ? "cut short, or a number is out of range" : NULL;
}

const char *seep_leaks_take(struct seep_take *take, struct seep_profile *profile, bool *ret_no_memory) {
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

// ---- HOLDERS ----

void seep_holders_put(struct seep_put *put, const struct seep_profile *profile) {
    const struct seep_leaks *leaks = &profile->leaks;
    seep_put_leb(put, leaks->nr_holders_all);
    seep_put_leb(put, leaks->nr_holders);
    for (uint32_t i = 0; i < leaks->nr_holders; i++) {
        seep_put_text(put, leaks->holders[i].what);
        seep_put_leb(put, leaks->holders[i].blocks);
        seep_put_leb(put, leaks->holders[i].bytes);
    }
    for (uint32_t i = 0; i < profile->nr_sites; i++)
        seep_put_leb(put, profile->sites[i].retained_bytes);
}

const char *seep_holders_take(struct seep_take *take, struct seep_profile *profile, bool *ret_no_memory) {
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
        holder.what = seep_arena_strndup(&profile->arena, text ? text : "", text ? length : 0);
        *ret_no_memory = !holder.what;
        leaks->holders[leaks->nr_holders++] = holder;
    }
    for (uint32_t i = 0; i < profile->nr_sites && !*ret_no_memory; i++)
        profile->sites[i].retained_bytes = seep_take_leb(take);
    return take->failed ? out : NULL;
}
