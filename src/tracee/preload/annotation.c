// SPDX-License-Identifier: BSD-2-Clause
// Names, marks, ignored blocks and roots, see annotation.h.
#include "preload/annotation.h"

#include "preload/counters_sum.h"
#include "preload/slot_index.h"

enum {
    NAMES = 4096,      // different names of pools
    FILTER_SHIFT = 16, // ignored blocks by hash of their address
    LEB_MOST = 10,
};

static struct seep_lock lock;
static struct seep_slot_index names; // by hash; the slot is the offset of the string
static struct seep_slot_index ignored;
static _Atomic uint8_t *ignored_filter; // how many ignored blocks have this hash; full stays full
static seep_sums *sums;                 // of the sites of one chunk

static struct seep_image_area *area_of(enum seep_area_kind kind) {
    return &seep_g.header->areas[kind];
}

static size_t name_length(const char *name, size_t most) {
    size_t length = 0;
    while (length < most && name[length])
        length++;
    return length;
}

// ---- names ------------------------------------------------------------------------------------------

uint64_t seep_note_string(const char *name) {
    size_t length = name_length(name, SEEP_MARK_NAME_MAX);
    uint64_t hash = UINT64_C(0xcbf29ce484222325); // FNV-1a, http://www.isthe.com/chongo/tech/comp/fnv/
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)name[i]) * UINT64_C(0x100000001b3);
    hash |= 1; // 0 is no key
    if (!length || !seep_lock_take(&lock))
        return 0;
    uint64_t off = seep_slot_find(&names, hash);
    if (!off && names.nr < NAMES) {
        off = seep_string(name, length);
        if (off && !seep_slot_put(&names, hash, (uint32_t)off))
            off = 0;
    }
    seep_lock_release(&lock);
    return off;
}

void seep_name_thread(struct seep_thread *thread, const char *name) {
    struct seep_image_thread *slot = thread->slot;
    size_t length = name_length(name, sizeof(slot->name) - 1);
    char text[sizeof(slot->name)] = "";
    __builtin_memcpy(text, name, length);
    __builtin_memcpy(slot->name, text, sizeof(text));
    slot->signal_stack_rt = (slot->signal_stack_rt & ~SEEP_SLOT_NAMED) | (length ? SEEP_SLOT_NAMED : 0);
}

// ---- marks ------------------------------------------------------------------------------------------

struct mark {
    uint64_t start; // of the record, in the area
    uint64_t at;    // where to write next
    uint32_t last_site;
    bool full;
};

static unsigned char *marks_at(uint64_t off) {
    return seep_g.base + seep_g.area_off[SEEP_AREA_MARKS] + off;
}

static void put_leb(struct mark *mark, uint64_t value) {
    unsigned char *at = marks_at(mark->at);
    do {
        *at++ = (unsigned char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        value >>= 7;
    } while (value);
    mark->at = (uint64_t)(at - marks_at(0));
}

static void put_site(struct mark *mark, uint32_t site, const uint64_t values[SEEP_SUM_FIELDS]) {
    mark->full = mark->full ||
                 !seep_area_lock_and_open(SEEP_AREA_MARKS, mark->at + (SEEP_SUM_FIELDS + 1) * LEB_MOST + 8);
    if (mark->full)
        return;
    put_leb(mark, site - mark->last_site);
    for (int i = 0; i < SEEP_SUM_FIELDS; i++)
        put_leb(mark, values[i]);
    mark->last_site = site;
}

static void put_counts(struct mark *mark) {
    uint64_t nr_sites = area_of(SEEP_AREA_SITES)->used;
    for (uint64_t first = 0; first < nr_sites && !mark->full; first += SEEP_CHUNK_SITES) {
        bool any = seep_counters_sum(first, SEEP_CHUNK_SITES, sums);
        for (uint32_t i = 0; any && i < SEEP_CHUNK_SITES && first + i < nr_sites; i++)
            if (sums[i][0])
                put_site(mark, (uint32_t)first + i, sums[i]);
    }
}

// The lock is held. false: no room for it.
static bool put_mark(struct seep_thread *thread, const char *name) {
    struct seep_image_area *area = area_of(SEEP_AREA_MARKS);
    struct seep_image_mark record = {.tid = thread->tid, .at_ns = seep_clock_ns(CLOCK_MONOTONIC)};
    record.name_bytes = (uint32_t)name_length(name, SEEP_MARK_NAME_MAX);
    struct mark mark = {.start = area->used, .at = area->used + sizeof(record) + record.name_bytes};
    if (!seep_area_lock_and_open(SEEP_AREA_MARKS, mark.at + 8))
        return false;
    __builtin_memcpy(marks_at(mark.start + sizeof(record)), name, record.name_bytes);
    uint64_t counts = mark.at;
    if (!sums)
        sums = seep_own_memory(SEEP_CHUNK_SITES * sizeof(*sums));
    if (sums)
        put_counts(&mark);
    record.is_counted = !mark.full && sums;
    if (!record.is_counted)
        mark.at = counts; // the name is worth keeping
    record.counts_bytes = (uint32_t)(mark.at - counts);
    while (mark.at % 8)
        *marks_at(mark.at++) = 0;
    record.bytes = (uint32_t)(mark.at - mark.start);
    __builtin_memcpy(marks_at(mark.start), &record, sizeof(record));
    __atomic_store_n(&area->used, mark.at, __ATOMIC_RELEASE);
    return record.is_counted;
}

bool seep_mark_try(struct seep_thread *thread, const char *name) {
    if (!seep_lock_take(&lock))
        return false;
    bool kept = put_mark(thread, name);
    seep_lock_release(&lock);
    return kept;
}

void seep_mark_moment(struct seep_thread *thread, const char *name) {
    if (!seep_mark_try(thread, name))
        seep_lost(SEEP_LOST_NO_NOTE);
}

// ---- ignored blocks and roots -----------------------------------------------------------------------

static uint32_t no_hole_below = 1;

static struct seep_image_region *region_at(uint32_t slot) {
    return (struct seep_image_region *)(seep_g.base + seep_g.area_off[SEEP_AREA_REGIONS]) + slot;
}

static _Atomic uint8_t *filter_at(uint64_t address) {
    return &ignored_filter[(address >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> (64 - FILTER_SHIFT)];
}

static void note_in_filter(uint64_t address, int change) {
    uint8_t count = atomic_load_explicit(filter_at(address), memory_order_relaxed);
    if (count != UINT8_MAX)
        atomic_store_explicit(filter_at(address), (uint8_t)(count + change), memory_order_relaxed);
}

// A hole, or a fresh slot; 0: the table is full. The lock is held.
static uint32_t new_region(void) {
    struct seep_image_area *area = area_of(SEEP_AREA_REGIONS);
    for (; no_hole_below < area->used; no_hole_below++)
        if (!region_at(no_hole_below)->kind)
            return no_hole_below;
    uint32_t slot = area->used ? (uint32_t)area->used : 1;
    return slot < SEEP_REGIONS &&
                   seep_area_lock_and_open(SEEP_AREA_REGIONS, (slot + 1) * sizeof(struct seep_image_region))
               ? slot
               : 0;
}

static bool put_region(enum seep_region_kind kind, uint64_t start, uint64_t bytes) {
    struct seep_image_area *area = area_of(SEEP_AREA_REGIONS);
    if (kind == SEEP_REGION_IGNORED && seep_slot_find(&ignored, start))
        return true;
    if (kind == SEEP_REGION_IGNORED && !ignored_filter)
        ignored_filter = seep_own_memory(UINT64_C(1) << FILTER_SHIFT);
    uint32_t slot = kind != SEEP_REGION_IGNORED || ignored_filter ? new_region() : 0;
    if (!slot || (kind == SEEP_REGION_IGNORED && !seep_slot_put(&ignored, start, slot)))
        return false;
    struct seep_image_region *region = region_at(slot);
    region->start = start;
    region->bytes = bytes;
    __atomic_store_n(&region->kind, (uint32_t)kind, __ATOMIC_RELEASE);
    if (slot >= area->used)
        __atomic_store_n(&area->used, slot + 1, __ATOMIC_RELEASE);
    if (kind == SEEP_REGION_IGNORED) {
        note_in_filter(start, 1);
        // From now on every free is looked at the long way.
        atomic_fetch_or_explicit(&seep_g.mode.special, SEEP_SPECIAL_IGNORED, memory_order_seq_cst);
    }
    return true;
}

void seep_region_add(enum seep_region_kind kind, uint64_t start, uint64_t bytes) {
    bool kept = false;
    if (seep_lock_take(&lock)) {
        kept = put_region(kind, start, bytes);
        seep_lock_release(&lock);
    }
    if (!kept)
        seep_lost(SEEP_LOST_NO_NOTE);
}

static void end_region(uint32_t slot) {
    no_hole_below = SEEP_MIN(no_hole_below, slot);
    __atomic_store_n(&region_at(slot)->kind, 0, __ATOMIC_RELEASE);
}

void seep_region_remove(enum seep_region_kind kind, uint64_t start, uint64_t bytes) {
    if (kind == SEEP_REGION_IGNORED) {
        seep_ignored_gone(start);
        return;
    }
    if (!seep_lock_take(&lock)) {
        seep_lost(SEEP_LOST_NO_NOTE);
        return;
    }
    for (uint32_t slot = 1; slot < area_of(SEEP_AREA_REGIONS)->used; slot++)
        if (region_at(slot)->kind == kind && region_at(slot)->start == start &&
            region_at(slot)->bytes == bytes) {
            end_region(slot);
            break;
        }
    seep_lock_release(&lock);
}

void seep_ignored_gone(uint64_t address) {
    if (!ignored_filter || !atomic_load_explicit(filter_at(address), memory_order_relaxed))
        return;
    if (!seep_lock_take(&lock)) {
        seep_lost(SEEP_LOST_NO_NOTE);
        return;
    }
    uint32_t slot = seep_slot_take(&ignored, address);
    if (slot) {
        end_region(slot);
        note_in_filter(address, -1);
    }
    seep_lock_release(&lock);
}

// ---- after trouble ----------------------------------------------------------------------------------

static void make_again(void) {
    seep_slot_clear(&ignored);
    uint64_t nr = SEEP_MIN(area_of(SEEP_AREA_REGIONS)->used, (uint64_t)SEEP_REGIONS);
    for (uint32_t slot = 1; slot < nr; slot++)
        if (region_at(slot)->kind == SEEP_REGION_IGNORED &&
            !seep_slot_put(&ignored, region_at(slot)->start, slot))
            return;
}

void seep_annotations_recover(uint32_t tid) {
    if (atomic_load_explicit(&lock.owner, memory_order_relaxed) != tid)
        return;
    make_again();
    seep_lock_release(&lock);
}

void seep_annotations_in_child(void) {
    seep_lock_release(&lock);
    make_again();
}
