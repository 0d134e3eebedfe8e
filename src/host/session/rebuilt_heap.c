// SPDX-License-Identifier: BSD-2-Clause
// A heap that is made of events, see rebuilt_heap.h.
#include <stdlib.h>
#include <string.h>

#include "base/large.h"
#include "base/map.h"
#include "base/sum.h"
#include "file/event_sums.h"
#include "session/rebuilt_heap.h"

// Small at first: a recording may have ten thousand processes that do next to nothing.
enum { FIRST_BITS = 5, MOST_BITS = 32, FIRST_BLOCKS = 16 };

static uint64_t *make_index(unsigned bits) {
    uint64_t *index = seep_large_alloc(sizeof(*index), (size_t)1 << bits);
    if (index)
        memset(index, 0, sizeof(*index) << bits);
    return index;
}

bool seep_rebuilt_heap_init(struct seep_rebuilt_heap *ret_heap, uint32_t nr_sites) {
    struct seep_rebuilt_heap heap = {.nr_sites = nr_sites, .bits = FIRST_BITS};
    heap.sites_capacity = nr_sites ? nr_sites : 1;
    heap.sites = calloc(heap.sites_capacity, sizeof(*heap.sites));
    heap.index = make_index(heap.bits);
    heap.blocks = seep_large_alloc(FIRST_BLOCKS, sizeof(*heap.blocks));
    heap.blocks_capacity = FIRST_BLOCKS;
    for (uint32_t i = 0; heap.sites && i < nr_sites; i++)
        heap.sites[i].size_min = UINT64_MAX;
    *ret_heap = heap;
    return heap.sites && heap.index && heap.blocks;
}

void seep_rebuilt_heap_deinit(struct seep_rebuilt_heap *heap) {
    free(heap->sites);
    free(heap->then);
    free(heap->blocks);
    free(heap->index);
    free(heap->last);
    free(heap->earlier);
    free(heap->thread_sites);
    seep_map_deinit(&heap->thread_site_of);
    *heap = (struct seep_rebuilt_heap){0};
}

// ---- the table of live blocks ------------------------------------------------------------------------

// The place of an address in the index: its entry, or the empty entry for it.
SEEP_INLINE size_t search(const struct seep_rebuilt_heap *heap, uint64_t address) {
    if (heap->latest && heap->latest->address == address)
        return heap->latest_at;
    size_t mask = ((size_t)1 << heap->bits) - 1;
    uint64_t tag = seep_rebuilt_heap_tag(address);
    size_t at = seep_rebuilt_heap_home(heap->bits, tag);
    for (uint64_t entry; (entry = heap->index[at]); at = (at + 1) & mask)
        if (entry >> 32 == tag && heap->blocks[(uint32_t)entry - 1].address == address)
            break;
    return at;
}

static void remember(struct seep_rebuilt_heap *heap, size_t at) {
    heap->latest = heap->index[at] ? &heap->blocks[(uint32_t)heap->index[at] - 1] : NULL;
    heap->latest_at = at;
}

struct seep_rebuilt_block *seep_rebuilt_heap_find(struct seep_rebuilt_heap *heap, uint64_t address) {
    remember(heap, search(heap, address));
    return heap->latest;
}

static bool grow(struct seep_rebuilt_heap *heap) {
    unsigned bits = heap->bits + 1;
    size_t mask = ((size_t)1 << bits) - 1;
    uint64_t *index = bits <= MOST_BITS ? make_index(bits) : NULL;
    if (!index)
        return false;
    for (size_t i = 0; i < (size_t)1 << heap->bits; i++) {
        if (!heap->index[i])
            continue;
        size_t at = seep_rebuilt_heap_home(bits, heap->index[i] >> 32);
        while (index[at])
            at = (at + 1) & mask;
        index[at] = heap->index[i];
    }
    free(heap->index);
    heap->index = index;
    heap->bits = bits;
    heap->latest = NULL;
    return true;
}

// The block at an address: the live one, or a new one with the address set. NULL: out of memory.
SEEP_INLINE struct seep_rebuilt_block *put(struct seep_rebuilt_heap *heap, uint64_t address,
                                           bool *ret_fresh) {
    if (heap->nr_blocks * 2 >= (size_t)1 << heap->bits && !grow(heap))
        return NULL;
    size_t at = search(heap, address);
    *ret_fresh = !heap->index[at];
    if (*ret_fresh) {
        if (!heap->free_block) {
            heap->latest = NULL;
            if (heap->nr_used == heap->blocks_capacity &&
                !seep_large_grow(&heap->blocks, &heap->blocks_capacity, sizeof(*heap->blocks)))
                return NULL;
            heap->blocks[heap->nr_used++].size = 0;
            heap->free_block = (uint32_t)heap->nr_used;
        }
        uint32_t number = heap->free_block;
        struct seep_rebuilt_block *block = &heap->blocks[number - 1];
        heap->free_block = (uint32_t)block->size;
        block->address = address;
        heap->index[at] = seep_rebuilt_heap_tag(address) << 32 | number;
        heap->nr_blocks++;
    }
    remember(heap, at);
    return heap->latest;
}

// Entries that follow move up, so that no search ends too early.
SEEP_INLINE void take_out(struct seep_rebuilt_heap *heap, size_t gap) {
    size_t mask = ((size_t)1 << heap->bits) - 1;
    uint32_t number = (uint32_t)heap->index[gap];
    heap->blocks[number - 1].address = 0;
    heap->blocks[number - 1].size = heap->free_block;
    heap->free_block = number;
    for (size_t i = (gap + 1) & mask; heap->index[i]; i = (i + 1) & mask) {
        size_t home = seep_rebuilt_heap_home(heap->bits, heap->index[i] >> 32);
        if (((i - home) & mask) >= ((i - gap) & mask)) {
            heap->index[gap] = heap->index[i];
            gap = i;
        }
    }
    heap->index[gap] = 0;
    heap->nr_blocks--;
    heap->latest = NULL;
}

// ---- events ----------------------------------------------------------------------------------------

static bool grow_slots(struct seep_rebuilt_heap *heap, uint32_t slot) {
    if (!seep_grow(&heap->last, &heap->slots_capacity, (size_t)slot + 1, sizeof(*heap->last)))
        return false;
    memset(heap->last + heap->nr_slots, 0, (slot + 1 - heap->nr_slots) * sizeof(*heap->last));
    heap->nr_slots = (size_t)slot + 1;
    return true;
}

// NULL: out of memory.
SEEP_INLINE uint64_t *last_of(struct seep_rebuilt_heap *heap, uint32_t slot) {
    return SEEP_LIKELY(slot < heap->nr_slots) || grow_slots(heap, slot) ? &heap->last[slot] : NULL;
}

static unsigned class_of(uint64_t size) {
    return size ? SEEP_MIN(64u - (unsigned)__builtin_clzll(size), SEEP_IMAGE_SIZE_CLASSES - 1u) : 0;
}

// What of the heap is kept: of a kind that is known where it is compiled nothing is asked for each event.
struct kept {
    bool blocks;
    bool threads;
    bool peak;
};

// Before each change of a site.
SEEP_INLINE void keep_then(struct seep_rebuilt_heap *heap, struct kept kept, uint32_t index) {
    if (!kept.peak)
        return;
    struct seep_rebuilt_site_then *then = &heap->then[index];
    then->turn = heap->turn;
    if (then->peak_event == heap->peak_event)
        return;
    const struct seep_counters *site = &heap->sites[index];
    *then = (struct seep_rebuilt_site_then){.peak_event = heap->peak_event,
                                            .allocations = site->allocations,
                                            .allocated_bytes = site->allocated_bytes,
                                            .frees = site->frees,
                                            .freed_bytes = site->freed_bytes,
                                            .temporary = site->temporary,
                                            .turn = heap->turn};
}

SEEP_INLINE void raise_peak(struct seep_rebuilt_heap *heap, struct seep_counters *site) {
    uint64_t live = site->allocated_bytes - site->freed_bytes;
    if ((int64_t)live > (int64_t)site->peak_bytes)
        site->peak_bytes = live;
    if (heap->live_bytes > heap->peak_bytes) {
        heap->peak_bytes = heap->live_bytes;
        heap->peak_event = heap->nr_events;
        heap->peak_ns = heap->latest_ns;
    }
}

// False events may give any sum, so it may wrap around.
SEEP_INLINE void add_live(struct seep_rebuilt_heap *heap, uint64_t bytes) {
    heap->live_bytes = (int64_t)((uint64_t)heap->live_bytes + bytes);
}

// NULL: out of memory.
static struct seep_counters *thread_counters(struct seep_rebuilt_heap *heap,
                                             const struct seep_recorded *event) {
    uint64_t *place = seep_map_at(&heap->thread_site_of, (uint64_t)event->slot << 32 | event->site, NULL);
    if (!place || (!*place && !seep_grow(&heap->thread_sites, &heap->thread_sites_capacity,
                                         heap->nr_thread_sites + 1, sizeof(*heap->thread_sites))))
        return NULL;
    if (!*place) {
        heap->thread_sites[heap->nr_thread_sites++] = (struct seep_thread_site){
            .site = event->site, .thread = event->slot, .counters = {.size_min = UINT64_MAX}};
        *place = heap->nr_thread_sites;
    }
    return &heap->thread_sites[*place - 1].counters;
}

static bool count_for_thread(struct seep_rebuilt_heap *heap, const struct seep_recorded *event,
                             bool temporary) {
    struct seep_counters *counters = thread_counters(heap, event);
    if (!counters)
        return false;
    if (event->kind == SEEP_EVENT_KEPT) {
        counters->frees--;
        counters->freed_bytes -= event->size;
    } else if (seep_event_is_free(event->kind)) {
        counters->frees++;
        counters->freed_bytes += event->size;
        counters->temporary += temporary;
    } else {
        counters->allocations++;
        counters->allocated_bytes += event->size;
        counters->size_min = SEEP_MIN(counters->size_min, event->size);
        counters->size_max = SEEP_MAX(counters->size_max, event->size);
    }
    return true;
}

SEEP_INLINE bool add_block(struct seep_rebuilt_heap *heap, const struct seep_recorded *event, int64_t at_ns) {
    bool fresh;
    struct seep_rebuilt_block *block = put(heap, event->address, &fresh);
    if (!block)
        return false;
    heap->nr_strange += !fresh;
    *block = (struct seep_rebuilt_block){.address = event->address,
                                         .size = event->size,
                                         .at_ns = at_ns,
                                         .site = event->site,
                                         .slot = event->slot};
    return true;
}

SEEP_INLINE bool allocate(struct seep_rebuilt_heap *heap, struct kept kept, const struct seep_recorded *event,
                          uint64_t *last) {
    if (kept.blocks && !add_block(heap, event, heap->latest_ns))
        return false;
    keep_then(heap, kept, event->site);
    struct seep_counters *site = &heap->sites[event->site];
    add_live(heap, event->size);
    if (event->kind == SEEP_EVENT_KEPT) { // the realloc that took it has failed: it was never freed
        site->frees--;
        site->freed_bytes -= event->size;
        site->temporary -= *last & 1;
        heap->releases[SEEP_RELEASE_REALLOC]--;
        *last &= ~UINT64_C(1);
        return true;
    }
    *last = event->address;
    site->allocations++;
    site->allocated_bytes += event->size;
    site->size_min = SEEP_MIN(site->size_min, event->size);
    site->size_max = SEEP_MAX(site->size_max, event->size);
    heap->size_class[class_of(event->size)]++;
    raise_peak(heap, site);
    return true;
}

SEEP_INLINE bool take_block(struct seep_rebuilt_heap *heap, const struct seep_recorded *event) {
    size_t at = search(heap, event->address);
    if (heap->index[at]) {
        take_out(heap, at);
        return true;
    }
    heap->nr_strange++;
    if (!seep_grow(&heap->earlier, &heap->earlier_capacity, heap->nr_earlier + 1, sizeof(*heap->earlier)))
        return false;
    heap->earlier[heap->nr_earlier++] = (struct seep_rebuilt_block){
        .address = event->address, .size = event->size, .site = event->site, .slot = UINT32_MAX};
    return true;
}

// The event has the site and size itself: so one whose block is not known counts all the same.
SEEP_INLINE bool give_back(struct seep_rebuilt_heap *heap, struct kept kept,
                           const struct seep_recorded *event, bool temporary) {
    if (kept.blocks && !take_block(heap, event))
        return false;
    keep_then(heap, kept, event->site);
    struct seep_counters *site = &heap->sites[event->site];
    site->frees++;
    site->freed_bytes += event->size;
    site->temporary += temporary;
    add_live(heap, -event->size);
    heap->releases[event->kind - SEEP_EVENT_FREE]++;
    return true;
}

SEEP_INLINE bool step(struct seep_rebuilt_heap *heap, struct kept kept, const struct seep_recorded *event,
                      int64_t at_ns) {
    heap->nr_events++;
    heap->latest_ns = at_ns;
    uint64_t *last = last_of(heap, event->slot);
    if (!last)
        return false;
    if (!event->address || !event->site || event->site >= heap->nr_sites ||
        event->size > (uint64_t)INT64_MAX >> 16) {
        heap->nr_strange++;
        return true;
    }
    if (!seep_event_is_free(event->kind))
        return (!kept.threads || count_for_thread(heap, event, false)) && allocate(heap, kept, event, last);
    bool implicit = event->kind == SEEP_EVENT_FREE + SEEP_RELEASE_IMPLICIT;
    bool temporary = !implicit && *last == event->address;
    if (event->kind == SEEP_EVENT_FREE + SEEP_RELEASE_REALLOC)
        *last = (*last & ~UINT64_C(1)) | temporary;
    else if (!implicit)
        *last = 0;
    return (!kept.threads || count_for_thread(heap, event, temporary)) &&
           give_back(heap, kept, event, temporary);
}

bool seep_rebuilt_heap_step(struct seep_rebuilt_heap *heap, const struct seep_recorded *event,
                            int64_t at_ns) {
    if (SEEP_LIKELY(!(heap->counts_only | heap->counts_threads | heap->keeps_peak)))
        return step(heap, (struct kept){.blocks = true}, event, at_ns);
    struct kept kept = {!heap->counts_only, heap->counts_threads, heap->keeps_peak};
    return step(heap, kept, event, at_ns);
}

// While it counts, times are stamps.
bool seep_rebuilt_heap_count(struct seep_rebuilt_heap *heap, const struct seep_chunk *chunk,
                             const struct seep_recorded *events) {
    const struct kept counts = {.peak = true};
    struct seep_chunk_scale scale = seep_chunk_scale_of(chunk);
    uint64_t peak_event = heap->peak_event;
    bool good = true;
    for (uint64_t i = 0; i < chunk->nr_events && good; i++)
        good = step(heap, counts, &events[i], (int64_t)events[i].stamp);
    if (chunk->nr_events)
        heap->latest_ns = seep_chunk_scaled_ns(&scale, (uint64_t)heap->latest_ns);
    if (heap->peak_event != peak_event)
        heap->peak_ns = seep_chunk_scaled_ns(&scale, (uint64_t)heap->peak_ns);
    return good;
}

// ---- sums ------------------------------------------------------------------------------------------------

bool seep_rebuilt_heap_grow_sites(struct seep_rebuilt_heap *heap, uint32_t nr_sites) {
    if (nr_sites <= heap->nr_sites)
        return true;
    if (!seep_grow(&heap->sites, &heap->sites_capacity, nr_sites, sizeof(*heap->sites)) ||
        (heap->keeps_peak && !seep_grow(&heap->then, &heap->then_capacity, nr_sites, sizeof(*heap->then))))
        return false;
    if (heap->keeps_peak)
        memset(heap->then + heap->nr_sites, 0, (nr_sites - heap->nr_sites) * sizeof(*heap->then));
    for (uint32_t i = heap->nr_sites; i < nr_sites; i++)
        heap->sites[i] = (struct seep_counters){.size_min = UINT64_MAX};
    heap->nr_sites = nr_sites;
    return true;
}

bool seep_rebuilt_heap_add_sums(struct seep_rebuilt_heap *heap, const struct seep_event_sums *sums) {
    for (size_t i = 0; i < sums->nr_sites; i++)
        if (sums->sites[i] < heap->nr_sites)
            heap->sites[sums->sites[i]] = sums->counters[i];
    if (sums->nr_last && !last_of(heap, (uint32_t)SEEP_MIN(sums->nr_last - 1, (size_t)SEEP_RING_SLOTS - 1)))
        return false;
    for (size_t i = 0; i < heap->nr_slots; i++)
        heap->last[i] = i < sums->nr_last ? sums->last[i] : 0;
    heap->nr_events = sums->nr_events;
    heap->latest_ns = sums->latest_ns;
    heap->live_bytes = sums->live_bytes;
    heap->peak_bytes = sums->peak_bytes;
    heap->peak_event = sums->peak_event;
    memcpy(heap->releases, sums->releases, sizeof(heap->releases));
    memcpy(heap->size_class, sums->size_class, sizeof(heap->size_class));
    return true;
}

// ---- before ------------------------------------------------------------------------------

static bool find_sites_before(const struct seep_rebuilt_heap *heap, const struct seep_profile *last,
                              struct seep_counters *before, bool *ret_late) {
    for (uint32_t i = 1; before && i < heap->nr_sites && i < last->nr_sites; i++) {
        const struct seep_counters *end = &last->sites[i].counters, *own = &heap->sites[i];
        if (!seep_via_is_heap(last->sites[i].via))
            continue;
        before[i] =
            (struct seep_counters){.allocations = seep_above(end->allocations, own->allocations),
                                   .allocated_bytes = seep_above(end->allocated_bytes, own->allocated_bytes),
                                   .frees = seep_above(end->frees, own->frees),
                                   .freed_bytes = seep_above(end->freed_bytes, own->freed_bytes),
                                   .size_min = end->size_min,
                                   .size_max = end->size_max};
        *ret_late |= before[i].allocations && !last->health.lost[SEEP_LOST_EVENT];
    }
    return before;
}

// What was there all the time has no event at all.
static bool find_untouched(struct seep_rebuilt_heap *heap, const struct seep_profile *last) {
    for (size_t i = 0; i < last->nr_blocks; i++) {
        const struct seep_block *block = &last->blocks[i];
        if (seep_rebuilt_heap_find(heap, block->address))
            continue;
        if (!seep_grow(&heap->earlier, &heap->earlier_capacity, heap->nr_earlier + 1, sizeof(*heap->earlier)))
            return false;
        heap->earlier[heap->nr_earlier++] = (struct seep_rebuilt_block){
            .address = block->address, .size = block->size, .site = block->site, .slot = UINT32_MAX};
    }
    return true;
}

bool seep_rebuilt_heap_before(struct seep_rebuilt_heap *heap, const struct seep_profile *last,
                              struct seep_rebuilt_before *ret_before) {
    struct seep_rebuilt_before before = {
        .sites = calloc(heap->nr_sites ? heap->nr_sites : 1, sizeof(*before.sites))};
    bool late = false;
    bool fits = find_sites_before(heap, last, before.sites, &late);
    before.lacks = late;
    before.late = late && !(last->health.flags & SEEP_FLAG_FORKED);
    if (fits && (last->health.flags & SEEP_FLAG_FORKED || before.late)) {
        fits = find_untouched(heap, last);
        before.blocks = heap->earlier;
        before.nr_blocks = heap->nr_earlier;
        heap->earlier = NULL;
        heap->nr_earlier = heap->earlier_capacity = 0;
    }
    *ret_before = before;
    return fits;
}

bool seep_rebuilt_heap_before_by_frees(struct seep_rebuilt_heap *heap,
                                       struct seep_rebuilt_before *ret_before) {
    struct seep_rebuilt_before before = {
        .sites = calloc(heap->nr_sites ? heap->nr_sites : 1, sizeof(*before.sites)),
        .blocks = heap->earlier,
        .nr_blocks = heap->nr_earlier};
    for (size_t i = 0; before.sites && i < before.nr_blocks; i++) {
        const struct seep_rebuilt_block *block = &before.blocks[i];
        struct seep_counters *site = &before.sites[block->site];
        bool is_first = !site->allocations++;
        site->allocated_bytes += block->size;
        site->size_min = is_first ? block->size : SEEP_MIN(site->size_min, block->size);
        site->size_max = SEEP_MAX(site->size_max, block->size);
    }
    heap->earlier = NULL;
    heap->nr_earlier = heap->earlier_capacity = 0;
    *ret_before = before;
    return before.sites;
}

void seep_rebuilt_before_deinit(struct seep_rebuilt_before *before) {
    free(before->sites);
    free(before->blocks);
    *before = (struct seep_rebuilt_before){NULL};
}

bool seep_rebuilt_heap_begin(struct seep_rebuilt_heap *heap, const struct seep_rebuilt_before *before) {
    for (uint32_t i = 1; i < heap->nr_sites; i++) {
        const struct seep_counters *site = &before->sites[i];
        if (!site->allocations && !site->frees)
            continue;
        heap->sites[i] = *site;
        heap->sites[i].peak_bytes = seep_above(site->allocated_bytes, site->freed_bytes);
        add_live(heap, site->allocated_bytes - site->freed_bytes);
    }
    heap->peak_bytes = heap->live_bytes;
    for (size_t i = 0; i < before->nr_blocks; i++) {
        bool fresh;
        struct seep_rebuilt_block *block = put(heap, before->blocks[i].address, &fresh);
        if (!block)
            return false;
        *block = before->blocks[i];
    }
    return true;
}
