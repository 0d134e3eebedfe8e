// SPDX-License-Identifier: BSD-2-Clause
//
// Where the stack and the thread-local storage of each thread lie. libc gives a thread both in one mapping,
// which its control block tells; the kernel may join that with whatever lies beside it. Where nothing tells,
// the mapping that has the stack pointer is the stack.
#ifndef SEEP_SCAN_THREAD_PLACES_H
#define SEEP_SCAN_THREAD_PLACES_H

#include "scan/memory.h"
#include "scan/stop.h"

// [stack_start, tls_start) is stack, [tls_start, end) storage; all in the mapping of the stack pointer.
struct seep_thread_place {
    uint64_t stack_start;
    uint64_t tls_start;
    uint64_t end;
    bool told;         // by the control block
    uint64_t tls_low;  // where it does not tell, or the thread is on another stack for a while: storage and
    uint64_t tls_high; // control block are in [tls_low, tls_high); else both are 0
};

// All 0 where the stack pointer leads nowhere.
struct seep_thread_place seep_thread_place_find(const struct seep_memory *memory,
                                                const struct seep_stopped_thread *thread);

// The vector of a thread's storage, by module.
struct seep_tls_vector {
    uint64_t where; // its address is stored there
    uint64_t start; // of module 0, which is none
    uint64_t step;  // bytes from one module to the next
    uint64_t nr;    // modules: elements 1 to nr
};
bool seep_tls_vector_find(const struct seep_memory *memory, uint64_t tls, struct seep_tls_vector *ret_vector);

#endif
