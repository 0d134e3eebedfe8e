// SPDX-License-Identifier: BSD-2-Clause
//
// The heap of one process as the events of BPF tell it: blocks, stacks, sites, counters. What the library
// keeps in the image of a process that it is in, this keeps for one that it is not in; events of a recording,
// which name their sites, are for session/rebuilt_heap.h. Samples, where the program takes them itself:
// allocations, frees and temporary of all counters are in units of 1/1024 then, bytes are those that the
// samples stand for, and peak_bytes is the number of samples.
//
// Events are taken in their order, so counts and peak are exact as long as none is lost.
// Invariant: ids are indices; node 0 is the root, module 0 "no module", site 0 is never used, site 1 is
// "(stack not recorded)".
#ifndef SEEP_PROFILE_HEAP_H
#define SEEP_PROFILE_HEAP_H

#include <sys/types.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/map.h"
#include "profile/block_table.h"
#include "image/layout.h"
#include "profile/profile.h"

// Code of the allocator. That of operator new is no caller of malloc that anybody looks for: it becomes the
// `via`. What is mapped inside of what is marked so is the heap's.
struct seep_heap_operator {
    uint64_t start; // ELF virtual addresses
    uint64_t end;
    uint32_t via; // SEEP_VIA_NONE: malloc and the like
    bool is_heap;
};

struct seep_heap_module {
    struct seep_module module;
    const struct seep_heap_operator *operators; // borrowed: lives as long as the tracing
    size_t nr_operators;
};

struct seep_heap_thread {
    uint32_t tid;
    char name[17];
    uint64_t allocations;
    uint64_t allocated_bytes;
    uint64_t frees;
    uint64_t freed_bytes;
    uint64_t latest;                 // block of its latest operation, when that was an allocation; 0: none
    struct seep_heap_block resizing; // taken out by a realloc that has not returned; address 0: none
    uint64_t resizing_address;       // what realloc was called with, whether known or not
};

struct seep_heap_area { // code that is mapped now
    uint64_t start;
    uint64_t end;
    uint32_t module;
};

// Memory that the program mapped, and has not unmapped.
struct seep_heap_mapping {
    uint64_t start;
    uint64_t bytes;
    int64_t born_ns;
    uint32_t site;
    uint32_t kind; // SEEP_MAPPING_*
};

struct seep_heap {
    struct seep_arena arena; // texts
    pid_t pid;
    struct seep_heap_module *modules;
    size_t nr_modules;
    size_t modules_capacity;
    struct seep_heap_area *areas; // sorted by start
    size_t nr_areas;
    size_t areas_capacity;
    size_t nr_frames;
    struct seep_node *nodes;
    size_t nr_nodes;
    size_t nodes_capacity;
    struct seep_site *sites;
    size_t nr_sites;
    size_t sites_capacity;
    struct seep_heap_thread *threads;
    size_t nr_threads;
    size_t threads_capacity;
    struct seep_thread_site *thread_sites;
    size_t nr_thread_sites;
    size_t thread_sites_capacity;
    struct seep_map frame_ids;       // by SEEP_FRAME_MAKE: 1 + number
    struct seep_map node_ids;        // by parent and frame
    struct seep_map stack_ids;       // by the kernel's id: node, and the via of operator new
    struct seep_map last_modules;    // by the kernel's id of a stack: see seep_heap_last_module
    struct seep_map site_ids;        // by node and via
    struct seep_map thread_ids;      // by tid: 1 + index
    struct seep_map thread_site_ids; // by site and thread: 1 + index
    struct seep_block_table blocks;
    struct seep_block_table weights; // of samples: in `size` what the block stands for
    uint64_t least_weight;           // of a sample that stands for more than itself; 0: of none
    bool is_sampled;
    struct seep_heap_mapping *mappings; // sorted, without overlaps
    size_t nr_mappings;
    size_t mappings_capacity;
    struct seep_mapping_site *mapping_sites;
    size_t nr_mapping_sites;
    size_t map_sites_capacity;
    struct seep_map map_site_ids; // by site: 1 + index
    struct seep_mapping_counts mapping_totals;
    struct seep_block_table pages; // that a fault brought into memory, each once
    uint64_t nr_faults;
    uint64_t live_bytes;
    uint64_t peak_bytes;
    uint64_t failed;
    uint64_t unknown_frees;
    uint64_t releases[SEEP_RELEASE_NR];
    uint64_t size_class[SEEP_IMAGE_SIZE_CLASSES];
    uint64_t lost[SEEP_LOST_NR];
};

// _deinit frees it.
SEEP_MUST_CHECK struct seep_error *seep_heap_init(pid_t pid, struct seep_heap *ret_heap);
void seep_heap_deinit(struct seep_heap *heap);

// The heap of a child at its fork: the parent's live blocks with their sites, where its code is mapped, and
// nothing else. O(sites + blocks).
SEEP_MUST_CHECK struct seep_error *seep_heap_fork(const struct seep_heap *parent, pid_t pid,
                                                  struct seep_heap *ret_heap);

// ---- heap_stacks.c ----

// Adds a module, or gives the id of the one that is the same. `module->path` is copied.
SEEP_MUST_CHECK struct seep_error *seep_heap_add_module(struct seep_heap *heap,
                                                        const struct seep_heap_module *module,
                                                        uint32_t *ret_id);
// Replaces the areas; modules in none of them are unloaded from now on.
SEEP_MUST_CHECK struct seep_error *seep_heap_set_areas(struct seep_heap *heap,
                                                       const struct seep_heap_area *areas, size_t nr_areas,
                                                       int64_t now_ns);

// Adds one area, unless it is there.
SEEP_MUST_CHECK struct seep_error *seep_heap_add_area(struct seep_heap *heap,
                                                      const struct seep_heap_area *area);

// The last frame of a stack that will come is in this module, whatever the areas are.
SEEP_MUST_CHECK struct seep_error *seep_heap_last_module(struct seep_heap *heap, uint64_t id,
                                                         uint32_t module);

// A stack by the kernel's id: run-time addresses, innermost first, with SEEP_BPF_EXACT.
SEEP_MUST_CHECK struct seep_error *seep_heap_stack(struct seep_heap *heap, uint64_t id,
                                                   const uint64_t *addresses, uint32_t nr_addresses,
                                                   uint32_t end);

// The node of a stack by the kernel's id, and in *via the name of the operator new that made the call, where
// one did. *ret_node is 0 and the result false where the stack is not known.
bool seep_heap_find_stack(const struct seep_heap *heap, uint64_t id, uint32_t *ret_node, uint32_t *via);

// Adds a site behind the others, which may move.
SEEP_MUST_CHECK struct seep_error *seep_heap_add_site(struct seep_heap *heap, uint32_t node, uint32_t via);

// The site of a stack and a function. *ret_inside: the stack leads through the allocator's own code; not
// asked where it is NULL.
SEEP_MUST_CHECK struct seep_error *seep_heap_find_site(struct seep_heap *heap, uint64_t stack, uint32_t via,
                                                       uint32_t *ret_site, bool *ret_inside);

// ---- heap.c ----

// What a thread did to the heap. An allocation that a realloc makes comes in two: RESIZE takes the block out,
// and RESIZED says what became of it.
enum seep_heap_event_kind {
    SEEP_HEAP_ALLOC,
    SEEP_HEAP_FREE,
    SEEP_HEAP_RESIZE,
    SEEP_HEAP_RESIZED, // address 0: it failed, or with size 0 the block is gone
    SEEP_HEAP_FAILED,  // an allocation returned NULL
    SEEP_HEAP_MAP, // [address, address + size), in the place of what was there; the allocator's own is left
                   // out
    SEEP_HEAP_UNMAP,
    SEEP_HEAP_FAULT, // the page at `address` was brought into memory
};

struct seep_heap_event {
    enum seep_heap_event_kind kind;
    uint32_t tid;
    uint32_t via;
    uint32_t detail; // of a mapping: SEEP_MAPPING_*
    uint64_t address;
    uint64_t size;
    uint64_t weight; // bytes that it stands for; 0: no sample
    uint64_t stack;  // of seep_heap_stack; 0: none
    int64_t now_ns;  // when it was learned of, since the start of the tracing
    int64_t call_ns; // when it was made; 0: not asked for
};

// Events of one heap come in the order in which they were made. Out of memory is an error, all else is
// counted.
SEEP_MUST_CHECK struct seep_error *seep_heap_apply(struct seep_heap *heap,
                                                   const struct seep_heap_event *event);

// Whether the thread is in a realloc whose block is live, and so not among `blocks`: no other block has its
// address.
bool seep_heap_is_resizing(const struct seep_heap *heap, const struct seep_heap_thread *thread);

// ---- heap_profile.c ----

// What the heap is `now_ns` after the start of the tracing: all of a profile but its process and notes.
SEEP_MUST_CHECK struct seep_error *seep_heap_profile(const struct seep_heap *heap, int64_t now_ns,
                                                     struct seep_profile **ret_profile);
// Whether there is anything in it.
bool seep_heap_has_events(const struct seep_heap *heap);

// ---- heap_mappings.c, heap_pages.c ----

// Looks which of the pages that were brought in are there still, and how big they are. Nothing changes where
// the process has ended.
SEEP_MUST_CHECK struct seep_error *seep_heap_look_at_pages(struct seep_heap *heap);

// Of this room: valid until the next call.
SEEP_MUST_CHECK struct seep_error *seep_heap_map_site(struct seep_heap *heap, uint32_t site,
                                                      struct seep_mapping_counts **ret_counts);
SEEP_MUST_CHECK struct seep_error *seep_heap_map(struct seep_heap *heap, const struct seep_heap_event *event);
SEEP_MUST_CHECK struct seep_error *seep_heap_unmap(struct seep_heap *heap,
                                                   const struct seep_heap_event *event);
SEEP_MUST_CHECK struct seep_error *seep_heap_fault(struct seep_heap *heap,
                                                   const struct seep_heap_event *event);
// For the heap of a forked child, whose other parts are there.
SEEP_MUST_CHECK struct seep_error *seep_heap_inherit_mappings(struct seep_heap *child,
                                                              const struct seep_heap *parent);

#endif
