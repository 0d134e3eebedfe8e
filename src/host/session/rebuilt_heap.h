// SPDX-License-Identifier: BSD-2-Clause
//
// The heap of one process, rebuilt from its recording: the live blocks, and what each site has done so far.
// Memory grows with the live blocks and the sites, not with the number of events.
//
// profile/heap.h is another heap, which applies the events of BPF. Such an event brings a stack, from which a
// site has to be made, and may be a sample. An event of a recording brings its site and its size. The table
// of blocks is another one too (not profile/block_table.h), because it keeps where a resized block began.
#ifndef SEEP_SESSION_REBUILT_HEAP_H
#define SEEP_SESSION_REBUILT_HEAP_H

#include "base/map.h"
#include "file/event_chunk.h"
#include "profile/profile.h"

struct seep_rebuilt_block {
    uint64_t address; // 0: hole
    uint64_t size;
    int64_t at_ns; // when it came to life
    uint32_t site;
    uint32_t slot;
    uint32_t first_site; // where a block that was resized began; 0: at its site
    uint32_t nr_resizes;
};

// What a site had when live bytes were highest, taken at its first event after that.
struct seep_rebuilt_site_then {
    uint64_t peak_event; // of which peak it is; where that is not the last one, the site is as it was then
    uint64_t allocations;
    uint64_t allocated_bytes;
    uint64_t frees;
    uint64_t freed_bytes;
    uint64_t temporary;
    uint32_t turn; // that it was at the latest event of the site
};

struct seep_rebuilt_heap {
    uint32_t nr_sites;
    size_t sites_capacity;
    struct seep_counters *sites;       // by id; peak_bytes: the highest that the site's live bytes ever were
    struct seep_rebuilt_block *blocks; // address 0: free, `size` is the number of the next free one
    size_t nr_used;                    // of `blocks`, free ones included
    size_t blocks_capacity;
    uint32_t free_block; // number of a free block, from 1; 0: none
    size_t nr_blocks;    // live ones
    // A hash table of the blocks: the upper half of the hash << 32 | the number; 0: empty. It is small,
    // because events read it at scattered places. Blocks freed last are used first, so blocks lie close.
    uint64_t *index;
    unsigned bits;                     // of its size
    struct seep_rebuilt_block *latest; // that was looked for, or NULL
    size_t latest_at;                  // its entry in the index
    uint64_t *last; // by slot: the block that its latest event allocated, or 0; with the lowest bit where a
                    // realloc that is under way has been counted as its free at once
    size_t nr_slots;
    size_t slots_capacity;
    uint64_t nr_events;
    int64_t latest_ns; // when the latest of them was
    int64_t live_bytes;
    int64_t peak_bytes;                 // the highest that live_bytes ever was, and
    uint64_t peak_event;                // after how many events that was
    int64_t peak_ns;                    // and when
    struct seep_rebuilt_block *earlier; // blocks that were freed and that no event had allocated
    size_t nr_earlier;
    size_t earlier_capacity;
    uint64_t nr_strange; // events that follow from nothing: a free of no block, an address handed out twice
    bool counts_only;    // to be set before the first event: no block is looked for
    bool counts_threads; // to be set before the first event
    bool keeps_peak;     // to be set before there are sites
    struct seep_rebuilt_site_then *then; // by site, with keeps_peak
    size_t then_capacity;
    uint32_t turn; // with keeps_peak: counted up by who wants to know which sites change
    struct seep_thread_site *thread_sites; // then: who has allocated and freed what
    size_t nr_thread_sites;
    size_t thread_sites_capacity;
    struct seep_map thread_site_of; // slot << 32 | site to index + 1
    uint64_t releases[SEEP_RELEASE_NR];
    uint64_t size_class[SEEP_IMAGE_SIZE_CLASSES];
};

// `nr_sites` is how many are known already; seep_rebuilt_heap_grow_sites() adds others. false: out of
// memory, and _deinit frees what there is.
SEEP_MUST_CHECK bool seep_rebuilt_heap_init(struct seep_rebuilt_heap *ret_heap, uint32_t nr_sites);
void seep_rebuilt_heap_deinit(struct seep_rebuilt_heap *heap);

// false: out of memory. Of a site that there is not nothing is kept but the event's number.
SEEP_MUST_CHECK bool seep_rebuilt_heap_step(struct seep_rebuilt_heap *heap, const struct seep_recorded *event,
                                            int64_t at_ns);

// All events of a chunk, in a heap that counts only and keeps its peak, of which all sites are there.
SEEP_MUST_CHECK bool seep_rebuilt_heap_count(struct seep_rebuilt_heap *heap, const struct seep_chunk *chunk,
                                             const struct seep_recorded *events);

static inline uint64_t seep_rebuilt_heap_tag(uint64_t address) {
    return address * UINT64_C(0x9e3779b97f4a7c15) >> 32;
}
static inline size_t seep_rebuilt_heap_home(unsigned bits, uint64_t tag) {
    return (size_t)(tag >> (32 - bits));
}
// Prefetches what the events behind the i-th of `nr` will read. Inline, because gcc 12 drops the call of a
// function that only prefetches.
SEEP_INLINE void seep_rebuilt_heap_fetch(const struct seep_rebuilt_heap *heap,
                                         const struct seep_recorded *events, uint64_t i, uint64_t nr) {
    enum { ENTRIES_AHEAD = 16, BLOCKS_AHEAD = 8 };
    if (i + ENTRIES_AHEAD >= nr)
        return;
    uint64_t tag = seep_rebuilt_heap_tag(events[i + ENTRIES_AHEAD].address);
    __builtin_prefetch(&heap->index[seep_rebuilt_heap_home(heap->bits, tag)], 1);
    tag = seep_rebuilt_heap_tag(events[i + BLOCKS_AHEAD].address);
    uint64_t entry = heap->index[seep_rebuilt_heap_home(heap->bits, tag)];
    __builtin_prefetch(&heap->blocks[(uint32_t)entry - !!entry], 1);
}

// The live block that begins there, or NULL. Valid until the next step.
struct seep_rebuilt_block *seep_rebuilt_heap_find(struct seep_rebuilt_heap *heap, uint64_t address);

// What was live before the first event of the recording, as far as the counts of `last`, which it ended with,
// are more than its events make: of a forked process what it began with. Called once, behind the last event;
// `heap` may begin again with it (seep_rebuilt_heap_begin).
struct seep_rebuilt_before {
    struct seep_counters *sites; // by id
    struct seep_rebuilt_block *blocks;
    size_t nr_blocks;
    bool lacks; // sites count allocations that no event has, such as those that a forked process inherited
    bool late;  // the recording dropped the first events
};
// Both false: out of memory. What it was is moved out of `heap`, which is not stepped on after that.
SEEP_MUST_CHECK bool seep_rebuilt_heap_before(struct seep_rebuilt_heap *heap, const struct seep_profile *last,
                                              struct seep_rebuilt_before *ret_before);
// The same where no such counts are known: the blocks whose frees are in the events.
SEEP_MUST_CHECK bool seep_rebuilt_heap_before_by_frees(struct seep_rebuilt_heap *heap,
                                                       struct seep_rebuilt_before *ret_before);
SEEP_MUST_CHECK bool seep_rebuilt_heap_begin(struct seep_rebuilt_heap *heap,
                                             const struct seep_rebuilt_before *before);
void seep_rebuilt_before_deinit(struct seep_rebuilt_before *before);

// As many sites, of those that events may be of. false: out of memory.
SEEP_MUST_CHECK bool seep_rebuilt_heap_grow_sites(struct seep_rebuilt_heap *heap, uint32_t nr_sites);

// Goes on behind what was summed up. false: out of memory.
struct seep_event_sums;
SEEP_MUST_CHECK bool seep_rebuilt_heap_add_sums(struct seep_rebuilt_heap *heap,
                                                const struct seep_event_sums *sums);

// The exact peak, and what the sites had then: with keeps_peak and behind the last event. `profile` is what
// the process ended with; where it knows of more than the events do, its peak stays as it is.
struct seep_rebuilt_peak_site {
    struct seep_mark_site then;
    struct seep_mark_site end;
    uint64_t most_bytes; // live, of this site alone
};
struct seep_rebuilt_peak {
    int64_t at_ns;
    int64_t live_bytes;                   // of what the events say
    struct seep_rebuilt_peak_site *sites; // by id, those with events
    uint32_t nr_sites;
};
SEEP_MUST_CHECK bool seep_rebuilt_heap_peak(const struct seep_rebuilt_heap *heap,
                                            struct seep_rebuilt_peak *ret_peak);
// Sets the peak of the profile and what its sites had then.
SEEP_MUST_CHECK struct seep_error *seep_rebuilt_peak_give(const struct seep_rebuilt_peak *peak,
                                                          struct seep_profile *profile);
void seep_rebuilt_peak_deinit(struct seep_rebuilt_peak *peak);

// Makes the profile what it was then. Out of memory is the only error.
SEEP_MUST_CHECK struct seep_error *seep_rebuilt_heap_show(const struct seep_rebuilt_heap *heap, int64_t at_ns,
                                                          struct seep_profile *profile);

#endif
