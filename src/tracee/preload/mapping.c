// SPDX-License-Identifier: BSD-2-Clause
// The table of mappings and its index, see mapping.h.
#include "preload/mapping.h"
#include "preload/fork_undo.h"

// The index: mappings by address, the highest first, as the kernel maps from the top down and an
// array grows best at its end. It is trusted; the image is only written.
struct range {
    uint64_t start;
    uint64_t end;
    uint64_t born; // its number in the order of birth
    uint32_t slot;
    uint32_t map_site;
};

static struct range *ranges; // SEEP_MAPPING_SLOTS of them; under map_lock
static uint32_t nr_ranges;
static uint32_t *free_slots; // the same
static uint32_t nr_free_slots;
static uint64_t last_born;

static struct seep_image_mapping *mapping_at(uint32_t slot) {
    return (struct seep_image_mapping *)(seep_g.base + seep_g.area_off[SEEP_AREA_MAPPINGS]) + slot;
}

static struct seep_image_mapping_site *map_site_at(uint32_t index) {
    return (struct seep_image_mapping_site *)(seep_g.base + seep_g.area_off[SEEP_AREA_MAP_SITES]) + index;
}

// Memory for the index: address space, of which as much is used as there are mappings.
static bool has_index(void) {
    if (ranges)
        return true;
    size_t bytes = SEEP_MAPPING_SLOTS * (sizeof(*ranges) + sizeof(*free_slots));
    ranges = seep_own_memory(bytes);
    free_slots = (uint32_t *)(ranges + SEEP_MAPPING_SLOTS);
    return ranges != NULL;
}

// The first range that begins below `end`.
static uint32_t first_below(uint64_t end) {
    uint32_t low = 0;
    uint32_t high = nr_ranges;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (ranges[middle].start >= end)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// A pending child cannot tell what a mapping was before this; what its parent adds it knows by its birth.
static void note_for_fork(void) {
    if (atomic_load_explicit(&seep_g.mode.special, memory_order_relaxed) & SEEP_SPECIAL_UNDO)
        seep_undo_note_odd();
}

static void count_unmapped(uint32_t map_site, uint64_t bytes) {
    map_site_at(map_site)->unmapped_bytes += bytes;
    map_site_at(0)->unmapped_bytes += bytes;
}

static void write_slot(const struct range *range) {
    struct seep_image_mapping *slot = mapping_at(range->slot);
    __atomic_store_n(&slot->start, 0, __ATOMIC_RELEASE);
    slot->bytes = range->end - range->start;
    __atomic_store_n(&slot->start, range->start, __ATOMIC_RELEASE);
}

static void drop_range(uint32_t index) {
    __atomic_store_n(&mapping_at(ranges[index].slot)->start, 0, __ATOMIC_RELEASE);
    free_slots[nr_free_slots++] = ranges[index].slot;
    nr_ranges--;
    __builtin_memmove(&ranges[index], &ranges[index + 1], (nr_ranges - index) * sizeof(*ranges));
}

// A range in its place, with a slot of its own that has all of `like` but the addresses. false: full.
static bool insert_range(struct range range, const struct seep_image_mapping *like) {
    struct seep_image_area *area = &seep_g.header->areas[SEEP_AREA_MAPPINGS];
    if (nr_free_slots) {
        range.slot = free_slots[--nr_free_slots];
    } else {
        range.slot = (uint32_t)area->used;
        if (range.slot >= SEEP_MAPPING_SLOTS ||
            !seep_area_lock_and_open(SEEP_AREA_MAPPINGS,
                                     (range.slot + 1) * sizeof(struct seep_image_mapping)))
            return false;
    }
    struct seep_image_mapping *slot = mapping_at(range.slot);
    slot->bytes = range.end - range.start;
    slot->site = like->site;
    slot->kind = like->kind;
    slot->born_ns = like->born_ns;
    __atomic_store_n(&slot->start, range.start, __ATOMIC_RELEASE);
    if (range.slot >= area->used)
        __atomic_store_n(&area->used, range.slot + 1, __ATOMIC_RELEASE);
    uint32_t index = first_below(range.start);
    __builtin_memmove(&ranges[index + 1], &ranges[index], (nr_ranges - index) * sizeof(*ranges));
    ranges[index] = range;
    nr_ranges++;
    return true;
}

// Takes [start, end) out of the range, which overlaps it. Returns by how much the ones below moved on.
static uint32_t cut_range(uint32_t index, uint64_t start, uint64_t end) {
    struct range *range = &ranges[index];
    uint32_t map_site = range->map_site;
    note_for_fork();
    count_unmapped(map_site, SEEP_MIN(end, range->end) - SEEP_MAX(start, range->start));
    if (start <= range->start && end >= range->end) {
        drop_range(index);
        return 0;
    }
    struct range above = *range;
    above.start = end;
    bool split = start > range->start && end < range->end;
    if (start > range->start)
        range->end = start;
    else
        range->start = end;
    write_slot(range);
    if (!split)
        return 1;
    if (insert_range(above, mapping_at(range->slot)))
        return 2;
    count_unmapped(map_site, above.end - above.start);
    seep_lost(SEEP_LOST_NO_MAPPING);
    return 1;
}

// map_lock held.
static void cut_out(uint64_t start, uint64_t end, uint64_t moment) {
    uint32_t counted = 0; // the site that this call was counted at last: neighbours are often of one
    bool any = false;
    for (uint32_t i = first_below(end); i < nr_ranges && ranges[i].end > start;) {
        if (ranges[i].born > moment) {
            i++;
            continue;
        }
        if (ranges[i].map_site != counted || !any)
            map_site_at(ranges[i].map_site)->unmaps++;
        counted = ranges[i].map_site;
        any = true;
        i += cut_range(i, start, end);
    }
    if (any)
        map_site_at(0)->unmaps++;
}

// The element of the counts of a site, made if need be; 0: no room. map_lock held.
static uint32_t map_site_of(uint32_t site) {
    struct seep_image_area *area = &seep_g.header->areas[SEEP_AREA_MAP_SITES];
    uint32_t index = seep_g.sites[site].map_site;
    // In a forked child the site may be newer than the copy of this table.
    if (index && index < area->used && map_site_at(index)->site == site)
        return index;
    index = area->used ? (uint32_t)area->used : 1;
    if (index >= SEEP_MAP_SITES ||
        !seep_area_lock_and_open(SEEP_AREA_MAP_SITES, (index + 1) * sizeof(struct seep_image_mapping_site)))
        return 0;
    *map_site_at(index) = (struct seep_image_mapping_site){.site = site};
    __atomic_store_n(&area->used, index + 1, __ATOMIC_RELEASE);
    seep_g.sites[site].map_site = index;
    return index;
}

static void count_mapped(uint32_t index, uint64_t bytes) {
    struct seep_image_mapping_site *counts = map_site_at(index);
    counts->maps++;
    counts->mapped_bytes += bytes;
    counts->peak_bytes = SEEP_MAX(counts->peak_bytes, counts->mapped_bytes - counts->unmapped_bytes);
}

// The break often grows in small steps: what follows its like is one with it. map_lock held.
static bool grow_break(uint64_t start, uint64_t end, uint32_t map_site) {
    uint32_t index = first_below(start);
    if (index == nr_ranges || ranges[index].end != start || ranges[index].map_site != map_site ||
        !(mapping_at(ranges[index].slot)->kind & SEEP_MAPPING_BREAK))
        return false;
    note_for_fork();
    ranges[index].end = end;
    write_slot(&ranges[index]);
    return true;
}

uint64_t seep_mapping_moment(void) {
    return __atomic_load_n(&last_born, __ATOMIC_ACQUIRE);
}

static SEEP_NOINLINE void add_at_site(uint32_t site, uint64_t start, uint64_t end, uint32_t kind) {
    if (!seep_lock_take(&seep_g.map_lock)) {
        seep_lost(SEEP_LOST_NO_MAPPING);
        return;
    }
    uint32_t map_site = has_index() ? map_site_of(site) : 0;
    bool kept = false;
    if (map_site) {
        cut_out(start, end, UINT64_MAX);
        kept = (kind & SEEP_MAPPING_BREAK) && grow_break(start, end, map_site);
    }
    if (map_site && !kept) {
        struct range range = {start, end, last_born + 1, 0, map_site};
        struct seep_image_mapping like = {
            .site = site, .kind = kind, .born_ns = seep_clock_ns(CLOCK_MONOTONIC)};
        kept = nr_ranges < SEEP_MAPPING_SLOTS && insert_range(range, &like);
    }
    if (kept) {
        __atomic_store_n(&last_born, last_born + 1, __ATOMIC_RELEASE);
        count_mapped(map_site, end - start);
        count_mapped(0, end - start);
    }
    seep_lock_release(&seep_g.map_lock);
    if (!kept)
        seep_lost(SEEP_LOST_NO_MAPPING);
}

void seep_mapping_add(struct seep_thread *thread, uint64_t start, uint64_t bytes, uint32_t kind,
                      enum seep_via via, struct seep_caller caller) {
    add_at_site(seep_stack_site(thread, via, caller), start, start + bytes, kind);
}

void seep_mapping_remove(uint64_t start, uint64_t bytes, uint64_t moment) {
    if (!seep_lock_take(&seep_g.map_lock)) {
        seep_lost(SEEP_LOST_NO_MAPPING);
        return;
    }
    cut_out(start, start + bytes, moment);
    seep_lock_release(&seep_g.map_lock);
}

uint32_t seep_mapping_kind(uint64_t address) {
    uint32_t kind = 0;
    if (!seep_lock_take(&seep_g.map_lock))
        return 0;
    uint32_t index = first_below(address + 1);
    if (index < nr_ranges && ranges[index].end > address)
        kind = mapping_at(ranges[index].slot)->kind;
    seep_lock_release(&seep_g.map_lock);
    return kind;
}

// A thread that was at work on them did not get to the end. Their counts begin with what is there, as those
// of the heap do (fork_inherit.h).
void seep_mapping_index_again(void) {
    uint32_t nr_slots = (uint32_t)SEEP_MIN(seep_g.header->areas[SEEP_AREA_MAPPINGS].used, SEEP_MAPPING_SLOTS);
    nr_ranges = nr_free_slots = 0;
    for (uint32_t i = 0; i < seep_g.header->areas[SEEP_AREA_MAP_SITES].used; i++)
        *map_site_at(i) = (struct seep_image_mapping_site){.site = map_site_at(i)->site};
    for (uint32_t slot = 0; slot < nr_slots; slot++) {
        struct seep_image_mapping *from = mapping_at(slot);
        // The parent's, since the fork: without an index it had none before.
        if (!ranges || from->site >= seep_g.header->areas[SEEP_AREA_SITES].used ||
            from->born_ns > seep_fork_image_ns())
            from->start = 0;
        if (!ranges)
            continue;
        if (!from->start) {
            free_slots[nr_free_slots++] = slot;
            continue;
        }
        struct range range = {.start = from->start, .end = from->start + from->bytes, .slot = slot};
        range.map_site = seep_g.sites[from->site].map_site;
        count_mapped(range.map_site, from->bytes);
        count_mapped(0, from->bytes);
        uint32_t index = first_below(range.start);
        __builtin_memmove(&ranges[index + 1], &ranges[index], (nr_ranges - index) * sizeof(*ranges));
        ranges[index] = range;
        nr_ranges++;
    }
}
