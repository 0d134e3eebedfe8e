// SPDX-License-Identifier: BSD-2-Clause
//
// Mappings: memory that the program maps by itself (mmap, mremap, brk, sbrk), as a class of its own.
// A table in the image, one slot a mapping, and in private memory an index of it by address; both
// under one lock, as mappings are rare. Nothing here is on the way of malloc.
//
// The kernel acts first, then we write down what it did. So another thread may have got the same
// addresses again before we say that they are gone: what was born after the moment that the caller
// took before the call is not touched.
#ifndef SEEP_PRELOAD_MAPPING_H
#define SEEP_PRELOAD_MAPPING_H

#include "preload/stack.h"

// What is born from now on is later than what this returns.
uint64_t seep_mapping_moment(void);

// Addresses are those of whole pages but with SEEP_MAPPING_BREAK.
// [start, start + bytes) has been mapped: what the table had there is gone. No room: counted as a loss. Takes
// map_lock.
void seep_mapping_add(struct seep_thread *thread, uint64_t start, uint64_t bytes, uint32_t kind,
                      enum seep_via via, struct seep_caller caller);
// What was there at `moment` has been unmapped. Needs no thread. Takes map_lock.
void seep_mapping_remove(uint64_t start, uint64_t bytes, uint64_t moment);
// The kind of the mapping that covers `address`; 0: not known. Takes map_lock.
uint32_t seep_mapping_kind(uint64_t address);

// Makes the index again from the table: in a child of fork, and when a hook has been left by longjmp.
void seep_mapping_index_again(void);

#endif
