// SPDX-License-Identifier: BSD-2-Clause
//
// The figures that are left of each site under the filters of a view (view_filter.c). A figure that a filter
// makes unknowable loses its `known` bit; it is never estimated.
#include <stdlib.h>

#include "base/sum.h"
#include "image/sample.h"
#include "view/view_build.h"

void seep_view_figures_init(struct seep_view_figures *figures) {
    *figures = (struct seep_view_figures){.known = SEEP_KNOWN_ALL, .oldest_ns = -1};
    figures->counters.size_min = UINT64_MAX;
}

void seep_counters_merge(struct seep_counters *into, const struct seep_counters *from) {
    seep_add_up(&into->allocations, from->allocations);
    seep_add_up(&into->allocated_bytes, from->allocated_bytes);
    seep_add_up(&into->frees, from->frees);
    seep_add_up(&into->freed_bytes, from->freed_bytes);
    seep_add_up(&into->temporary, from->temporary);
    seep_add_up(&into->peak_bytes, from->peak_bytes);
    seep_add_up(&into->at_peak_blocks, from->at_peak_blocks);
    seep_add_up(&into->at_peak_bytes, from->at_peak_bytes);
    if (from->allocations) {
        into->size_min = SEEP_MIN(into->size_min, from->size_min);
        into->size_max = SEEP_MAX(into->size_max, from->size_max);
    }
}

static int64_t signed_of(uint64_t value) {
    return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

static int64_t net(uint64_t plus, uint64_t minus) {
    return plus >= minus ? signed_of(plus - minus) : -signed_of(minus - plus);
}

static void figures_of_sites(const struct seep_view_part *part) {
    const struct seep_profile *profile = part->profile;
    for (uint32_t i = 1; i < profile->nr_sites; i++) {
        struct seep_view_figures *figures = &part->figures[i];
        figures->counters = profile->sites[i].counters;
        figures->live_blocks = signed_of(profile->sites[i].live_blocks);
        figures->live_bytes = signed_of(profile->sites[i].live_bytes);
        figures->peak_exact = profile->totals.peak_exact;
        // Of several threads it is what one of them had at most: a lower bound, as what is live is.
        if (!profile->health.sample_bytes)
            figures->counters.peak_bytes =
                SEEP_MAX(figures->counters.peak_bytes, profile->sites[i].live_bytes);
        if (profile->health.sample_bytes)
            figures->known &= ~SEEP_KNOWN_PEAK;
        if (!profile->at_peak.counted)
            figures->known &= ~SEEP_KNOWN_AT_PEAK;
    }
}

// Where calls are only counted it is not known whose block was freed.
static void forget_blocks(const struct seep_view_part *part) {
    for (uint32_t i = 1; i < part->profile->nr_sites; i++)
        part->figures[i].known &= SEEP_KNOWN_ALLOCATIONS | SEEP_KNOWN_BYTES | SEEP_KNOWN_SIZES;
}

// Only what threads that pass did; live is then their net.
static void figures_of_threads(const struct seep_view_part *part) {
    const struct seep_profile *profile = part->profile;
    for (size_t i = 0; i < profile->nr_thread_sites; i++) {
        const struct seep_thread_site *ts = &profile->thread_sites[i];
        if (ts->site >= profile->nr_sites || ts->thread >= profile->nr_threads ||
            !part->thread_ok[ts->thread])
            continue;
        seep_counters_merge(&part->figures[ts->site].counters, &ts->counters);
    }
    for (uint32_t i = 1; i < profile->nr_sites; i++) {
        struct seep_view_figures *figures = &part->figures[i];
        const struct seep_counters *c = &figures->counters;
        figures->live_blocks = net(c->allocations, c->frees);
        figures->live_bytes = net(c->allocated_bytes, c->freed_bytes);
        figures->known &= ~(SEEP_KNOWN_PEAK | SEEP_KNOWN_AT_PEAK);
    }
}

// What a block counts for among those of its site, in bytes and in parts of a block.
struct share {
    uint64_t bytes;
    uint64_t blocks;
};

static struct share share_of_block(const struct seep_profile *profile, const struct seep_block *block) {
    uint64_t distance = profile->health.sample_bytes;
    if (!distance)
        return (struct share){block->size, 1};
    uint64_t size = SEEP_MIN(block->size, (UINT64_C(1) << 46));
    uint64_t weight = seep_sample_weight(size, SEEP_MIN(distance, (UINT64_C(1) << 37)));
    return (struct share){seep_sample_bytes_for(SEEP_MAX(size, UINT64_C(1)), weight), weight};
}

static int64_t share_of(int64_t passing, uint64_t all, uint64_t estimate) {
    double share = all ? (double)signed_of(estimate) * ((double)passing / (double)all) + 0.5 : 0;
    return share < 0x1p63 ? (int64_t)share : INT64_MAX;
}

// Where blocks are samples: those that pass stand for their share of what all of the site's stand for.
static struct seep_error *weigh_blocks(const struct seep_view_part *part) {
    const struct seep_profile *profile = part->profile;
    struct share *all = calloc(SEEP_MAX(profile->nr_sites, 1u), sizeof(*all));
    if (!all)
        return seep_error_no_memory();
    for (size_t i = 0; i < profile->nr_blocks; i++) {
        struct share share = share_of_block(profile, &profile->blocks[i]);
        seep_add_up(&all[profile->blocks[i].site].blocks, share.blocks);
        seep_add_up(&all[profile->blocks[i].site].bytes, share.bytes);
    }
    for (uint32_t i = 1; i < profile->nr_sites; i++) {
        struct seep_view_figures *figures = &part->figures[i];
        const struct seep_site *site = &profile->sites[i];
        figures->live_bytes = share_of(figures->live_bytes, all[i].bytes, site->live_bytes);
        figures->live_blocks = share_of(figures->live_blocks, all[i].blocks, site->live_blocks);
    }
    free(all);
    return NULL;
}

// Live from the blocks. The other figures stay known only where the size filter takes all or nothing
// of the site, which its smallest and largest size tell; an age filter leaves none.
static struct seep_error *figures_of_blocks(const struct seep_view_build *build,
                                            const struct seep_view_part *part) {
    const struct seep_view_options *options = &build->view->options;
    const struct seep_profile *profile = part->profile;
    for (uint32_t i = 1; i < profile->nr_sites; i++) {
        struct seep_view_figures *figures = &part->figures[i];
        const struct seep_counters *c = &figures->counters;
        figures->live_blocks = figures->live_bytes = 0;
        bool whole = !build->filter_ages && !build->kinds && c->allocations &&
                     c->size_min >= options->min_size && c->size_max <= options->max_size;
        if (build->filter_blocks && !whole)
            figures->known = SEEP_KNOWN_LIVE;
    }
    for (size_t i = 0; i < profile->nr_blocks; i++) {
        const struct seep_block *block = &profile->blocks[i];
        if (!seep_view_block_ok(build, part, block))
            continue;
        struct seep_view_figures *figures = &part->figures[block->site];
        struct share share = share_of_block(profile, block);
        if (__builtin_add_overflow(figures->live_blocks, signed_of(share.blocks), &figures->live_blocks))
            figures->live_blocks = INT64_MAX;
        if (__builtin_add_overflow(figures->live_bytes, signed_of(share.bytes), &figures->live_bytes))
            figures->live_bytes = INT64_MAX;
    }
    return profile->health.sample_bytes ? weigh_blocks(part) : NULL;
}

// The site that lost a block, or the block that it hangs under. Where that one does not pass, its own.
static uint32_t owner_of(const struct seep_view_build *build, const struct seep_view_part *part,
                         size_t block) {
    const struct seep_profile *profile = part->profile;
    uint32_t leader = profile->leaders ? profile->leaders[block] : SEEP_NO_LEADER;
    if (leader == SEEP_NO_LEADER || !seep_view_block_ok(build, part, &profile->blocks[leader]) ||
        seep_profile_block_suppressed(profile, leader))
        return profile->blocks[block].site;
    return profile->blocks[leader].site;
}

// What the scan says of a block that passes.
static void add_kind(const struct seep_view_build *build, const struct seep_view_part *part, size_t block,
                     struct seep_view_figures *figures) {
    const struct seep_profile *profile = part->profile;
    uint64_t size = profile->blocks[block].size;
    uint8_t kind = seep_view_kind_of(part, &profile->blocks[block]);
    const struct seep_site *site = &profile->sites[profile->blocks[block].site];
    if (seep_profile_block_suppressed(profile, block))
        return;
    seep_add_up(&figures->kinds.blocks[kind], 1);
    seep_add_up(&figures->kinds.bytes[kind], size);
    if (kind && (!figures->kind || kind < figures->kind))
        figures->kind = kind;
    if (kind == SEEP_KIND_LOST || kind == SEEP_KIND_INDIRECT) {
        struct seep_view_amount *owned = &part->figures[owner_of(build, part, block)].owned;
        figures->leaked_bytes = signed_of((uint64_t)figures->leaked_bytes + size);
        seep_add_up(&owned->blocks, 1);
        seep_add_up(&owned->bytes, size);
    }
    if (kind == site->held_kind) {
        figures->held = site->held;
        figures->held_kind = kind;
        figures->held_site = profile->blocks[block].site;
    }
}

// The oldest, and what the scan says: one look at each block.
static void look_at_blocks(const struct seep_view_build *build, const struct seep_view_part *part) {
    const struct seep_profile *profile = part->profile;
    for (size_t i = 0; i < profile->nr_blocks; i++) {
        const struct seep_block *block = &profile->blocks[i];
        if (!seep_view_block_ok(build, part, block))
            continue;
        struct seep_view_figures *figures = &part->figures[block->site];
        figures->oldest_ns = SEEP_MAX(figures->oldest_ns, block->age_ns);
        if (build->scanned)
            add_kind(build, part, i, figures);
    }
    // What only some of its blocks hold is not known.
    for (uint32_t i = 1; i < profile->nr_sites; i++)
        if (signed_of(profile->sites[i].live_blocks) == part->figures[i].live_blocks)
            part->figures[i].retained_bytes = profile->sites[i].retained_bytes;
}

static void add_suppressed(struct seep_view_figures *figures, uint32_t by, uint64_t blocks, uint64_t bytes) {
    figures->suppressed_by = by;
    figures->suppressed_blocks = signed_of((uint64_t)figures->suppressed_blocks + blocks);
    figures->suppressed_bytes = signed_of((uint64_t)figures->suppressed_bytes + bytes);
}

// Where live is net there is no telling which blocks are meant.
static void find_suppressed(const struct seep_view_build *build, const struct seep_view_part *part) {
    const struct seep_profile *profile = part->profile;
    if (!profile->suppressed || (build->view->options.thread && !build->blocks_of_thread))
        return;
    bool of_blocks = profile->block_kinds || build->filter_blocks || build->view->options.thread;
    if (profile->block_kinds && !profile->leaks.suppressed_blocks)
        return;
    for (uint32_t i = 1; !of_blocks && i < profile->nr_sites; i++)
        if (profile->suppressed[i][SEEP_KIND_UNKNOWN])
            add_suppressed(&part->figures[i], profile->suppressed[i][SEEP_KIND_UNKNOWN],
                           profile->sites[i].live_blocks, profile->sites[i].live_bytes);
    for (size_t i = 0; of_blocks && i < profile->nr_blocks; i++) {
        const struct seep_block *block = &profile->blocks[i];
        uint32_t by = seep_profile_block_suppressed(profile, i);
        if (by && seep_view_block_ok(build, part, block))
            add_suppressed(&part->figures[block->site], by, 1, block->size);
    }
}

static void add_slab_bytes(const struct seep_view_build *build, const struct seep_view_part *part) {
    const struct seep_profile *profile = part->profile;
    for (size_t i = 0; i < profile->nr_thread_sites; i++) {
        const struct seep_thread_site *ts = &profile->thread_sites[i];
        bool passes =
            !build->view->options.thread || (ts->thread < profile->nr_threads && part->thread_ok[ts->thread]);
        if (ts->site < profile->nr_sites && passes)
            seep_add_up(&part->figures[ts->site].slab_bytes, ts->slab_bytes);
    }
}

struct seep_error *seep_view_build_figures(struct seep_view_build *build, struct seep_view_part *part) {
    const struct seep_profile *profile = part->profile;
    const struct seep_view_options *options = &build->view->options;
    struct seep_error *error = NULL;
    part->figures = calloc(SEEP_MAX(profile->nr_sites, 1u), sizeof(*part->figures));
    if (!part->figures)
        return seep_error_no_memory();
    for (uint32_t i = 1; i < profile->nr_sites; i++)
        seep_view_figures_init(&part->figures[i]);
    if (options->thread)
        figures_of_threads(part);
    else
        figures_of_sites(part);
    if (profile->health.flags & SEEP_FLAG_CALLS)
        forget_blocks(part);
    if (!build->filter_blocks)
        add_slab_bytes(build, part);
    if (build->filter_blocks || (options->thread && build->blocks_of_thread))
        error = figures_of_blocks(build, part);
    seep_view_find_exit(build, part);
    look_at_blocks(build, part);
    find_suppressed(build, part);
    return error;
}
