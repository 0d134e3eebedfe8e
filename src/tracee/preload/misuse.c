// SPDX-License-Identifier: BSD-2-Clause
// Telling and keeping what was freed in a wrong way, see misuse.h.
#include "preload/misuse.h"

#include "preload/control.h"
#include "preload/free_stacks.h"

enum { LOOK_BACK = 4096 }; // granules before an address that are searched for a block around it

static struct seep_image_misuse *misuses(void) {
    return (struct seep_image_misuse *)(seep_g.base + seep_g.area_off[SEEP_AREA_MISUSES]);
}

static bool is_same(const struct seep_image_misuse *at, const struct seep_image_misuse *misuse) {
    return at->kind == misuse->kind && at->site == misuse->site && at->release_site == misuse->release_site &&
           at->first_site == misuse->first_site;
}

// The slot of its like, or the hole for it; NULL: the table is full. misuse_lock held.
static struct seep_image_misuse *find_slot(const struct seep_image_misuse *misuse) {
    uint64_t key = ((uint64_t)misuse->site << 32 | misuse->release_site) + misuse->kind +
                   misuse->first_site * UINT64_C(0x100000001);
    uint32_t first = (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32);
    for (uint32_t i = 0; i < SEEP_MISUSE_SLOTS; i++) {
        struct seep_image_misuse *at = &misuses()[(first + i) % SEEP_MISUSE_SLOTS];
        if (!at->kind || is_same(at, misuse))
            return at;
    }
    return NULL;
}

static bool is_open(void) {
    return seep_area_lock_and_open(SEEP_AREA_MISUSES, SEEP_MISUSE_SLOTS * sizeof(struct seep_image_misuse));
}

static void keep(struct seep_image_misuse *misuse) {
    struct seep_image_misuse *at = NULL;
    if (seep_lock_take(&seep_g.misuse_lock)) {
        at = is_open() ? find_slot(misuse) : NULL;
        if (at && at->kind) {
            at->count++;
        } else if (at) {
            uint32_t kind = misuse->kind;
            misuse->kind = 0;
            *at = *misuse;
            __atomic_store_n(&at->kind, kind, __ATOMIC_RELEASE);
            __atomic_store_n(&seep_g.header->areas[SEEP_AREA_MISUSES].used, SEEP_MISUSE_SLOTS,
                             __ATOMIC_RELEASE);
        }
        seep_lock_release(&seep_g.misuse_lock);
    }
    if (!at)
        seep_lost(SEEP_LOST_NO_MISUSE);
}

static SEEP_NOINLINE void found(struct seep_thread *thread, struct seep_image_misuse *misuse,
                                enum seep_release release, struct seep_caller caller) {
    misuse->release_site = seep_stack_site(thread, SEEP_VIA_FREE + release, caller);
    misuse->count = 1;
    keep(misuse);
}

void seep_misuse_check(struct seep_thread *thread, struct seep_image_counters *counters, uint32_t site,
                       uint64_t address, uint64_t size, enum seep_release release,
                       struct seep_caller caller) {
    control_look(); // the tool clears the bit of SEEP_RELEASE_OK, so that a program that goes no other long
                    // way does
    enum seep_family family = family_of_via(seep_g.sites[site].via);
    if (family == SEEP_FAMILY_ANY || family == family_of_release(release))
        counters->temporary |= SEEP_RELEASE_OK(release);
    else
        found(thread,
              &(struct seep_image_misuse){
                  .kind = SEEP_MISUSE_MISMATCH, .site = site, .address = address, .size = size},
              release, caller);
}

// The live block that `address` lies in, if it begins not far before. Its site, or 0.
static uint32_t block_around(uint64_t address, uint64_t *ret_size) {
    uint64_t granule = UINT64_C(1) << seep_g.granule_shift;
    uint64_t leaf_start = address & ~SEEP_LEAF_MASK;
    for (uint64_t plane = 0; plane < 1u << SEEP_PLANE_SHIFT; plane++) {
        uint64_t at = (address & ~(granule - 1)) | plane << 3;
        for (int i = 0; i < LOOK_BACK && at >= leaf_start; i++, at -= granule) {
            const uint64_t *slot = map_entry(at);
            if (!slot)
                break;
            uint64_t entry = *slot;
            uint64_t start = at | SEEP_ENTRY_SUB(entry) << SEEP_SUB_SHIFT;
            if (!SEEP_ENTRY_SITE(entry) || start > address)
                continue;
            if (address - start >= SEEP_ENTRY_SIZE(entry))
                break;
            *ret_size = SEEP_ENTRY_SIZE(entry);
            return SEEP_ENTRY_SITE(entry);
        }
    }
    return 0;
}

// Below what the kernel lets a program map, or beyond what a pointer can be.
#define LOWEST_RT  UINT64_C(0x10000)
#define HIGHEST_RT (UINT64_C(1) << 47)

// Memory of the loader: before libc is there it allocates from what is left of its own last page.
static bool is_loader(const struct seep_image_module *module) {
    const char *path = (const char *)(seep_g.base + seep_g.area_off[SEEP_AREA_STRINGS] + module->path_off);
    const char *name = path;
    for (const char *at = path; *at; at++)
        if (*at == '/')
            name = at + 1;
    return name[0] == 'l' && name[1] == 'd' && (name[2] == '-' || name[2] == '6');
}

static bool is_static(uint64_t address) {
    const struct seep_image_module *modules =
        (const struct seep_image_module *)(seep_g.base + seep_g.area_off[SEEP_AREA_MODULES]);
    uint64_t nr = __atomic_load_n(&seep_g.header->areas[SEEP_AREA_MODULES].used, __ATOMIC_ACQUIRE);
    if (nr * sizeof(*modules) > seep_g.opened[SEEP_AREA_MODULES])
        return false;
    for (uint64_t i = 1; i < nr; i++)
        if (address >= modules[i].start_rt && address < modules[i].end_rt && !modules[i].unloaded_ns)
            return !is_loader(&modules[i]);
    return false;
}

// A system call. None under a filter; nor where the heap map had no room for blocks of the program: each of
// their frees would be one.
static bool may_be_memory(uint64_t address) {
    bool had_no_room = seep_g.header->lost[SEEP_LOST_NO_LEAF] && !map_entry(address);
    return seep_confined.filtered || had_no_room ? address - LOWEST_RT < HIGHEST_RT - LOWEST_RT
                                                 : sys_readable(address);
}

// What an address is that is none of the heap. NONE: it may be a block from before, or another allocator's.
static enum seep_misuse kind_of_place(const struct seep_thread *thread, uint64_t address) {
    if (!may_be_memory(address))
        return SEEP_MISUSE_WILD;
    if (address >= CPU_FRAME() && address < thread->stack_hi)
        return SEEP_MISUSE_STACK;
    return is_static(address) ? SEEP_MISUSE_STATIC : SEEP_MISUSE_NONE;
}

void seep_misuse_unknown(struct seep_thread *thread, uint64_t address, enum seep_release release,
                         struct seep_caller caller) {
    const uint64_t *at = map_entry(address);
    uint32_t freed = at               ? (SEEP_ENTRY_SITE(*at) ? 0 : (uint32_t)*at)
                     : thread->filter ? 0 // a later block at the address may be unrecorded
                                      : seep_map_freed_odd(address);
    uint64_t first = seep_freed_at(address);
    if (first && SEEP_ENTRY_SUB(first) != map_sub(address))
        freed = 0; // a neighbour: the block at `address` was there before it
    // libc's own malloc is not seen: it may have returned the address again, or freed a block that the map
    // has.
    bool past = seep_g.libc_opened || seep_g.header->nr_deep_bound;
    struct seep_image_misuse misuse = {.address = address};
    uint64_t size = 0;
    misuse.site = thread->filter || past ? 0 : block_around(address, &size);
    // The block around the address is certain. That the block freed here before was meant is a guess.
    if (freed && !misuse.site && !past && freed < seep_g.header->areas[SEEP_AREA_SITES].used) {
        misuse.kind = SEEP_MISUSE_DOUBLE_FREE;
        misuse.site = freed;
        misuse.first_site = SEEP_ENTRY_SITE(first);
        size = SEEP_ENTRY_SIZE(first);
    } else {
        misuse.kind = misuse.site ? SEEP_MISUSE_INSIDE : kind_of_place(thread, address);
    }
    misuse.size = size;
    if (misuse.kind != SEEP_MISUSE_NONE)
        found(thread, &misuse, release, caller);
}
