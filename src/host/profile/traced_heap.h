// SPDX-License-Identifier: BSD-2-Clause
//
// The heap of one process as the events of the kernel tell it: blocks, stacks, sites, counters. What the
// library keeps in the image of a process that it is in, this keeps for one that it is not in.
//
// Events are taken in the order of the ring, so counts and peak are exact as long as none is lost.
// Invariant: ids are indices; node 0 is the root, module 0 "no module", site 0 is never used, site 1 is
// "(stack not recorded)".
#ifndef SEEP_PROFILE_TRACED_HEAP_H
#define SEEP_PROFILE_TRACED_HEAP_H

#include <sys/types.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/map.h"
#include "profile/block_table.h"
#include "image/layout.h"

// Code of the allocator. That of operator new is no caller of malloc that anybody looks for: it becomes the
// `via`. What is mapped inside of what is marked so is the heap's.
struct seep_traced_operator {
    uint64_t start; // ELF virtual addresses
    uint64_t end;
    uint32_t via; // SEEP_VIA_NONE: malloc and the like
    bool is_heap;
};

struct seep_traced_module {
    const char *path;
    uint64_t bias_rt;
    uint64_t start_rt;
    uint64_t end_rt;
    int64_t first_seen_ns;
    int64_t unloaded_ns; // -1: still there
    uint32_t build_id_bytes;
    uint8_t build_id[44];
    const struct seep_traced_operator *operators; // borrowed: lives as long as the tracing
    size_t nr_operators;
};

struct seep_traced_node {
    uint32_t parent;
    uint32_t frame; // 1 + index in frames; 0: a cut
    uint32_t cut;   // enum seep_cut
};

// Of samples, where the program takes them itself: allocations, frees and temporary are in units of 1/1024
// then, bytes are those that the samples stand for, and peak_bytes is the number of samples.
struct seep_traced_counters {
    uint64_t allocations;
    uint64_t allocated_bytes;
    uint64_t frees;
    uint64_t freed_bytes;
    uint64_t temporary;
    uint64_t peak_bytes;
    uint64_t size_min; // UINT64_MAX: no allocation
    uint64_t size_max;
};

struct seep_traced_site {
    uint32_t node;
    uint32_t via; // enum seep_via
    struct seep_traced_counters counters;
};

struct seep_traced_thread {
    uint32_t tid;
    char name[17];
    uint64_t allocations;
    uint64_t allocated_bytes;
    uint64_t frees;
    uint64_t freed_bytes;
    uint64_t latest;                   // block of its latest operation, when that was an allocation; 0: none
    struct seep_traced_block resizing; // taken out by a realloc that has not returned; address 0: none
    uint64_t resizing_address;         // what realloc was called with, whether known or not
};

struct seep_traced_thread_site {
    uint32_t site;
    uint32_t thread;
    struct seep_traced_counters counters;
};

struct seep_traced_area { // code that is mapped now
    uint64_t start;
    uint64_t end;
    uint32_t module;
};

// Memory that the program mapped, and has not given back.
struct seep_traced_mapping {
    uint64_t start;
    uint64_t bytes;
    int64_t born_ns;
    uint32_t site;
    uint32_t kind; // SEEP_MAPPING_*
};

struct seep_traced_map_counts {
    uint64_t maps;
    uint64_t mapped_bytes;
    uint64_t unmaps;
    uint64_t unmapped_bytes;
    uint64_t peak_bytes;
};

struct seep_traced_map_site {
    uint32_t site;
    struct seep_traced_map_counts counts;
};

struct seep_traced_heap {
    struct seep_arena arena; // texts
    pid_t pid;
    struct seep_traced_module *modules;
    size_t nr_modules;
    size_t modules_capacity;
    struct seep_traced_area *areas; // sorted by start
    size_t nr_areas;
    size_t areas_capacity;
    uint64_t *frames; // SEEP_FRAME_MAKE
    size_t nr_frames;
    size_t frames_capacity;
    struct seep_traced_node *nodes;
    size_t nr_nodes;
    size_t nodes_capacity;
    struct seep_traced_site *sites;
    size_t nr_sites;
    size_t sites_capacity;
    struct seep_traced_thread *threads;
    size_t nr_threads;
    size_t threads_capacity;
    struct seep_traced_thread_site *thread_sites;
    size_t nr_thread_sites;
    size_t thread_sites_capacity;
    struct seep_map frame_ids;       // by SEEP_FRAME_MAKE: 1 + index
    struct seep_map node_ids;        // by parent and frame
    struct seep_map stack_ids;       // by the kernel's id: node, and the via of operator new
    struct seep_map site_ids;        // by node and via
    struct seep_map thread_ids;      // by tid: 1 + index
    struct seep_map thread_site_ids; // by site and thread: 1 + index
    struct seep_block_table blocks;
    struct seep_block_table weights; // of samples: in `size` what the block stands for
    uint64_t least_weight;           // of a sample that stands for more than itself; 0: of none
    bool is_sampled;
    struct seep_traced_mapping *mappings; // sorted, without overlaps
    size_t nr_mappings;
    size_t mappings_capacity;
    struct seep_traced_map_site *map_sites;
    size_t nr_map_sites;
    size_t map_sites_capacity;
    struct seep_map map_site_ids; // by site: 1 + index
    struct seep_traced_map_counts map_totals;
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

SEEP_MUST_CHECK struct seep_error *seep_traced_heap_init(pid_t pid, struct seep_traced_heap *ret_heap);
void seep_traced_heap_deinit(struct seep_traced_heap *heap);

// Adds one area, unless it is there.
SEEP_MUST_CHECK struct seep_error *seep_traced_add_area(struct seep_traced_heap *heap,
                                                        const struct seep_traced_area *area);

// The heap of a child at its fork: the parent's live blocks with their sites, where its code is mapped, and
// nothing else. O(sites + blocks).
SEEP_MUST_CHECK struct seep_error *seep_traced_heap_fork(const struct seep_traced_heap *parent, pid_t pid,
                                                         struct seep_traced_heap *ret_heap);

// Adds a module, or gives the id of the one that is the same. `module->path` is copied.
SEEP_MUST_CHECK struct seep_error *seep_traced_add_module(struct seep_traced_heap *heap,
                                                          const struct seep_traced_module *module,
                                                          uint32_t *ret_id);
// Replaces the areas; modules in none of them are unloaded from now on.
SEEP_MUST_CHECK struct seep_error *seep_traced_set_areas(struct seep_traced_heap *heap,
                                                         const struct seep_traced_area *areas,
                                                         size_t nr_areas, int64_t now_ns);

// A stack by the kernel's id: run-time addresses, innermost first, with SEEP_BPF_EXACT.
SEEP_MUST_CHECK struct seep_error *seep_traced_stack(struct seep_traced_heap *heap, uint64_t id,
                                                     const uint64_t *addresses, uint32_t nr_addresses,
                                                     uint32_t end);

// The node of a stack by the kernel's id, and in *via the name of the operator new that made the call, where
// one did. *ret_node is 0 and the result false where the stack is not known.
bool seep_traced_find_stack(const struct seep_traced_heap *heap, uint64_t id, uint32_t *ret_node,
                            uint32_t *via);

// The site of a stack and a function. *ret_inside: the stack leads through the allocator's own code.
SEEP_MUST_CHECK struct seep_error *seep_traced_find_site(struct seep_traced_heap *heap, uint64_t stack,
                                                         uint32_t via, uint32_t *ret_site, bool *ret_inside);

// One call of an allocator function each; out of memory is an error, all else is counted.
struct seep_traced_call {
    uint32_t tid;
    uint32_t via;
    uint64_t address;
    uint64_t size;
    uint64_t weight; // bytes that it stands for; 0: no sample
    uint64_t stack;
    int64_t now_ns;  // when it was taken out of the ring, since the start of the tracing
    int64_t call_ns; // when it was made, to the microsecond; only for a watcher (attach_heap.h)
    uint32_t detail; // of a mapping: SEEP_MAPPING_*
};
SEEP_MUST_CHECK struct seep_error *seep_traced_alloc(struct seep_traced_heap *heap,
                                                     const struct seep_traced_call *call);
SEEP_MUST_CHECK struct seep_error *seep_traced_free(struct seep_traced_heap *heap,
                                                    const struct seep_traced_call *call);
// realloc takes the block out, and says later what became of it.
SEEP_MUST_CHECK struct seep_error *seep_traced_resize(struct seep_traced_heap *heap,
                                                      const struct seep_traced_call *call);
SEEP_MUST_CHECK struct seep_error *seep_traced_resized(struct seep_traced_heap *heap,
                                                       const struct seep_traced_call *call);

// ---- traced_mappings.c, traced_pages.c ----

// Valid until the next call.
SEEP_MUST_CHECK struct seep_error *seep_traced_map_site(struct seep_traced_heap *heap, uint32_t site,
                                                        struct seep_traced_map_counts **ret_counts);

// Memory of [address, address + size) was mapped by the program, in the place of what was there; or unmapped.
// What the allocator maps for its heap is left out.
SEEP_MUST_CHECK struct seep_error *seep_traced_map(struct seep_traced_heap *heap,
                                                   const struct seep_traced_call *call);
SEEP_MUST_CHECK struct seep_error *seep_traced_unmap(struct seep_traced_heap *heap,
                                                     const struct seep_traced_call *call);
// For the heap of a forked child, whose other parts are there.
SEEP_MUST_CHECK struct seep_error *seep_traced_inherit_mappings(struct seep_traced_heap *child,
                                                                const struct seep_traced_heap *parent);
// Looks which of the pages that were brought in are there still, and how big they are. Nothing changes where
// the process has ended.
SEEP_MUST_CHECK struct seep_error *seep_traced_look_at_pages(struct seep_traced_heap *heap);
// The page at `address` was brought into memory.
SEEP_MUST_CHECK struct seep_error *seep_traced_fault(struct seep_traced_heap *heap,
                                                     const struct seep_traced_call *call);

#endif
