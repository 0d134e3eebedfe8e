// SPDX-License-Identifier: BSD-2-Clause
// The classes of blocks: names, and the figures that follow from them. See profile.h.
#include <string.h>

#include "model/profile.h"

static const char *const kind_names[SEEP_KIND_NR] = {"unknown", "lost", "indirect", "possible", "reachable"};

const char *seep_kind_name(uint32_t kind) {
    return kind < SEEP_KIND_NR ? kind_names[kind] : "unknown";
}

bool seep_kinds_parse(const char *text, uint32_t *ret_bits) {
    uint32_t bits = 0;
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");
        uint32_t kind = SEEP_KIND_LOST;
        while (kind < SEEP_KIND_NR &&
               (strlen(kind_names[kind]) != length || memcmp(kind_names[kind], at, length) != 0))
            kind++;
        if (kind == SEEP_KIND_NR)
            return false;
        bits |= 1u << kind;
        at += length;
        if (!*at)
            break;
    }
    *ret_bits = bits;
    return true;
}

static void add(uint64_t *sum, uint64_t value) {
    if (__builtin_add_overflow(*sum, value, sum))
        *sum = UINT64_MAX;
}

void seep_profile_derive_leaks(struct seep_profile *profile) {
    struct seep_leaks *leaks = &profile->leaks;
    leaks->known = true;
    memset(leaks->blocks, 0, sizeof(leaks->blocks));
    memset(leaks->bytes, 0, sizeof(leaks->bytes));
    for (uint32_t i = 0; i < profile->nr_sites; i++)
        profile->sites[i].kind = SEEP_KIND_UNKNOWN;
    for (size_t i = 0; i < profile->nr_blocks; i++) {
        const struct seep_block *block = &profile->blocks[i];
        uint8_t kind = profile->block_kinds[i];
        struct seep_site *site = &profile->sites[block->site];
        leaks->blocks[kind]++;
        add(&leaks->bytes[kind], block->size);
        if (kind != SEEP_KIND_UNKNOWN && (site->kind == SEEP_KIND_UNKNOWN || kind < site->kind))
            site->kind = kind;
    }
}
