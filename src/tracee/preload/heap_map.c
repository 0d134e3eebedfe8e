// SPDX-License-Identifier: BSD-2-Clause
// The rare halves of the heap map: new leaves, and the table of blocks that it cannot hold.
#include "preload/heap_map.h"
#include "preload/free_stacks.h"

// The pages of the directory that were ever written, each + 1; in private memory, so that a child of fork has
// them as they were at the fork. 0: one that is being noted.
enum { NR_NOTED = 64 };
static _Atomic uint32_t noted_pages[NR_NOTED];
static _Atomic uint32_t nr_noted; // more than NR_NOTED: any page may be

static void note_page(uint32_t page) {
    for (uint32_t i = 0; i < NR_NOTED; i++)
        if (atomic_load_explicit(&noted_pages[i], memory_order_relaxed) == page + 1)
            return;
    uint32_t at = atomic_fetch_add_explicit(&nr_noted, 1, memory_order_acq_rel);
    if (at < NR_NOTED)
        atomic_store_explicit(&noted_pages[at], page + 1, memory_order_release);
}

bool seep_map_each_dir_page(void (*one)(void *data, uint64_t off), void *data) {
    uint32_t nr = atomic_load_explicit(&nr_noted, memory_order_acquire);
    for (uint32_t i = 0; i < nr; i++) {
        uint32_t page = nr > NR_NOTED ? 0 : atomic_load_explicit(&noted_pages[i], memory_order_acquire);
        if (!page)
            return false;
        one(data, (page - 1) * SEEP_IMAGE_PAGE);
    }
    return true;
}

// A program at the limit of its address space may allocate as often as before, each time without a leaf.
// After so many refusals in a row only one in as many blocks asks for it again: the table of odd blocks takes
// more.
enum { REFUSALS = 256 };
static _Atomic uint32_t nr_refused; // since a leaf was had

SEEP_COLD uint64_t *seep_map_new_leaf(uint64_t address) {
    if (address & 7 || address >> SEEP_ADDRESS_BITS)
        return NULL;
    uint32_t refused = atomic_load_explicit(&nr_refused, memory_order_relaxed);
    uint32_t *slot = map_leaf_place(address);
    uint64_t bytes = (sizeof(uint64_t) << SEEP_LEAF_SHIFT) >> seep_g.granule_shift;
    bool asks = refused < REFUSALS || refused % REFUSALS == 0;
    uint32_t page = asks ? seep_pages_take(map_planes() * bytes) : 0;
    atomic_store_explicit(&nr_refused, page ? 0 : refused + 1, memory_order_relaxed);
    if (!page)
        return NULL;
    note_page((uint32_t)((uint64_t)((unsigned char *)slot - (unsigned char *)seep_g.dir) / SEEP_IMAGE_PAGE));
    // Another thread may have been first: then our pages stay unused, and untouched.
    uint32_t none = 0;
    __atomic_compare_exchange_n(slot, &none, page, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    return map_entry(address);
}

static uint32_t odd_hash(uint64_t address) {
    return (uint32_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> 48) & (SEEP_ODD_SLOTS - 1);
}

// A table that is nearly full is searched from end to end, under its lock, for every block of the program.
enum { ODD_MOST = SEEP_ODD_SLOTS / 4 * 3 };
static uint32_t nr_odd; // under odd_lock; a child begins with its parent's table, and so with its number

// For each hash, the latest freed block. An entry in the map itself keeps its site.
enum { NR_FREED = 256 };
static struct {
    uint64_t address;
    uint32_t site;
} freed_odd[NR_FREED]; // under odd_lock

SEEP_COLD uint32_t seep_map_freed_odd(uint64_t address) {
    if (!seep_lock_take(&seep_g.odd_lock))
        return 0;
    uint32_t index = odd_hash(address) % NR_FREED;
    uint32_t site = freed_odd[index].address == address ? freed_odd[index].site : 0;
    seep_lock_release(&seep_g.odd_lock);
    return site;
}

SEEP_COLD bool seep_map_put_odd(uint64_t address, uint32_t site, uint64_t size) {
    if (!seep_lock_take(&seep_g.odd_lock))
        return false;
    freed_odd[odd_hash(address) % NR_FREED].address = 0;
    bool done = false;
    for (uint32_t i = 0; i < SEEP_ODD_SLOTS && !done; i++) {
        struct seep_image_odd *at = &seep_g.odd[(odd_hash(address) + i) & (SEEP_ODD_SLOTS - 1)];
        if (at->address != 0 && at->address != address)
            continue;
        if (at->address == 0 && nr_odd >= ODD_MOST)
            break;
        nr_odd += at->address == 0;
        at->size = size;
        at->site = site;
        const struct seep_thread *self = seep_self();
        at->birth = self->slot ? seep_birth_now(self) : 0;
        __atomic_store_n(&at->address, address, __ATOMIC_RELEASE);
        // `used` counts all slots from the first odd block on: the table is a hash table with holes.
        __atomic_store_n(&seep_g.header->areas[SEEP_AREA_ODD].used, SEEP_ODD_SLOTS, __ATOMIC_RELEASE);
        done = true;
    }
    seep_lock_release(&seep_g.odd_lock);
    return done;
}

// Removing from an open-addressed table: what follows moves up, so that no probe ends too early.
static void close_gap(uint32_t gap) {
    uint32_t from = gap;
    for (uint32_t step = 1; step < SEEP_ODD_SLOTS; step++) {
        uint32_t i = (from + step) & (SEEP_ODD_SLOTS - 1);
        if (!seep_g.odd[i].address)
            break;
        uint32_t home = odd_hash(seep_g.odd[i].address);
        if (((i - home) & (SEEP_ODD_SLOTS - 1)) >= ((i - gap) & (SEEP_ODD_SLOTS - 1))) {
            seep_g.odd[gap] = seep_g.odd[i];
            gap = i;
        }
    }
    seep_g.odd[gap] = (struct seep_image_odd){0, 0, 0, 0};
    nr_odd -= nr_odd != 0;
}

SEEP_COLD uint64_t seep_map_take_odd(uint64_t address, uint64_t *ret_size) {
    if (!seep_lock_take(&seep_g.odd_lock))
        return 0;
    uint64_t site = 0;
    for (uint32_t i = 0; i < SEEP_ODD_SLOTS; i++) {
        uint32_t index = (odd_hash(address) + i) & (SEEP_ODD_SLOTS - 1);
        const struct seep_image_odd *at = &seep_g.odd[index];
        if (!at->address)
            break;
        if (at->address == address) {
            site = at->site;
            *ret_size = at->size;
            freed_odd[odd_hash(address) % NR_FREED].address = address;
            freed_odd[odd_hash(address) % NR_FREED].site = at->site;
            close_gap(index);
            break;
        }
    }
    seep_lock_release(&seep_g.odd_lock);
    return site;
}
