// SPDX-License-Identifier: BSD-2-Clause
// The POOLS, PIECES, MARKS, PEAK, SNAPSHOTS and NAMES sections.
#include "file/sections.h"
#include "names/symbols.h"

#define PIECES_PER_SECTION (UINT32_C(256) << 10)

static const char cut_short[] = "cut short, or a number is out of range";
static const char no_site[] = "a site that does not exist or is out of order";

static uint32_t pools_nr(const struct seep_profile *profile) {
    const struct seep_pool_totals *totals = &profile->pool_totals;
    return profile->nr_pools || profile->nr_pieces || totals->pools_created || totals->unknown_frees;
}

static void pools_put(struct seep_put *put, const struct seep_profile *profile, uint32_t index) {
    seep_put_leb(put, profile->pool_totals.pools_created);
    seep_put_leb(put, profile->pool_totals.pools_destroyed);
    seep_put_leb(put, profile->pool_totals.unknown_frees);
    seep_put_leb(put, profile->nr_pools);
    for (uint32_t i = 0; i < profile->nr_pools; i++) {
        const struct seep_pool *pool = &profile->pools[i];
        seep_put_leb(put, pool->handle);
        seep_put_text(put, pool->name);
        seep_put_leb(put, pool->site);
        seep_put_zigzag(put, pool->age_ns);
    }
}

static uint32_t pieces_nr(const struct seep_profile *profile) {
    return (profile->nr_pieces + PIECES_PER_SECTION - 1) / PIECES_PER_SECTION;
}

static void pieces_put(struct seep_put *put, const struct seep_profile *profile, uint32_t index) {
    uint32_t first = index * PIECES_PER_SECTION;
    uint32_t nr = SEEP_MIN(profile->nr_pieces - first, PIECES_PER_SECTION);
    seep_put_leb(put, nr);
    uint64_t address = 0;
    for (uint32_t i = first; i < first + nr; i++) {
        const struct seep_piece *piece = &profile->pieces[i];
        seep_put_leb(put, piece->address - address);
        seep_put_leb(put, piece->bytes);
        seep_put_leb(put, piece->site);
        seep_put_leb(put, piece->pool == UINT32_MAX ? 0 : (uint64_t)piece->pool + 1);
        seep_put_zigzag(put, piece->age_ns);
        address = piece->address;
    }
}

// A number of elements that the bytes can hold.
static bool take_nr(struct seep_take *take, size_t least_bytes, uint32_t *ret_nr) {
    uint64_t nr = seep_take_leb(take);
    if (take->failed || nr > seep_take_left(take) / least_bytes || nr > UINT32_MAX)
        return false;
    *ret_nr = (uint32_t)nr;
    return true;
}

static const char *take_pools(struct seep_take *take, struct seep_profile *profile, bool *ret_no_memory) {
    uint32_t nr = 0;
    if (!take_nr(take, 4, &nr))
        return "more elements than bytes for them";
    profile->pools = seep_arena_alloc(&profile->arena, nr, sizeof(*profile->pools));
    *ret_no_memory = !profile->pools;
    for (uint32_t i = 0; i < nr && !*ret_no_memory; i++) {
        struct seep_pool *pool = &profile->pools[i];
        pool->handle = seep_take_leb(take);
        size_t length;
        const char *name = seep_take_text(take, &length);
        uint64_t site = seep_take_leb(take);
        pool->age_ns = seep_take_zigzag(take);
        if (take->failed)
            return cut_short;
        if (site >= profile->nr_sites)
            return no_site;
        pool->site = (uint32_t)site;
        pool->name = name ? seep_arena_strndup(&profile->arena, name, length) : NULL;
        *ret_no_memory = name && !pool->name;
    }
    profile->nr_pools = nr;
    return NULL;
}

static const char *pieces_take(struct seep_take *take, struct seep_profile *profile, bool *ret_no_memory) {
    uint32_t nr = 0;
    *ret_no_memory = false;
    if (!take_nr(take, 5, &nr))
        return "more elements than bytes for them";
    if (nr > UINT32_MAX - profile->nr_pieces)
        return cut_short;
    *ret_no_memory =
        !seep_arena_more(&profile->arena, &profile->pieces, profile->nr_pieces, nr, sizeof(*profile->pieces));
    uint64_t address = 0;
    for (uint32_t i = 0; i < nr && !*ret_no_memory; i++) {
        struct seep_piece *piece = &profile->pieces[profile->nr_pieces];
        uint64_t further = seep_take_leb(take);
        piece->bytes = seep_take_leb(take);
        uint64_t site = seep_take_leb(take);
        uint64_t pool = seep_take_leb(take);
        piece->age_ns = seep_take_zigzag(take);
        if (take->failed || __builtin_add_overflow(address, further, &address))
            return cut_short;
        if (site >= profile->nr_sites)
            return no_site;
        if (pool > profile->nr_pools)
            return "a pool that does not exist";
        if (profile->nr_pieces && address < piece[-1].address)
            return "out of order";
        piece->address = address;
        piece->site = (uint32_t)site;
        piece->pool = pool ? (uint32_t)pool - 1 : UINT32_MAX;
        profile->nr_pieces++;
    }
    return NULL;
}

const struct seep_section seep_section_pieces = {SEEP_TRACE_PIECES, "PIECES",   true,
                                                 pieces_nr,         pieces_put, SEEP_READS(pieces_take)};

static const char *pools_take(struct seep_take *take, struct seep_profile *profile, bool *ret_no_memory) {
    *ret_no_memory = false;
    profile->pool_totals.pools_created = seep_take_leb(take);
    profile->pool_totals.pools_destroyed = seep_take_leb(take);
    profile->pool_totals.unknown_frees = seep_take_leb(take);
    return take_pools(take, profile, ret_no_memory);
}

const struct seep_section seep_section_pools = {SEEP_TRACE_POOLS, "POOLS",   false,
                                                pools_nr,         pools_put, SEEP_READS(pools_take)};

static void put_mark(struct seep_put *put, const struct seep_mark *mark) {
    seep_put_text(put, mark->name);
    seep_put_zigzag(put, mark->at_ns);
    seep_put_leb(put, mark->tid);
    seep_put_leb(put, mark->counted);
    seep_put_leb(put, mark->nr_sites);
    uint32_t last = 0;
    for (uint32_t i = 0; i < mark->nr_sites; i++) {
        const struct seep_mark_site *site = &mark->sites[i];
        seep_put_leb(put, site->site - last);
        seep_put_leb(put, site->allocations);
        seep_put_leb(put, site->allocated_bytes);
        seep_put_leb(put, site->frees);
        seep_put_leb(put, site->freed_bytes);
        seep_put_leb(put, site->temporary);
        last = site->site;
    }
}

// The next of sites in ascending order; 0 is none of them.
static const char *take_further(struct seep_take *take, const struct seep_profile *profile, uint64_t *site) {
    uint64_t further = seep_take_leb(take);
    if (take->failed)
        return cut_short;
    if (!further || further >= profile->nr_sites - *site)
        return no_site;
    *site += further;
    return NULL;
}

static const char *take_mark_sites(struct seep_take *take, const struct seep_profile *profile,
                                   struct seep_mark *mark) {
    uint64_t site = 0;
    for (uint32_t i = 0; i < mark->nr_sites; i++) {
        struct seep_mark_site *into = &mark->sites[i];
        const char *wrong = take_further(take, profile, &site);
        if (wrong)
            return wrong;
        into->site = (uint32_t)site;
        into->allocations = seep_take_leb(take);
        into->allocated_bytes = seep_take_leb(take);
        into->frees = seep_take_leb(take);
        into->freed_bytes = seep_take_leb(take);
        into->temporary = seep_take_leb(take);
    }
    return take->failed ? cut_short : NULL;
}

static const char *take_mark(struct seep_take *take, struct seep_profile *profile, struct seep_mark *ret_mark,
                             bool *ret_no_memory) {
    *ret_no_memory = false;
    size_t length;
    const char *name = seep_take_text(take, &length);
    struct seep_mark mark = {.at_ns = seep_take_zigzag(take)};
    uint64_t tid = seep_take_leb(take);
    uint64_t counted = seep_take_leb(take);
    if (take->failed || !name || tid > UINT32_MAX || counted > 1)
        return cut_short;
    mark.tid = (uint32_t)tid;
    mark.counted = counted != 0;
    if (!take_nr(take, 6, &mark.nr_sites))
        return "more elements than bytes for them";
    mark.name = seep_arena_strndup(&profile->arena, name, length);
    mark.sites = seep_arena_alloc(&profile->arena, mark.nr_sites, sizeof(*mark.sites));
    *ret_no_memory = !mark.name || !mark.sites;
    const char *wrong = *ret_no_memory ? NULL : take_mark_sites(take, profile, &mark);
    if (!wrong)
        *ret_mark = mark;
    return wrong;
}

static uint32_t marks_nr(const struct seep_profile *profile) {
    return profile->nr_marks;
}

static void marks_put(struct seep_put *put, const struct seep_profile *profile, uint32_t index) {
    put_mark(put, &profile->marks[index]);
}

static const char *marks_take(struct seep_take *take, struct seep_profile *profile, bool *ret_no_memory) {
    struct seep_mark mark = {0};
    const char *wrong = take_mark(take, profile, &mark, ret_no_memory);
    if (wrong || *ret_no_memory)
        return wrong;
    struct seep_error *error = seep_profile_add_mark(profile, &mark);
    *ret_no_memory = error != NULL;
    seep_error_destroy(error);
    return NULL;
}

const struct seep_section seep_section_marks = {SEEP_TRACE_MARKS, "MARKS",   true,
                                                marks_nr,         marks_put, SEEP_READS(marks_take)};

static uint32_t peak_nr(const struct seep_profile *profile) {
    return profile->at_peak.counted;
}

static void peak_put(struct seep_put *put, const struct seep_profile *profile, uint32_t index) {
    put_mark(put, &profile->at_peak);
}

static const char *peak_take(struct seep_take *take, struct seep_profile *profile, bool *ret_no_memory) {
    return take_mark(take, profile, &profile->at_peak, ret_no_memory);
}

const struct seep_section seep_section_peak = {SEEP_TRACE_PEAK, "PEAK",   false,
                                               peak_nr,         peak_put, SEEP_READS(peak_take)};

static uint32_t snapshots_nr(const struct seep_profile *profile) {
    return profile->nr_snapshots;
}

static void snapshots_put(struct seep_put *put, const struct seep_profile *profile, uint32_t index) {
    const struct seep_snapshot *snapshot = &profile->snapshots[index];
    seep_put_zigzag(put, snapshot->at_ns);
    seep_put_leb(put, snapshot->rss_bytes);
    seep_put_leb(put, snapshot->used_bytes);
    seep_put_leb(put, profile->limit_bytes);
    seep_put_text(put, profile->limit);
    seep_put_leb(put, snapshot->nr_sites);
    uint32_t last = 0;
    for (uint32_t i = 0; i < snapshot->nr_sites; i++) {
        seep_put_leb(put, snapshot->sites[i].site - last);
        seep_put_leb(put, snapshot->sites[i].live_blocks);
        seep_put_leb(put, snapshot->sites[i].live_bytes);
        last = snapshot->sites[i].site;
    }
}

static const char *take_snapshot_sites(struct seep_take *take, const struct seep_profile *profile,
                                       struct seep_snapshot *snapshot) {
    uint64_t site = 0;
    for (uint32_t i = 0; i < snapshot->nr_sites; i++) {
        const char *wrong = take_further(take, profile, &site);
        if (wrong)
            return wrong;
        snapshot->sites[i].site = (uint32_t)site;
        snapshot->sites[i].live_blocks = seep_take_leb(take);
        snapshot->sites[i].live_bytes = seep_take_leb(take);
    }
    return take->failed ? cut_short : NULL;
}

static const char *snapshots_take(struct seep_take *take, struct seep_profile *profile, bool *ret_no_memory) {
    *ret_no_memory = false;
    struct seep_snapshot snapshot = {.at_ns = seep_take_zigzag(take)};
    snapshot.rss_bytes = seep_take_leb(take);
    snapshot.used_bytes = seep_take_leb(take);
    uint64_t limit_bytes = seep_take_leb(take);
    size_t length;
    const char *limit = seep_take_text(take, &length);
    if (take->failed)
        return cut_short;
    if (profile->nr_snapshots && snapshot.at_ns <= profile->snapshots[profile->nr_snapshots - 1].at_ns)
        return "not later than the one before";
    if (!take_nr(take, 3, &snapshot.nr_sites))
        return "more elements than bytes for them";
    profile->limit_bytes = limit_bytes;
    profile->limit = limit ? seep_arena_strndup(&profile->arena, limit, length) : NULL;
    snapshot.sites = seep_arena_alloc(&profile->arena, snapshot.nr_sites, sizeof(*snapshot.sites));
    *ret_no_memory = !snapshot.sites || (limit && !profile->limit) ||
                     !seep_arena_more(&profile->arena, &profile->snapshots, profile->nr_snapshots, 1,
                                      sizeof(*profile->snapshots));
    const char *wrong = *ret_no_memory ? NULL : take_snapshot_sites(take, profile, &snapshot);
    if (!wrong && !*ret_no_memory)
        profile->snapshots[profile->nr_snapshots++] = snapshot;
    return wrong;
}

const struct seep_section seep_section_snapshots = {
    SEEP_TRACE_SNAPSHOTS, "SNAPSHOTS", true, snapshots_nr, snapshots_put, SEEP_READS(snapshots_take)};

static uint32_t names_nr(const struct seep_profile *profile) {
    return profile->nr_modules - 1;
}

static void names_put(struct seep_put *put, const struct seep_profile *profile, uint32_t index) {
    uint32_t module = index + 1;
    const struct seep_module *of = &profile->modules[module];
    if (!of->nr_names)
        return;
    seep_put_leb(put, module);
    seep_put_leb(put, of->nr_names);
    uint64_t last = 0;
    for (uint32_t i = 0; i < of->nr_names; i++) {
        seep_put_leb(put, of->names[i].offset - last);
        seep_put_leb(put, of->names[i].bytes);
        seep_put_text(put, of->names[i].name);
        last = of->names[i].offset;
    }
}

static const char *names_take(struct seep_take *take, struct seep_profile *profile, bool *ret_no_memory) {
    uint64_t module = seep_take_leb(take);
    uint32_t nr = 0;
    *ret_no_memory = false;
    if (!take_nr(take, 3, &nr))
        return "more elements than bytes for them";
    if (!module || module >= profile->nr_modules || profile->modules[module].names || !nr)
        return "a module that does not exist, or has its names";
    struct seep_symbol_name *names = seep_arena_alloc(&profile->arena, nr, sizeof(*names));
    *ret_no_memory = !names;
    uint64_t offset = 0;
    for (uint32_t i = 0; i < nr && !*ret_no_memory; i++) {
        uint64_t further = seep_take_leb(take), end;
        names[i].bytes = seep_take_leb(take);
        size_t length;
        const char *name = seep_take_text(take, &length);
        if (take->failed || !name || !names[i].bytes || __builtin_add_overflow(offset, further, &offset) ||
            __builtin_add_overflow(offset, names[i].bytes, &end))
            return cut_short;
        names[i].offset = offset;
        names[i].name = seep_arena_strndup(&profile->arena, name, length);
        *ret_no_memory = !names[i].name;
    }
    profile->modules[module].names = names;
    profile->modules[module].nr_names = nr;
    return NULL;
}

const struct seep_section seep_section_names = {SEEP_TRACE_NAMES, "NAMES",   true,
                                                names_nr,         names_put, SEEP_READS(names_take)};
