// SPDX-License-Identifier: BSD-2-Clause
// Pools and pieces, see custom_pool.h.
#include "preload/custom_pool.h"

#include "image/sample.h"
#include "preload/annotation.h"
#include "preload/block_birth.h"
#include "preload/record.h"
#include "preload/slot_index.h"
#include "preload/fork_undo.h"

enum { NR_PARTS = 16, BATCH = 16 };

// The pools whose handle, or the pieces without a pool whose page, leads here.
struct part {
    struct seep_lock lock;
    struct seep_slot_index pools;
    struct seep_slot_index pieces;
    uint32_t pool_holes;  // chain of free slots through `first`
    uint32_t piece_holes; // the same, through `next`
    uint32_t fresh;       // slots [fresh, fresh_end) are ours and were never used
    uint32_t fresh_end;
} __attribute__((aligned(64)));

static struct part parts[NR_PARTS];

static struct part *part_of(uint64_t pool, uint64_t address) {
    uint64_t key = pool ? pool >> 4 : address >> 12;
    return &parts[key * UINT64_C(0x9e3779b97f4a7c15) >> 60];
}

static struct seep_image_area *area_of(enum seep_area_kind kind) {
    return &seep_g.header->areas[kind];
}

static struct seep_image_custom_pool *pool_at(uint32_t slot) {
    return (struct seep_image_custom_pool *)(seep_g.base + seep_g.area_off[SEEP_AREA_CUSTOM_POOLS]) + slot;
}

static struct seep_image_piece *piece_at(uint32_t slot) {
    return (struct seep_image_piece *)(seep_g.base + seep_g.area_off[SEEP_AREA_PIECES]) + slot;
}

// `nr` fresh slots of a table: the first, or 0: no room. Slot 0 is never given out.
static uint32_t fresh_slots(enum seep_area_kind kind, uint32_t nr, size_t element_bytes) {
    struct seep_image_area *area = area_of(kind);
    if (!seep_lock_take(&seep_g.image_lock))
        return 0;
    uint32_t first = area->used ? (uint32_t)area->used : 1;
    bool opened = seep_area_open(kind, ((uint64_t)first + nr) * element_bytes);
    if (opened)
        __atomic_store_n(&area->used, first + nr, __ATOMIC_RELEASE);
    seep_lock_release(&seep_g.image_lock);
    return opened ? first : 0;
}

static uint32_t new_pool_slot(struct part *part) {
    uint32_t slot = part->pool_holes;
    if (!slot)
        return fresh_slots(SEEP_AREA_CUSTOM_POOLS, 1, sizeof(struct seep_image_custom_pool));
    part->pool_holes = pool_at(slot)->first;
    return slot;
}

static uint32_t new_piece_slot(struct part *part) {
    uint32_t slot = part->piece_holes;
    if (slot) {
        part->piece_holes = piece_at(slot)->next;
        return slot;
    }
    if (part->fresh == part->fresh_end) {
        part->fresh = fresh_slots(SEEP_AREA_PIECES, BATCH, sizeof(struct seep_image_piece));
        part->fresh_end = part->fresh ? part->fresh + BATCH : 0;
    }
    return part->fresh ? part->fresh++ : 0;
}

// ---- counting -------------------------------------------------------------------------------------

// Where sampling, counts of events are in these units.
static uint64_t unit(void) {
    return seep_g.sample_bytes ? UINT64_C(1) << SEEP_WEIGHT_SHIFT : 1;
}

static void count_taken_piece(struct seep_thread *thread, uint32_t site, uint64_t bytes) {
    struct seep_image_counters *counters = counters_of(thread, site);
    if (!counters)
        return;
    counters->allocations += unit();
    counters->allocated_bytes += bytes;
    int64_t live = (int64_t)(counters->allocated_bytes - counters->freed_bytes);
    if (seep_g.sample_bytes)
        counters->peak_bytes++; // in this mode: the number of samples
    else if (live > (int64_t)counters->peak_bytes)
        counters->peak_bytes = (uint64_t)live;
    counters->size_min_inverted = SEEP_MAX(counters->size_min_inverted, ~bytes);
    counters->size_max = SEEP_MAX(counters->size_max, bytes);
}

static void count_piece_back(struct seep_thread *thread, uint32_t site, uint64_t bytes) {
    struct seep_image_counters *counters = counters_of(thread, site);
    if (!counters)
        return;
    counters->frees += unit();
    counters->freed_bytes += bytes;
}

static void bump(uint64_t *counter) {
    __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

static void note_for_fork(void) {
    if (atomic_load_explicit(&seep_g.mode.special, memory_order_relaxed) & SEEP_SPECIAL_UNDO)
        seep_undo_note_odd();
}

// ---- the tables; the part's lock is held -----------------------------------------------------------

static uint32_t find_or_make_pool(struct part *part, uint64_t handle) {
    uint32_t slot = handle ? seep_slot_find(&part->pools, handle) : 0;
    if (slot || !handle)
        return slot;
    slot = new_pool_slot(part);
    if (!slot)
        return 0;
    if (!seep_slot_put(&part->pools, handle, slot))
        return 0; // the slot is lost with it: there is no memory at all
    struct seep_image_custom_pool *pool = pool_at(slot);
    *pool = (struct seep_image_custom_pool){.handle = handle};
    __atomic_store_n(&pool->born_ns, seep_clock_ns(CLOCK_MONOTONIC), __ATOMIC_RELEASE);
    bump(&seep_g.header->pools_created);
    return slot;
}

static void link_piece(uint32_t slot, uint32_t pool_slot) {
    struct seep_image_piece *piece = piece_at(slot);
    piece->pool = pool_slot;
    piece->previous = piece->next = 0;
    if (!pool_slot)
        return;
    struct seep_image_custom_pool *pool = pool_at(pool_slot);
    piece->next = pool->first;
    if (pool->first)
        piece_at(pool->first)->previous = slot;
    pool->first = slot;
}

static void unlink_piece(uint32_t slot) {
    const struct seep_image_piece *piece = piece_at(slot);
    if (piece->next)
        piece_at(piece->next)->previous = piece->previous;
    if (piece->previous)
        piece_at(piece->previous)->next = piece->next;
    else if (piece->pool)
        pool_at(piece->pool)->first = piece->next;
}

// Takes the piece out of its part; counts it as freed.
static void drop_piece(struct seep_thread *thread, struct part *part, uint32_t slot) {
    struct seep_image_piece *piece = piece_at(slot);
    seep_slot_take(&part->pieces, piece->address);
    count_piece_back(thread, piece->site, piece->bytes);
    __atomic_store_n(&piece->address, 0, __ATOMIC_RELEASE);
    unlink_piece(slot);
    piece->next = part->piece_holes;
    part->piece_holes = slot;
}

static void drop_all(struct seep_thread *thread, struct part *part, uint32_t pool_slot) {
    while (pool_at(pool_slot)->first)
        drop_piece(thread, part, pool_at(pool_slot)->first);
}

static bool add_piece(struct part *part, uint32_t pool_slot, const struct seep_image_piece *like) {
    uint32_t slot = new_piece_slot(part);
    if (!slot)
        return false;
    struct seep_image_piece *piece = piece_at(slot);
    if (!seep_slot_put(&part->pieces, like->address, slot)) {
        piece->next = part->piece_holes;
        part->piece_holes = slot;
        return false;
    }
    piece->bytes = like->bytes;
    piece->born_ns = like->born_ns;
    piece->site = like->site;
    link_piece(slot, pool_slot);
    __atomic_store_n(&piece->address, like->address, __ATOMIC_RELEASE);
    return true;
}

// ---- what the program tells ------------------------------------------------------------------------

void seep_pool_begins(struct seep_thread *thread, uint64_t handle, const char *name,
                      struct seep_caller caller) {
    struct part *part = part_of(handle, 0);
    uint32_t site = seep_stack_site(thread, SEEP_VIA_POOL_ALLOC, caller);
    uint64_t name_off = name ? seep_note_string(name) : 0;
    uint32_t slot = 0;
    note_for_fork();
    if (handle && seep_lock_take(&part->lock)) {
        slot = find_or_make_pool(part, handle);
        if (slot) {
            drop_all(thread, part, slot); // of one before it, whose end was not told
            pool_at(slot)->site = site;
            pool_at(slot)->name_off = name_off;
        }
        seep_lock_release(&part->lock);
    }
    if (handle && !slot)
        seep_lost(SEEP_LOST_NO_NOTE);
}

void seep_pool_ends(struct seep_thread *thread, uint64_t handle, bool stays) {
    struct part *part = part_of(handle, 0);
    note_for_fork();
    if (!handle)
        return;
    if (!seep_lock_take(&part->lock)) {
        seep_lost(SEEP_LOST_NO_PIECE);
        return;
    }
    uint32_t slot = seep_slot_find(&part->pools, handle);
    if (slot)
        drop_all(thread, part, slot);
    if (slot && !stays) {
        seep_slot_take(&part->pools, handle);
        __atomic_store_n(&pool_at(slot)->born_ns, 0, __ATOMIC_RELEASE);
        pool_at(slot)->first = part->pool_holes;
        part->pool_holes = slot;
        bump(&seep_g.header->pools_destroyed);
    }
    seep_lock_release(&part->lock);
}

void seep_piece_taken(struct seep_thread *thread, uint64_t handle, uint64_t address, uint64_t bytes,
                      enum seep_via via, struct seep_caller caller) {
    struct part *part = part_of(handle, address);
    struct seep_image_piece like = {.address = address, .bytes = bytes};
    like.site = seep_stack_site(thread, via, caller);
    like.born_ns = seep_birth_ns();
    bool kept = false;
    note_for_fork();
    if (seep_lock_take(&part->lock)) {
        uint32_t pool_slot = find_or_make_pool(part, handle);
        uint32_t before = seep_slot_find(&part->pieces, address);
        if (before) {
            seep_lost(SEEP_LOST_FREE_UNSEEN);
            drop_piece(thread, part, before);
        }
        kept = (pool_slot || !handle) && add_piece(part, pool_slot, &like);
        seep_lock_release(&part->lock);
    }
    if (kept)
        count_taken_piece(thread, like.site, bytes);
    else
        seep_lost(SEEP_LOST_NO_PIECE);
}

void seep_piece_freed(struct seep_thread *thread, uint64_t handle, uint64_t address) {
    struct part *part = part_of(handle, address);
    uint32_t slot = 0;
    note_for_fork();
    if (!seep_lock_take(&part->lock)) {
        seep_lost(SEEP_LOST_NO_PIECE);
        return;
    }
    slot = seep_slot_find(&part->pieces, address);
    if (slot)
        drop_piece(thread, part, slot);
    seep_lock_release(&part->lock);
    if (!slot)
        bump(&seep_g.header->unknown_piece_frees);
}

// ---- after trouble ---------------------------------------------------------------------------------

static uint32_t nr_slots(enum seep_area_kind kind, uint32_t most) {
    return (uint32_t)SEEP_MIN(area_of(kind)->used, (uint64_t)most);
}

// Indexes and chains of one part again, from the slots that are whole. Holes are given up but in a child.
static void make_again(struct part *part) {
    seep_slot_clear(&part->pools);
    seep_slot_clear(&part->pieces);
    part->pool_holes = part->piece_holes = part->fresh = part->fresh_end = 0;
    uint32_t nr_pools = nr_slots(SEEP_AREA_CUSTOM_POOLS, SEEP_CUSTOM_POOLS);
    for (uint32_t slot = 1; slot < nr_pools; slot++) {
        struct seep_image_custom_pool *pool = pool_at(slot);
        if (!pool->born_ns || part_of(pool->handle, 0) != part)
            continue;
        pool->first = 0;
        if (!seep_slot_put(&part->pools, pool->handle, slot))
            return;
    }
    uint32_t nr_pieces = nr_slots(SEEP_AREA_PIECES, SEEP_PIECES);
    for (uint32_t slot = 1; slot < nr_pieces; slot++) {
        struct seep_image_piece *piece = piece_at(slot);
        uint64_t handle = piece->pool < nr_pools && piece->pool ? pool_at(piece->pool)->handle : 0;
        if (!piece->address || part_of(handle, piece->address) != part)
            continue;
        link_piece(slot, handle ? piece->pool : 0);
        if (!seep_slot_put(&part->pieces, piece->address, slot))
            return;
    }
}

void seep_custom_pools_recover(uint32_t tid) {
    for (int i = 0; i < NR_PARTS; i++)
        if (atomic_load_explicit(&parts[i].lock.owner, memory_order_relaxed) == tid) {
            make_again(&parts[i]);
            seep_lock_release(&parts[i].lock);
        }
}

void seep_custom_pools_in_child(void) {
    for (int i = 0; i < NR_PARTS; i++) {
        seep_lock_release(&parts[i].lock);
        make_again(&parts[i]);
    }
    // All holes of the parent's parts go to one of ours.
    uint32_t nr_pieces = nr_slots(SEEP_AREA_PIECES, SEEP_PIECES);
    for (uint32_t slot = 1; slot < nr_pieces; slot++)
        if (!piece_at(slot)->address) {
            piece_at(slot)->next = parts[0].piece_holes;
            parts[0].piece_holes = slot;
        }
}
