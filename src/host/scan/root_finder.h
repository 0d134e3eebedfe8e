// SPDX-License-Identifier: BSD-2-Clause
//
// What the files that find roots share: the state of a search, and questions about mappings and threads. The
// process is stopped.
#ifndef SEEP_SCAN_ROOT_FINDER_H
#define SEEP_SCAN_ROOT_FINDER_H

#include "scan/cached_stacks.h"
#include "scan/roots.h"
#include "scan/spans.h"
#include "scan/thread_places.h"

struct seep_root_finder {
    struct seep_memory *memory;
    const struct seep_stopped *stopped;
    const struct seep_profile *profile;
    enum seep_roots which;
    struct seep_graph *graph;
    struct seep_root_ranges *ranges;
    struct seep_cached_stacks cached;
    struct seep_thread_place *places; // by thread
    struct seep_spans areas;          // of allocators whose own structures tell what is free; settled
    struct seep_spans kept;           // what is no allocator's, whatever lies beside it; settled
    struct seep_spans excluded;
    uint32_t range; // that is being fed

    // The module of the latest file mapping, since its zeroed data follows without a name.
    const char *path; // NULL: none
    uint32_t module;
    uint64_t data_end;
};

// ---- the steps of a search, in their order; each returns false when out of memory ----

// Where the stack and the storage of each thread lie: fills `places`.
SEEP_MUST_CHECK bool seep_roots_find_places(struct seep_root_finder *finder);
// Finds memory that is no root: fills `cached`, `areas`, `kept` and `excluded`. Needs `places`.
SEEP_MUST_CHECK bool seep_roots_exclude(struct seep_root_finder *finder);
// Feeds the data of modules, or all other mappings.
SEEP_MUST_CHECK bool seep_roots_feed_mappings(struct seep_root_finder *finder, bool data);
// Feeds roots that are in no mapping of roots: registers, dynamic storage, a stack that is a block.
SEEP_MUST_CHECK bool seep_roots_feed_thread(struct seep_root_finder *finder,
                                            const struct seep_stopped_thread *thread);
// Feeds the stacks that glibc keeps of threads that have ended.
SEEP_MUST_CHECK bool seep_roots_feed_cached_stacks(struct seep_root_finder *finder);
// Feeds blocks that a realloc is moving.
SEEP_MUST_CHECK bool seep_roots_feed_reallocs(struct seep_root_finder *finder);

// ---- what the steps share ----

// Adds a range, which becomes the one that is fed. false: out of memory.
SEEP_MUST_CHECK bool seep_root_add_range(struct seep_root_finder *finder, struct seep_root_range range);
// Feeds the words of [start, end) as of the latest range. false: out of memory.
SEEP_MUST_CHECK bool seep_root_feed(struct seep_root_finder *finder, uint64_t start, uint64_t end);

// Takes note of the module that the mapping begins, if it begins one. Called for each mapping, in the order
// of addresses. false: out of memory.
SEEP_MUST_CHECK bool seep_root_enter_file(struct seep_root_finder *finder,
                                          const struct seep_memory_area *mapping);
// Whether the mapping is of the latest module: of its file, or its zeroed data behind.
bool seep_root_is_of_module(const struct seep_root_finder *finder, const struct seep_memory_area *mapping);
// Whether no file lies behind the mapping. The break begins where a program's data ends, unless that is left
// to chance: then they are one mapping.
bool seep_root_is_anonymous(const struct seep_memory_area *mapping);
// Whether the mapping may hold pointers to blocks. The program may have written it and then made it
// read-only, or inaccessible for a moment (PROT_NONE); a tracer can still read it. The page table does not
// show whether shared memory has contents. Files that cannot be written are left out, because the parts of a
// module that the loader makes read-only have no addresses of blocks.
bool seep_root_may_hold(const struct seep_memory_area *mapping);
// Whether the mapping is of a device; /dev/zero and /dev/shm are memory.
bool seep_root_is_device(const struct seep_memory_area *mapping);

// Whether the thread is in a system call that a function of libc made.
bool seep_root_waits_in_libc(const struct seep_root_finder *finder, const struct seep_stopped_thread *thread);
// Where the used part of the thread's stack begins. If a function of libc made the system call, words below
// the stack pointer are dead: that function keeps its values in registers and in its frame, and its caller
// has no red zone during a call. Code of the program that makes a system call itself may have values in its
// red zone.
uint64_t seep_root_stack_from(const struct seep_root_finder *finder,
                              const struct seep_stopped_thread *thread);

// The alternate signal stacks of a thread, of which the library took note: one, or none.
const struct seep_signal_stack *seep_root_signal_stacks(const struct seep_root_finder *finder,
                                                        const struct seep_stopped_thread *thread,
                                                        size_t *ret_nr);

// Whether [start, end) has a part of a live block.
bool seep_root_has_blocks(const struct seep_graph *graph, uint64_t start, uint64_t end);
// The index of the first block at `address` or behind it; nr_blocks: none.
static inline uint32_t seep_root_first_block(const struct seep_graph *graph, uint64_t address) {
    return seep_block_index_from(&graph->index, address);
}
// The first mapping by the program that ends behind `address`, or NULL.
const struct seep_mapping *seep_root_mapped_from(const struct seep_profile *profile, uint64_t address);

#endif
