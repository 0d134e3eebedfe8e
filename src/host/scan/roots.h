// SPDX-License-Identifier: BSD-2-Clause
//
// The roots: where a pointer keeps a block reachable. Registers; stacks from the stack pointer up;
// thread-local storage; what a realloc at work was given, wherever it lies by now; what the kernel keeps for
// the program; what the program told with seep_ignore() and seep_root_add(); and all writable memory but
//  - memory of the allocator: what lies in it counts only inside of live blocks, so that old pointers
//    in free memory hold nothing. For glibc and musl that is known exactly (heap_areas.h, musl_areas.h).
//    Of another allocator a mapping that has live blocks is taken as its own, but for what is known to be
//    another's, which the kernel may have joined with it: stacks and storage of threads, data of modules,
//    and what the program mapped.
//  - mappings of devices, and what belongs to seep.
// With SEEP_ROOTS_LSAN anonymous mappings are no roots either, as LeakSanitizer has it: then what
// only memory of a pool made by mmap points to is lost.
#ifndef SEEP_SCAN_ROOTS_H
#define SEEP_SCAN_ROOTS_H

#include "scan/graph.h"
#include "scan/kernel_kept.h"
#include "scan/memory.h"
#include "scan/spans.h"
#include "scan/stop.h"

// SEEP_ROOTS_HEAP: not all blocks are known (the tool came late, or recording was stopped), so memory of the
// allocator in none that is known is a root too.
enum seep_roots { SEEP_ROOTS_ALL, SEEP_ROOTS_LSAN, SEEP_ROOTS_HEAP };

enum seep_root_kind {
    SEEP_ROOT_DATA,   // of a module
    SEEP_ROOT_MEMORY, // mapped by the program
    SEEP_ROOT_TLS,
    SEEP_ROOT_STACK,
    SEEP_ROOT_REGISTERS,
    SEEP_ROOT_REALLOC, // what a thread inside realloc is moving
    SEEP_ROOT_IGNORED, // seep_ignore()
    SEEP_ROOT_TOLD,    // seep_root_add()
    SEEP_ROOT_EPOLL,   // what the kernel keeps
    SEEP_ROOT_TIMER,
    SEEP_ROOT_KERNEL, // what else it keeps
};

struct seep_root_range {
    enum seep_root_kind kind;
    uint64_t start; // of epoll: the watched descriptor; of SEEP_ROOT_KERNEL: enum seep_kernel_place
    uint64_t end;
    pid_t tid; // of stacks, TLS and registers; of what the kernel keeps: descriptor, timer, thread or signal
    uint32_t module; // of data: index in modules
};

struct seep_root_module {
    struct seep_module module; // its path is borrowed from the memory
    uint32_t id;               // in a profile, once it is in one (scan/chains.h)
};

struct seep_root_ranges {
    struct seep_root_range *items;
    size_t nr_items;
    size_t capacity;
    struct seep_root_module *modules;
    size_t nr_modules;
    size_t modules_capacity;
    struct seep_spans idle; // alternate signal stacks on which no handler runs, which hold nothing; settled
    bool beside_malloc;     // free memory of the allocator is a root too, see jemalloc_own.h
};
void seep_root_ranges_deinit(struct seep_root_ranges *ranges);

// Finds the roots of a stopped process and feeds them.
SEEP_MUST_CHECK struct seep_error *seep_roots_feed(struct seep_memory *memory,
                                                   const struct seep_stopped *stopped,
                                                   const struct seep_profile *profile,
                                                   const struct seep_kernel_kept *kept, enum seep_roots which,
                                                   struct seep_graph *graph,
                                                   struct seep_root_ranges *ret_ranges);

#endif
