// SPDX-License-Identifier: BSD-2-Clause
//
// Stacks of threads that ended. glibc keeps them for the next threads, with what was on them and with
// the control block, whose thread-local variables and keys hold nothing any more, nor does its result, if the
// thread was joined or detached; one that ended and has not been joined keeps its result for that. And what
// the control block's own vector of thread-local storage leads to stays allocated for the next thread. Found
// from a running thread: its control block is in a list of glibc whose head lies next to the head of the list
// of cached stacks, and has its thread id behind the links. Source: struct pthread, nptl/descr.h;
// _dl_stack_used, _dl_stack_user, _dl_stack_cache, sysdeps/generic/ldsodefs.h of glibc 2.34 to 2.41
// (nptl/allocatestack.c before).
#ifndef SEEP_SCAN_CACHED_STACKS_H
#define SEEP_SCAN_CACHED_STACKS_H

#include "scan/memory.h"
#include "scan/stop.h"

struct seep_cached_stack {
    uint64_t start; // behind the guard pages
    uint64_t end;
    uint64_t tls;       // the thread pointer that its threads have
    uint64_t result;    // what the thread returned, if it may be joined yet; else 0
    uint64_t result_rt; // and where that lies
};

// A growing array. Owned: _deinit frees it.
struct seep_cached_stacks {
    struct seep_cached_stack *items;
    size_t nr_items;
    size_t capacity;
};
void seep_cached_stacks_deinit(struct seep_cached_stacks *stacks);

// Nothing where there is no glibc, or none of a known shape. false: out of memory.
SEEP_MUST_CHECK bool seep_cached_stacks_find(const struct seep_memory *memory,
                                             const struct seep_stopped *stopped,
                                             struct seep_cached_stacks *ret_stacks);

#endif
