// SPDX-License-Identifier: BSD-2-Clause
// What a fork child begins with, see fork_inherit.h.
#include <errno.h>
#include <unistd.h>

#include "preload/fork_inherit.h"

#include "image/sample.h"
#include "preload/heap_map.h"
#include "preload/record.h"
#include "preload/image_window.h"

#define CHUNK_BYTES (SEEP_CHUNK_SITES * sizeof(struct seep_image_counters))

enum { NR_PER_PAGE = SEEP_IMAGE_PAGE / sizeof(struct seep_image_counters) };

struct heir {
    unsigned char *fresh;
    int fd; // its file, and what that is
    const struct seep_file_id *file;
    struct seep_image_header *header;
    struct seep_image_thread *slots;
    uint64_t nr_slots;
    uint64_t nr_sites;
    uint64_t (*freed)[2]; // of the sites of one chunk: blocks and bytes that were freed
};

static void *at(const struct heir *heir, enum seep_area_kind area) {
    return heir->fresh + seep_g.area_off[area];
}

static struct seep_image_counters *chunk_of(const struct heir *heir, uint32_t slot, uint32_t index) {
    const uint32_t *dir = seep_window_pages(heir->fresh, heir->slots[slot].chunk_dir_page,
                                            SEEP_CHUNKS_PER_THREAD * sizeof(uint32_t));
    return dir ? seep_window_pages(heir->fresh, dir[index], CHUNK_BYTES) : NULL;
}

// Calls `one` for the counters of a chunk that were ever written; the others stay holes. false: the kernel
// does not say which those are.
static bool each_counters(struct heir *heir, struct seep_image_counters *chunk, uint32_t first,
                          void (*one)(struct heir *heir, struct seep_image_counters *counters,
                                      uint32_t site)) {
    unsigned char present[CHUNK_BYTES / SEEP_IMAGE_PAGE];
    if (!chunk)
        return true;
    if (!seep_pages_present((const unsigned char *)chunk, sizeof(present), present))
        return false;
    for (uint32_t i = 0; i < SEEP_CHUNK_SITES; i++)
        if (present[i / NR_PER_PAGE] & 1)
            one(heir, &chunk[i], first + i);
    return true;
}

static void sum_freed(struct heir *heir, struct seep_image_counters *counters, uint32_t site) {
    heir->freed[site % SEEP_CHUNK_SITES][0] += counters->frees;
    heir->freed[site % SEEP_CHUNK_SITES][1] += counters->freed_bytes;
}

// value * part / whole, of which part is at most whole.
static uint64_t share_of(uint64_t value, uint64_t part, uint64_t whole) {
#ifdef __SIZEOF_INT128__
    return (uint64_t)((unsigned __int128)value * part / whole);
#else
    for (; whole >> 32; whole >>= 1) // then all products fit
        part >>= 1;
    return value / whole * part + value % whole * part / whole;
#endif
}

// Which slot had allocated what was freed is not known, nor does it matter: the sum over all is the
// truth.
static void forget_freed(struct heir *heir, struct seep_image_counters *counters, uint32_t site) {
    uint64_t *freed = heir->freed[site % SEEP_CHUNK_SITES];
    uint64_t blocks = SEEP_MIN(counters->allocations, freed[0]);
    uint64_t bytes = SEEP_MIN(counters->allocated_bytes, freed[1]);
    freed[0] -= blocks;
    freed[1] -= bytes;
    struct seep_image_counters left = {.allocations = counters->allocations - blocks,
                                       .allocated_bytes = counters->allocated_bytes - bytes};
    // A child begins without calls. A site that the parent has added since is not in the copy.
    if ((SEEP_MODES && heir->header->flags & SEEP_FLAG_CALLS) || site >= (uint32_t)heir->nr_sites)
        left = (struct seep_image_counters){0};
    if (left.allocations) {
        left.size_min_inverted = counters->size_min_inverted;
        left.size_max = counters->size_max;
        left.peak_bytes = left.allocated_bytes;
        // Sampled: the number of samples, of which as many are left as of the blocks.
        if (heir->header->sample_bytes)
            left.peak_bytes = SEEP_MAX(
                share_of(counters->peak_bytes, left.allocations, counters->allocations), UINT64_C(1));
        const struct seep_image_site *sites = at(heir, SEEP_AREA_SITES);
        if (sites[site].via < SEEP_VIA_HEAP_NR) {
            heir->header->inherited_blocks += left.allocations;
            heir->header->inherited_bytes += left.allocated_bytes;
        }
    }
    *counters = left;
}

static bool forget_all_freed(struct heir *heir) {
    bool whole = true;
    // All sites that the parent has by now, because their counters were copied before the sites.
    // Relaxed: system calls lie between.
    const uint64_t *used = &seep_g.header->areas[SEEP_AREA_SITES].used;
    uint32_t end = SEEP_MIN((uint32_t)__atomic_load_n(used, __ATOMIC_RELAXED), SEEP_MAX_SITES);
    for (uint32_t first = 0; whole && first < end; first += SEEP_CHUNK_SITES) {
        uint32_t index = first / SEEP_CHUNK_SITES;
        __builtin_memset(heir->freed, 0, SEEP_CHUNK_SITES * sizeof(*heir->freed));
        for (uint32_t slot = 0; whole && slot < heir->nr_slots; slot++)
            whole = each_counters(heir, chunk_of(heir, slot, index), first, sum_freed);
        for (uint32_t slot = 0; whole && slot < heir->nr_slots; slot++)
            whole = each_counters(heir, chunk_of(heir, slot, index), first, forget_freed);
    }
    return whole;
}

// ---- slots ----------------------------------------------------------------------------------------

// The peak begins with what is live.
static void begin_slot(struct seep_image_thread *slot) {
    int64_t net = SEEP_MIN(slot->peak_bytes, slot->flushed_bytes + SEEP_NET_SLACK) - slot->net_room;
    slot->peak_bytes = net;
    slot->net_room = SEEP_MIN(net, slot->flushed_bytes + SEEP_NET_SLACK) - net;
    slot->unknown_frees = slot->failed = 0;
    __builtin_memset(slot->releases, 0, sizeof(slot->releases));
    __builtin_memset(slot->size_class, 0, sizeof(slot->size_class));
    slot->skipped_allocations = slot->skipped_bytes = slot->skipped_frees = 0;
    slot->sampled_allocations = slot->sampled_bytes = slot->sampled_frees = 0;
}

// The live blocks by size are those of the first slot.
static void count_block(struct heir *heir, uint64_t size) {
    struct seep_image_thread *slot = &heir->slots[0];
    uint64_t sample_bytes = heir->header->sample_bytes;
    slot->size_class[size_class_of(size)] += sample_bytes ? seep_sample_weight(size, sample_bytes) : 1;
    slot->sampled_allocations += sample_bytes != 0;
    slot->sampled_bytes += sample_bytes ? size : 0;
}

// As seep_pages_present(), which looks up each page: the file system tells data and holes by extents, where
// it does.
static bool pages_written(const struct heir *heir, const unsigned char *from, uint64_t nr_pages,
                          unsigned char *ret_present) {
    long at = from - heir->fresh, start = at, end = at + (long)(nr_pages * SEEP_IMAGE_PAGE);
    __builtin_memset(ret_present, 0, nr_pages);
    while (at < end) {
        long data = sys3(SYS_lseek, heir->fd, at, SEEK_DATA);
        if (data == -ENXIO || data >= end)
            break;
        long hole = sys3(SYS_lseek, heir->fd, data, SEEK_HOLE);
        if (data < at || hole <= data)
            return seep_pages_present(from, nr_pages, ret_present);
        for (at = data; at < SEEP_MIN(hole, end); at += SEEP_IMAGE_PAGE)
            ret_present[(at - start) / SEEP_IMAGE_PAGE] = 1;
    }
    return true;
}

// Calls `one` for each page of [start, start + nr_pages) that was ever written. false: it returned that, or
// the kernel does not say which those are.
static bool each_page(struct heir *heir, const unsigned char *start, uint64_t nr_pages,
                      bool (*one)(struct heir *heir, const void *page)) {
    // The leaves of a page of the directory are each a call within its own, so not static. The stack may be
    // small.
    unsigned char present[256];
    bool by_file = seep_file_is(heir->fd, heir->file); // else what would be moved in is the program's
    for (uint64_t first = 0; first < nr_pages; first += sizeof(present)) {
        const unsigned char *part = start + first * SEEP_IMAGE_PAGE;
        uint64_t nr = SEEP_MIN(nr_pages - first, sizeof(present));
        if (!(by_file ? pages_written(heir, part, nr, present) : seep_pages_present(part, nr, present)))
            return false;
        for (uint64_t i = 0; i < nr; i++)
            if (present[i] & 1 && !one(heir, part + i * SEEP_IMAGE_PAGE))
                return false;
    }
    return true;
}

static bool count_entries(struct heir *heir, const void *page) {
    const uint64_t *entries = page;
    for (size_t i = 0; i < SEEP_IMAGE_PAGE / sizeof(*entries); i++)
        if (SEEP_ENTRY_IS_LIVE(entries[i]))
            count_block(heir, SEEP_ENTRY_SIZE(entries[i]));
    return true;
}

static bool count_leaves(struct heir *heir, const void *page) {
    uint64_t bytes = (sizeof(uint64_t) << SEEP_LEAF_SHIFT) >> heir->header->granule_shift;
    const uint32_t *dir = page;
    for (size_t i = 0; i < SEEP_IMAGE_PAGE / sizeof(*dir); i++) {
        const unsigned char *leaf = seep_window_pages(heir->fresh, dir[i], bytes);
        if (leaf && !each_page(heir, leaf, bytes / SEEP_IMAGE_PAGE, count_entries))
            return false;
    }
    return true;
}

static bool count_blocks(struct heir *heir) {
    uint64_t dir_bytes = (UINT64_C(1) << (heir->header->dir_bits + SEEP_PLANE_SHIFT)) * sizeof(uint32_t);
    if (!each_page(heir, at(heir, SEEP_AREA_DIR), dir_bytes / SEEP_IMAGE_PAGE, count_leaves))
        return false;
    const struct seep_image_odd *odd = at(heir, SEEP_AREA_ODD);
    for (uint64_t i = 0; i < heir->header->areas[SEEP_AREA_ODD].used; i++)
        if (odd[i].address)
            count_block(heir, odd[i].size);
    return true;
}

// The program's marks are in order of time: those that the parent made since the fork are none of the
// child's.
static void drop_later_marks(const struct heir *heir) {
    const unsigned char *marks = at(heir, SEEP_AREA_MARKS);
    uint64_t *used = &heir->header->areas[SEEP_AREA_MARKS].used;
    struct seep_image_mark mark;
    for (uint64_t off = 0; off + sizeof(mark) <= *used; off += mark.bytes) {
        __builtin_memcpy(&mark, marks + off, sizeof(mark));
        if (mark.at_ns > seep_fork_image_ns() || mark.bytes < sizeof(mark)) // or the program wrote over it
            *used = off;
    }
}

bool seep_inherit(unsigned char *fresh, int fd, const struct seep_file_id *file) {
    struct seep_image_header *header = (struct seep_image_header *)fresh;
    struct heir heir = {
        .fresh = fresh,
        .fd = fd,
        .file = file,
        .header = header,
        .slots = (struct seep_image_thread *)(fresh + seep_g.area_off[SEEP_AREA_THREADS]),
        .nr_slots = SEEP_MIN(header->areas[SEEP_AREA_THREADS].used,
                             seep_window_visible(SEEP_AREA_THREADS) / sizeof(struct seep_image_thread)),
        .nr_sites = header->areas[SEEP_AREA_SITES].used,
        .freed = sys_private(SEEP_CHUNK_SITES * sizeof(*heir.freed))};
    if (!heir.freed)
        return false;
    header->inherited_blocks = header->inherited_bytes = 0;
    bool whole = forget_all_freed(&heir);
    sys_munmap(heir.freed, SEEP_CHUNK_SITES * sizeof(*heir.freed));
    for (uint64_t i = 0; i < heir.nr_slots; i++)
        begin_slot(&heir.slots[i]);
    header->peak_bytes_flushed = header->live_bytes_flushed;
    drop_later_marks(&heir);
    return whole && (heir.nr_slots == 0 || count_blocks(&heir));
}
